"""Who may write: for each role, the controller with the highest election id seen so far, while it is
connected.

Source: P4Runtime specification 1.4, section 5. No transport in here: a session is anything that takes
messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from csaud_softswitch.p4runtime.errors import Code, P4RuntimeError, denied, invalid, not_found
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.p4runtime.roles import RoleConfig, parse_role_config

DEFAULT_ROLE = ""

MAX_STREAMS = 128
"""Controllers of one role that may be connected at the same time."""

MAX_ROLES = 256
"""Roles that are remembered: their election ids must be, as long as the switch runs."""


class Session(Protocol):
    """One controller's open stream."""

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        """Queue a message for the controller; never blocks. False: it was dropped, too many wait already."""


@dataclass
class _Role:
    """One role: the controllers that are connected with it, and what its primary said of it.

    An election id is None where a controller gave none: it is then a backup for ever.
    """

    name: str
    members: dict[Session, int | None] = field(default_factory=dict)
    highest: int | None = None
    config: RoleConfig | None = None
    request: p4r.Role | None = None
    """As the primary wrote it most recently; every notification repeats it."""

    @property
    def primary(self) -> Session | None:
        if self.highest is None:
            return None
        return next((session for session, id in self.members.items() if id == self.highest), None)


class Arbitration:
    """The roles of one device and their controllers."""

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        self._roles: dict[str, _Role] = {DEFAULT_ROLE: _Role(DEFAULT_ROLE)}
        self._role_of: dict[Session, _Role] = {}

    def update(self, session: Session, message: p4r.MasterArbitrationUpdate) -> None:
        """A controller introduces itself, or changes its election id. P4RuntimeError: its stream must be
        ended.
        """
        name = role_name(message.role.name, message.role.id)
        self._check_stream(session, message.device_id, name)
        config = parse_role_config(name, message.role.config) if message.role.HasField("config") else None
        role = self._roles.get(name)
        if role is None and len(self._roles) >= MAX_ROLES:
            raise P4RuntimeError(Code.RESOURCE_EXHAUSTED, f"there are {MAX_ROLES} roles already")
        role = role or _Role(name)
        election_id = election_number(message.election_id) if message.HasField("election_id") else None
        self._check_member(role, session, election_id)
        wins = election_id is not None and (role.highest is None or election_id >= role.highest)
        if wins:
            self._check_exclusive(role, config)
        self._roles[name] = self._role_of[session] = role
        self._accept(role, session, election_id, message, config if wins else role.config)

    def _accept(
        self,
        role: _Role,
        session: Session,
        election_id: int | None,
        message: p4r.MasterArbitrationUpdate,
        config: RoleConfig | None,
    ) -> None:
        before = (role.primary, role.highest, role.config)
        role.members[session] = election_id
        if election_id is not None and (role.highest is None or election_id >= role.highest):
            role.highest = election_id
            role.config = config
            if message.HasField("role"):
                role.request = p4r.Role()
                role.request.CopyFrom(message.role)
        if (role.primary, role.highest, role.config) != before:
            self._tell(role, list(role.members))
        else:
            self._tell(role, [session])

    def _check_stream(self, session: Session, device_id: int, name: str) -> None:
        present = self._role_of.get(session)
        if present is None:
            self._check_device(device_id)
            return
        if device_id != self._device_id:
            raise P4RuntimeError(
                Code.FAILED_PRECONDITION,
                f"the device of a stream cannot change from {self._device_id} to {device_id}",
            )
        if name != present.name:
            raise P4RuntimeError(
                Code.FAILED_PRECONDITION,
                f"the role of a stream cannot change from {present.name!r} to {name!r}",
            )

    def _check_member(self, role: _Role, session: Session, election_id: int | None) -> None:
        others = [id for member, id in role.members.items() if member is not session]
        if election_id is not None and election_id in others:
            raise invalid(
                f"election id {election_id} is already used by another controller with role {role.name!r}"
            )
        if len(others) >= MAX_STREAMS:
            raise P4RuntimeError(
                Code.RESOURCE_EXHAUSTED, f"{len(others)} controllers have role {role.name!r} already"
            )

    def _check_exclusive(self, role: _Role, config: RoleConfig | None) -> None:
        """What is one role's alone cannot be another's, as long as somebody has that other role."""
        for other in self._roles.values():
            if config is None or other is role or other.config is None or not other.members:
                continue
            clash = (config.exclusive & other.config.ids) | (config.ids & other.config.exclusive)
            for number in sorted(clash):
                raise invalid(f"role {role.name!r}: config: {number:#010x} is that of role {other.name!r}")

    def leave(self, session: Session) -> None:
        """A controller's stream has ended; no one becomes primary by it until an election id says so."""
        role = self._role_of.pop(session, None)
        if role is None:
            return
        was_primary = role.primary is session
        del role.members[session]
        if was_primary:
            self._tell(role, list(role.members))

    def is_primary(self, session: Session) -> bool:
        role = self._role_of.get(session)
        return role is not None and role.primary is session

    def primaries(self) -> list[tuple[Session, RoleConfig | None]]:
        """The primary controller of each role that has one, and what its role is limited to."""
        return [(role.primary, role.config) for role in self._roles.values() if role.primary is not None]

    def check_write(self, device_id: int, name: str, election_id: p4r.Uint128 | None) -> RoleConfig | None:
        """P4RuntimeError unless the request is of a role's primary controller; what that role is limited to.

        election_id None: the request has none.
        """
        role = self._find(device_id, name)
        if role.primary is None:
            raise denied(f"role {name!r} has no primary controller")
        given = None if election_id is None else election_number(election_id)
        if given != role.highest:
            raise denied(f"election id {given} is not that of the primary controller, {role.highest}")
        return role.config

    def check_read(self, device_id: int, name: str = DEFAULT_ROLE) -> RoleConfig | None:
        """Anyone may read; a role's name limits what is read to that role's objects."""
        return self._find(device_id, name).config

    def _find(self, device_id: int, name: str) -> _Role:
        self._check_device(device_id)
        role = self._roles.get(name)
        if role is None:
            raise not_found(f"no controller has introduced itself with role {name!r}")
        return role

    def _check_device(self, device_id: int) -> None:
        if device_id != self._device_id:
            raise not_found(f"device {device_id} is not here; this is device {self._device_id}")

    def _tell(self, role: _Role, sessions: list[Session]) -> None:
        """Tell controllers where they stand; the primary last, when all others know."""
        primary = role.primary
        for session in sorted(sessions, key=lambda member: member is primary):
            message = p4r.StreamMessageResponse()
            update = message.arbitration
            update.device_id = self._device_id
            if role.request is not None:
                update.role.CopyFrom(role.request)
            elif role.name:
                update.role.name = role.name
            if role.highest is not None:
                update.election_id.high = role.highest >> 64
                update.election_id.low = role.highest & (1 << 64) - 1
            if session is primary:
                update.status.code, update.status.message = Code.OK, "you are the primary controller"
            elif primary is not None:
                update.status.code, update.status.message = (
                    Code.ALREADY_EXISTS,
                    "there is another primary controller",
                )
            else:
                update.status.code, update.status.message = Code.NOT_FOUND, "there is no primary controller"
            session.send(message)


def role_name(name: str, number: int) -> str:
    """One name for a role, whichever of P4Runtime's two fields has it; the default role is the empty one."""
    return name or (f"#{number}" if number else DEFAULT_ROLE)


def election_number(election_id: p4r.Uint128) -> int:
    return election_id.high << 64 | election_id.low

"""Who may write: for each role, the controller with the highest election id seen so far, while it is
connected.

Source: P4Runtime specification 1.4, section 5. No transport in here: a session is anything that takes
messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from csaud_softswitch.p4runtime.errors import Code, P4RuntimeError, invalid, not_found
from csaud_softswitch.p4runtime.proto import p4r

DEFAULT_ROLE = ""


class Session(Protocol):
    """One controller's open stream."""

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        """Queue a message for the controller; never blocks. False: a packet was dropped, too many wait
        already.
        """


@dataclass
class _Role:
    """Controllers that are connected with this role: election id of each session (0: always a backup)."""

    members: dict[Session, int] = field(default_factory=dict)
    highest: int = 0
    request: p4r.Role | None = None

    @property
    def primary(self) -> Session | None:
        if self.highest == 0:
            return None
        return next((session for session, id in self.members.items() if id == self.highest), None)


class Arbitration:
    """The roles of one device and their controllers."""

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        self._roles: dict[str, _Role] = {}
        self._role_of: dict[Session, str] = {}

    def update(self, session: Session, message: p4r.MasterArbitrationUpdate) -> None:
        """A controller introduces itself, or changes its election id. P4RuntimeError: its stream must be
        ended.
        """
        self._check_device(message.device_id)
        name = role_name(message.role.name, message.role.id)
        if message.role.HasField("config"):
            raise invalid(f"role {name!r} has a config, and this device knows no way to read one")
        if self._role_of.get(session, name) != name:
            raise P4RuntimeError(
                Code.FAILED_PRECONDITION,
                f"the role of a stream cannot change from {self._role_of[session]!r} to {name!r}",
            )
        election_id = election_number(message.election_id)
        role = self._roles.setdefault(name, _Role())
        others = [id for member, id in role.members.items() if member is not session]
        if election_id and election_id in others:
            raise invalid(
                f"election id {election_id} is already used by another controller with role {name!r}"
            )
        before = (role.primary, role.highest)
        role.members[session] = election_id
        self._role_of[session] = name
        if message.HasField("role"):
            role.request = message.role
        role.highest = max(role.highest, election_id)
        if (role.primary, role.highest) != before:
            self._tell(role, list(role.members))
        else:
            self._tell(role, [session])

    def leave(self, session: Session) -> None:
        """A controller's stream has ended; no one becomes primary by it until an election id says so."""
        name = self._role_of.pop(session, None)
        if name is None:
            return
        role = self._roles[name]
        was_primary = role.primary is session
        del role.members[session]
        if was_primary:
            self._tell(role, list(role.members))

    def is_primary(self, session: Session) -> bool:
        name = self._role_of.get(session)
        return name is not None and self._roles[name].primary is session

    def primaries(self) -> list[Session]:
        """The primary controller of each role that has one."""
        return [role.primary for role in self._roles.values() if role.primary is not None]

    def check_write(self, device_id: int, role: str, election_id: p4r.Uint128) -> None:
        """P4RuntimeError unless the request is of a role's primary controller."""
        self._check_device(device_id)
        state = self._roles.get(role)
        if state is None or state.primary is None:
            raise P4RuntimeError(Code.PERMISSION_DENIED, f"role {role!r} has no primary controller")
        given = election_number(election_id)
        if given != state.highest:
            raise P4RuntimeError(
                Code.PERMISSION_DENIED,
                f"election id {given} is not that of the primary controller, {state.highest}",
            )

    def check_read(self, device_id: int) -> None:
        self._check_device(device_id)

    def _check_device(self, device_id: int) -> None:
        if device_id != self._device_id:
            raise not_found(f"device {device_id} is not here; this is device {self._device_id}")

    def _tell(self, role: _Role, sessions: list[Session]) -> None:
        primary = role.primary
        for session in sessions:
            message = p4r.StreamMessageResponse()
            update = message.arbitration
            update.device_id = self._device_id
            if role.request is not None:
                update.role.CopyFrom(role.request)
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

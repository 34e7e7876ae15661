"""Multicast groups and clone sessions (p4.v1.PacketReplicationEngineEntry).

Source: P4Runtime specification 1.4, section 9.5. Entries are kept as they were written; the native core
holds the (port, instance) copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.bytestring import PORT_BITS, canonical, to_int
from csaud_softswitch.p4runtime.errors import (
    Code,
    P4RuntimeError,
    core_errors,
    invalid,
    not_found,
    out_of_range,
    unimplemented,
)
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r

_MAX_SESSION = 32767
"""BMv2's mirroring sessions are 0 to 32767; P4Runtime has no session 0."""
_MAX_GROUP = 65535


class ReplicationStore:
    """Multicast groups and clone sessions of one pipeline."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self._groups: dict[int, p4r.MulticastGroupEntry] = {}
        self._sessions: dict[int, p4r.CloneSessionEntry] = {}

    def write(self, kind: UpdateKind, entry: p4r.PacketReplicationEngineEntry) -> None:
        what = entry.WhichOneof("type")
        if what == "multicast_group_entry":
            self._write_group(kind, entry.multicast_group_entry)
        elif what == "clone_session_entry":
            self._write_session(kind, entry.clone_session_entry)
        else:
            raise invalid("packet replication entry: expected a multicast group or a clone session")

    def _write_group(self, kind: UpdateKind, group: p4r.MulticastGroupEntry) -> None:
        number = group.multicast_group_id
        if not 1 <= number <= _MAX_GROUP:
            raise invalid(f"multicast group {number}, expected 1 to {_MAX_GROUP}")
        what = f"multicast group {number}"
        _check_presence(kind, number in self._groups, what)
        with core_errors():
            if kind == p4r.Update.DELETE:
                self.switch.multicast_group_delete(number)
                del self._groups[number]
                return
            self.switch.multicast_group_set(number, _copies(group.replicas, what))
        self._groups[number] = _copy_group(group)

    def _write_session(self, kind: UpdateKind, session: p4r.CloneSessionEntry) -> None:
        number = session.session_id
        if not 1 <= number <= _MAX_SESSION:
            raise invalid(f"clone session {number}, expected 1 to {_MAX_SESSION}")
        what = f"clone session {number}"
        _check_presence(kind, number in self._sessions, what)
        with core_errors():
            if kind == p4r.Update.DELETE:
                self.switch.clone_session_delete(number)
                del self._sessions[number]
                return
            if session.packet_length_bytes < 0:
                raise invalid(f"{what}: packet_length_bytes {session.packet_length_bytes} is negative")
            if session.class_of_service:
                raise unimplemented(f"{what}: class_of_service: v1model has no such thing")
            copies = _copies(session.replicas, what)
            self.switch.clone_session_set(number, copies, session.packet_length_bytes)
        self._sessions[number] = _copy_session(session)

    def current(self, entry: p4r.PacketReplicationEngineEntry) -> list[p4r.PacketReplicationEngineEntry]:
        """The group or session that a write is about, as it is, if it is there."""
        number = entry.multicast_group_entry.multicast_group_id or entry.clone_session_entry.session_id
        return list(self.read(entry)) if number and entry.WhichOneof("type") is not None else []

    def read(self, wanted: p4r.PacketReplicationEngineEntry) -> Iterator[p4r.PacketReplicationEngineEntry]:
        """Id 0: all groups, or all sessions; neither given: both."""
        what = wanted.WhichOneof("type")
        if what in (None, "multicast_group_entry"):
            number = wanted.multicast_group_entry.multicast_group_id
            for found, group in self._groups.items():
                if number in (0, found):
                    yield p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
        if what in (None, "clone_session_entry"):
            number = wanted.clone_session_entry.session_id
            for found, session in self._sessions.items():
                if number in (0, found):
                    yield p4r.PacketReplicationEngineEntry(clone_session_entry=session)


def _check_presence(kind: UpdateKind, present: bool, what: str) -> None:
    if kind == p4r.Update.INSERT and present:
        raise P4RuntimeError(Code.ALREADY_EXISTS, f"{what} is already there")
    if kind != p4r.Update.INSERT and not present:
        raise not_found(f"there is no {what}")


def _copies(replicas: Iterable[p4r.Replica], what: str) -> list[tuple[int, int]]:
    copies = []
    for replica in replicas:
        if replica.backup_replicas:
            raise unimplemented(f"{what}: backup replicas are not supported")
        if replica.WhichOneof("port_kind") == "port":
            port = to_int(replica.port, PORT_BITS, f"{what}: port")
        else:
            port = replica.egress_port
        if port >> PORT_BITS:
            raise out_of_range(f"{what}: port {port} does not fit into {PORT_BITS} bits")
        if replica.instance > 0xFFFF:
            raise invalid(f"{what}: instance {replica.instance}, at most 65535")
        if (port, replica.instance) in copies:
            raise invalid(f"{what}: port {port} with instance {replica.instance} is given twice")
        copies.append((port, replica.instance))
    return copies


def _copy_group(group: p4r.MulticastGroupEntry) -> p4r.MulticastGroupEntry:
    stored = p4r.MulticastGroupEntry()
    stored.CopyFrom(group)
    _make_canonical(stored.replicas)
    return stored


def _copy_session(session: p4r.CloneSessionEntry) -> p4r.CloneSessionEntry:
    stored = p4r.CloneSessionEntry()
    stored.CopyFrom(session)
    _make_canonical(stored.replicas)
    return stored


def _make_canonical(replicas: Iterable[p4r.Replica]) -> None:
    for replica in replicas:
        if replica.WhichOneof("port_kind") == "port":
            replica.port = canonical(replica.port)

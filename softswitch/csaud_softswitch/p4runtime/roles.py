"""What a role may do: the P4RoleConfig of Stratum (p4_role_config.proto), which P4Runtime leaves to the
server and which finsy and ONOS speak.

A role without a config, the default role among them, has full pipeline access (P4Runtime specification 1.4,
section 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError

from csaud_softswitch.p4runtime.bytestring import canonical
from csaud_softswitch.p4runtime.errors import invalid
from csaud_softswitch.p4runtime.proto import p4r, stratum

_ID_FIELDS = {
    "table_entry": "table_id",
    "action_profile_member": "action_profile_id",
    "action_profile_group": "action_profile_id",
    "counter_entry": "counter_id",
    "meter_entry": "meter_id",
    "register_entry": "register_id",
    "digest_entry": "digest_id",
    "value_set_entry": "value_set_id",
}


@dataclass(frozen=True)
class RoleConfig:
    """Objects by their P4Info ids: those this role alone may write, and those it may write with others."""

    exclusive: frozenset[int]
    shared: frozenset[int]
    receives_packets: bool
    packet_filter: tuple[int, bytes] | None
    """Only packets with this value of this packet_in metadata field (its id) are for the role."""
    can_push_pipeline: bool

    @property
    def ids(self) -> frozenset[int]:
        return self.exclusive | self.shared

    def allows(self, entity: p4r.Entity) -> bool:
        """Whether the role may write this entity, and gets it when it reads in its own name."""
        return entity_id(entity) in self.ids

    def takes(self, packet: p4r.PacketIn) -> bool:
        """Whether a packet for the controller is for this role."""
        if not self.receives_packets:
            return False
        if self.packet_filter is None:
            return True
        field, value = self.packet_filter
        return any(item.metadata_id == field and item.value == value for item in packet.metadata)


def entity_id(entity: p4r.Entity) -> int:
    """The P4Info id of what an entity is part of (a table's direct resources count as the table); 0 for
    multicast groups and clone sessions, which have none.
    """
    what = entity.WhichOneof("entity")
    if what in ("direct_counter_entry", "direct_meter_entry"):
        return int(getattr(entity, what).table_entry.table_id)
    field = None if what is None else _ID_FIELDS.get(what)
    return 0 if what is None or field is None else int(getattr(getattr(entity, what), field))


def parse_role_config(role: str, config: AnyMessage) -> RoleConfig:
    """INVALID_ARGUMENT for anything but a P4RoleConfig that makes sense."""
    message = stratum.P4RoleConfig()
    where = f"role {role!r}: config"
    if not role:
        raise invalid("the default role has full pipeline access and takes no config")
    if not config.Is(message.DESCRIPTOR):
        raise invalid(f"{where}: {config.type_url or 'nothing'!r}, expected a stratum.P4RoleConfig")
    try:
        config.Unpack(message)
    except DecodeError as error:
        raise invalid(f"{where}: {error}") from error
    exclusive, shared = frozenset(message.exclusive_p4_ids), frozenset(message.shared_p4_ids)
    for number in sorted(exclusive & shared):
        raise invalid(f"{where}: {number:#010x} is both exclusive and shared")
    if 0 in exclusive | shared:
        raise invalid(f"{where}: 0 is no P4Info id")
    wanted = None
    if message.HasField("packet_in_filter"):
        if not message.packet_in_filter.value:
            raise invalid(f"{where}: the packet_in filter has no value")
        wanted = (message.packet_in_filter.metadata_id, canonical(message.packet_in_filter.value))
    return RoleConfig(
        exclusive=exclusive,
        shared=shared,
        receives_packets=message.receives_packet_ins,
        packet_filter=wanted,
        can_push_pipeline=message.can_push_pipeline,
    )

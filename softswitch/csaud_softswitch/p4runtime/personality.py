"""A switch that refuses what another P4Runtime server refuses: a controller meets it before the hardware.

`stratum-bfrt` is Stratum on Tofino, as its source has it (github.com/stratum/stratum),
stratum/hal/lib/barefoot:
bfrt_table_manager.cc (action profiles, digests) and bfrt_pre_manager.cc (clone sessions).
"""

from __future__ import annotations

from typing import Protocol

from csaud_softswitch.p4runtime.errors import invalid, unimplemented
from csaud_softswitch.p4runtime.proto import p4r

_MAX_SESSION = 1015
_MAX_LENGTH = 0xFFFF
_QUEUES = 8


class Personality(Protocol):
    """What a server refuses beside what all refuse; P4RuntimeError says why."""

    def check_update(self, update: p4r.Update) -> None:
        """One update of a Write."""

    def check_read(self, wanted: p4r.Entity) -> None:
        """One entity of a Read."""

    def told(self, entity: p4r.Entity) -> p4r.Entity:
        """What a Read tells of an entity."""


class StratumBfrt:
    """Stratum on Tofino."""

    def check_update(self, update: p4r.Update) -> None:
        if update.type == p4r.Update.DELETE:
            return
        entity = update.entity
        kind = entity.WhichOneof("entity")
        if kind == "action_profile_group":
            _check_group(entity.action_profile_group)
        elif kind == "packet_replication_engine_entry":
            replication = entity.packet_replication_engine_entry
            if replication.WhichOneof("type") == "clone_session_entry":
                _check_session(replication.clone_session_entry)
        elif kind == "digest_entry" and not entity.digest_entry.HasField("config"):
            raise invalid("Digest entry is missing its config")

    def check_read(self, wanted: p4r.Entity) -> None:
        kind = wanted.WhichOneof("entity")
        if kind == "action_profile_member":
            _check_named(wanted.action_profile_member.action_profile_id)
        elif kind == "action_profile_group":
            _check_named(wanted.action_profile_group.action_profile_id)
        elif kind == "digest_entry" and not wanted.digest_entry.digest_id:
            raise invalid("Missing digest id in DigestEntry")
        elif kind == "meter_entry" and not wanted.meter_entry.meter_id:
            raise invalid("Wildcard MeterEntry reads are not supported")

    def told(self, entity: p4r.Entity) -> p4r.Entity:
        """Of a digest's config only the time is kept."""
        if entity.WhichOneof("entity") != "digest_entry":
            return entity
        told = p4r.Entity()
        told.digest_entry.digest_id = entity.digest_entry.digest_id
        told.digest_entry.config.max_timeout_ns = entity.digest_entry.config.max_timeout_ns
        return told


def _check_named(profile: int) -> None:
    if not profile:
        raise invalid("Reading all action profiles is not supported yet")


def _check_group(group: p4r.ActionProfileGroup) -> None:
    for member in group.members:
        if member.WhichOneof("watch_kind") is not None:
            raise invalid("Watch ports are not supported")
        if member.weight == 0:
            raise invalid("Zero member weights are not allowed")
        if member.weight != 1:
            raise unimplemented("Member weights greater than 1 are not supported")


def _check_session(session: p4r.CloneSessionEntry) -> None:
    if not 0 < session.session_id <= _MAX_SESSION:
        raise invalid(f"Invalid session id {session.session_id} in CloneSessionEntry")
    if session.packet_length_bytes > _MAX_LENGTH:
        raise invalid(f"Packet length exceeds maximum value: {session.packet_length_bytes}")
    if len(session.replicas) != 1:
        raise invalid(f"Multiple replicas are not supported: there are {len(session.replicas)}")
    if session.class_of_service >= _QUEUES:
        raise invalid(f"Class of service must be smaller than 8: {session.class_of_service}")
    (replica,) = session.replicas
    # it reads the older of P4Runtime's two fields for the port
    if not replica.egress_port:
        raise invalid("Invalid egress port in Replica")
    if replica.instance:
        raise invalid(f"Instances on Replicas are not supported: {replica.instance}")


PERSONALITIES: dict[str, Personality] = {"stratum-bfrt": StratumBfrt()}

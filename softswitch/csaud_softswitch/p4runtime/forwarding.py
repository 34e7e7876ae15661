"""The forwarding state of one pipeline: dispatches updates and reads to what holds each kind of entity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.action_profile import ActionProfileStore
from csaud_softswitch.p4runtime.counter import CounterStore
from csaud_softswitch.p4runtime.digest import DigestStore
from csaud_softswitch.p4runtime.errors import P4RuntimeError, invalid, unimplemented
from csaud_softswitch.p4runtime.meter import MeterStore
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r
from csaud_softswitch.p4runtime.register import RegisterStore
from csaud_softswitch.p4runtime.replication import ReplicationStore
from csaud_softswitch.p4runtime.table_store import TableStore
from csaud_softswitch.p4runtime.value_set import ValueSetStore

_KINDS = (p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE)

_FIXED = {
    "counter_entry": "counter entry",
    "direct_counter_entry": "direct counter entry",
    "meter_entry": "meter entry",
    "direct_meter_entry": "direct meter entry",
    "register_entry": "register entry",
    "value_set_entry": "value set",
}
"""Entities that are there as long as their program, or their table entry, is: they can only be modified."""


class ForwardingState:
    """Entities that a controller writes and reads, on a switch which has the program of `index` loaded."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.switch = switch
        self.index = index
        self.profiles = ActionProfileStore(switch, index)
        self.tables = TableStore(switch, index, self.profiles)
        self.counters = CounterStore(switch, index)
        self.meters = MeterStore(switch, index)
        self.registers = RegisterStore(switch, index)
        self.digests = DigestStore(switch, index)
        self.value_sets = ValueSetStore(switch, index)
        self.replication = ReplicationStore(switch)

    def move_to(self, switch: Switch) -> None:
        """The program, with all that is in it, is now on another switch."""
        self.switch = switch
        for table in self.tables.tables.values():
            table.switch = table.direct.switch = switch
        for profile in self.profiles.profiles.values():
            profile.switch = switch
        self.tables.switch = self.replication.switch = self.digests.switch = switch
        self.counters.switch = self.meters.switch = self.registers.switch = self.value_sets.switch = switch

    def apply(self, update: p4r.Update) -> None:
        """Apply one update; P4RuntimeError when it is refused, and then nothing has changed."""
        kind = update.type
        if kind not in _KINDS:
            raise invalid("update: expected type INSERT, MODIFY or DELETE")
        entity = update.entity
        what = entity.WhichOneof("entity")
        if what == "table_entry":
            self.tables.write(kind, entity.table_entry)
        elif what == "action_profile_member":
            self.profiles.write_member(kind, entity.action_profile_member)
        elif what == "action_profile_group":
            self.profiles.write_group(kind, entity.action_profile_group)
        elif what == "packet_replication_engine_entry":
            self.replication.write(kind, entity.packet_replication_engine_entry)
        elif what == "digest_entry":
            self.digests.write(kind, entity.digest_entry)
        elif what in _FIXED:
            self._modify(kind, what, entity)
        else:
            raise _unsupported(what)

    def _modify(self, kind: UpdateKind, what: str, entity: p4r.Entity) -> None:
        if kind != p4r.Update.MODIFY:
            raise invalid(f"a {_FIXED[what]} can only be modified")
        if what == "counter_entry":
            self.counters.modify(entity.counter_entry)
        elif what == "direct_counter_entry":
            self.tables.write_count(entity.direct_counter_entry)
        elif what == "meter_entry":
            self.meters.modify(entity.meter_entry)
        elif what == "direct_meter_entry":
            self.tables.write_meter(entity.direct_meter_entry)
        elif what == "register_entry":
            self.registers.modify(entity.register_entry)
        else:
            self.value_sets.modify(entity.value_set_entry)

    def read(self, wanted: p4r.Entity) -> Iterator[p4r.Entity]:
        """The entities that `wanted` describes, wildcards included; none is not an error."""
        what = wanted.WhichOneof("entity")
        if what == "table_entry":
            for entry in self.tables.read(wanted.table_entry):
                yield p4r.Entity(table_entry=entry)
            return
        found: Iterable[Any]
        if what == "action_profile_member":
            found = self.profiles.read_members(wanted.action_profile_member)
        elif what == "action_profile_group":
            found = self.profiles.read_groups(wanted.action_profile_group)
        elif what == "packet_replication_engine_entry":
            found = self.replication.read(wanted.packet_replication_engine_entry)
        elif what == "counter_entry":
            found = self.counters.read(wanted.counter_entry)
        elif what == "direct_counter_entry":
            found = self.tables.read_counts(wanted.direct_counter_entry)
        elif what == "meter_entry":
            found = self.meters.read(wanted.meter_entry)
        elif what == "direct_meter_entry":
            found = self.tables.read_meters(wanted.direct_meter_entry)
        elif what == "register_entry":
            found = self.registers.read(wanted.register_entry)
        elif what == "digest_entry":
            found = self.digests.read(wanted.digest_entry)
        elif what == "value_set_entry":
            found = self.value_sets.read(wanted.value_set_entry)
        else:
            raise _unsupported(what)
        for entity in found:
            yield _entity(what, entity)

    def undo(self, update: p4r.Update) -> list[p4r.Update]:
        """What takes an update back that has not been applied yet; empty when it cannot succeed anyway."""
        if update.type == p4r.Update.INSERT:
            return [p4r.Update(type=p4r.Update.DELETE, entity=update.entity)]
        kind = p4r.Update.INSERT if update.type == p4r.Update.DELETE else p4r.Update.MODIFY
        try:
            present = self._present(update)
        except P4RuntimeError:
            return []
        return [p4r.Update(type=kind, entity=entity) for entity in present]

    def _present(self, update: p4r.Update) -> list[p4r.Entity]:
        entity = update.entity
        what = entity.WhichOneof("entity")
        found: list[Any]
        if what == "table_entry":
            table = self.tables.find(entity.table_entry.table_id)
            with_count = update.type == p4r.Update.DELETE or entity.table_entry.HasField("counter_data")
            entry = table.current(entity.table_entry, with_count)
            found = [] if entry is None else [entry]
        elif what == "action_profile_member":
            profile = self.profiles.find(entity.action_profile_member.action_profile_id)
            found = profile.current_member(entity.action_profile_member)
        elif what == "action_profile_group":
            profile = self.profiles.find(entity.action_profile_group.action_profile_id)
            found = profile.current_group(entity.action_profile_group)
        elif what == "packet_replication_engine_entry":
            found = self.replication.current(entity.packet_replication_engine_entry)
        elif what == "counter_entry":
            found = self.counters.current(entity.counter_entry)
        elif what == "direct_counter_entry":
            found = list(self.tables.read_counts(entity.direct_counter_entry))
        elif what == "meter_entry":
            found = self.meters.current(entity.meter_entry)
        elif what == "direct_meter_entry":
            found = list(self.tables.read_meters(entity.direct_meter_entry))
        elif what == "register_entry":
            found = self.registers.current(entity.register_entry)
        elif what == "digest_entry":
            found = self.digests.current(entity.digest_entry)
        elif what == "value_set_entry":
            found = self.value_sets.current(entity.value_set_entry)
        else:
            return []
        return [_entity(what, item) for item in found]

    def snapshot(self) -> list[p4r.Update]:
        """Updates that make this state again on an empty pipeline; counters and registers are no part of
        it.
        """
        updates = []
        for wildcard in _wildcards():
            for entity in self.read(wildcard):
                update = self._again(entity)
                if update is not None:
                    updates.append(update)
        for table in self.index.tables.values():
            if not table.const_default and not table.profile_id:
                wanted = p4r.TableEntry(table_id=table.id, is_default_action=True)
                wanted.meter_config.SetInParent()
                for entity in self.read(p4r.Entity(table_entry=wanted)):
                    if entity.table_entry.action.WhichOneof("type") is not None:
                        updates.append(p4r.Update(type=p4r.Update.MODIFY, entity=entity))
        return updates

    def _again(self, entity: p4r.Entity) -> p4r.Update | None:
        """The update that makes an entity again; None for what is there without one."""
        what = entity.WhichOneof("entity")
        if what == "table_entry":
            if entity.table_entry.is_const:
                return None
        elif what == "meter_entry":
            if not entity.meter_entry.HasField("config"):
                return None
        elif what == "value_set_entry" and not entity.value_set_entry.members:
            return None
        return p4r.Update(type=p4r.Update.MODIFY if what in _FIXED else p4r.Update.INSERT, entity=entity)


def _wildcards() -> list[p4r.Entity]:
    """What has to be made again first comes first."""
    entries = p4r.TableEntry()
    entries.meter_config.SetInParent()
    return [
        p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry()),
        p4r.Entity(digest_entry=p4r.DigestEntry()),
        p4r.Entity(value_set_entry=p4r.ValueSetEntry()),
        p4r.Entity(meter_entry=p4r.MeterEntry()),
        p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
        p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
        p4r.Entity(table_entry=entries),
    ]


def _entity(what: str, value: object) -> p4r.Entity:
    entity = p4r.Entity()
    getattr(entity, what).CopyFrom(value)
    return entity


def _unsupported(what: str | None) -> P4RuntimeError:
    if what is None:
        return invalid("the entity is empty")
    return unimplemented("extern entries are not supported: v1model has no externs of that kind")

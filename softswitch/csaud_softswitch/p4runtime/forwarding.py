"""The forwarding state of one pipeline: dispatches updates and reads to what holds each kind of entity."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.action_profile import ActionProfileStore
from csaud_softswitch.p4runtime.counter import CounterStore
from csaud_softswitch.p4runtime.errors import BatchError, P4RuntimeError, invalid, unimplemented
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r
from csaud_softswitch.p4runtime.replication import ReplicationStore
from csaud_softswitch.p4runtime.table import TableStore

_UNSUPPORTED = {
    "extern_entry": "extern entries",
    "meter_entry": "meters",
    "direct_meter_entry": "direct meters",
    "value_set_entry": "parser value sets",
    "register_entry": "registers (reach them through the data plane)",
    "digest_entry": "digests",
}


class Batch:
    """The updates of one Write, applied in order; one that fails does not keep the others
    (CONTINUE_ON_ERROR).

    A long one can be run in pieces, so that whoever serves others meanwhile need not wait for its end.
    """

    def __init__(self, apply: Callable[[p4r.Update], None], updates: Iterable[p4r.Update]) -> None:
        self._apply = apply
        self._left = iter(updates)
        self._results: list[P4RuntimeError | None] = []
        self._failed = False

    def step(self, count: int) -> bool:
        """Apply up to `count` updates; False when none is left."""
        done = 0
        for update in itertools.islice(self._left, count):
            done += 1
            try:
                self._apply(update)
                self._results.append(None)
            except P4RuntimeError as error:
                self._results.append(error)
                self._failed = True
        return done == count

    def finish(self) -> None:
        """Apply what is left; BatchError if any update of the batch failed."""
        while self.step(1024):
            pass
        if self._failed:
            raise BatchError(self._results)


class ForwardingState:
    """Entities that a controller writes and reads, on a switch which has the program of `index` loaded."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.index = index
        self.profiles = ActionProfileStore(switch, index)
        self.tables = TableStore(switch, index, self.profiles)
        self.counters = CounterStore(switch, index)
        self.replication = ReplicationStore(switch)

    def apply(self, update: p4r.Update) -> None:
        """Apply one update; P4RuntimeError when it is refused, and then nothing has changed."""
        kind = update.type
        if kind not in (p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE):
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
        elif what == "counter_entry":
            _only_modify(kind, "counter entry")
            self.counters.modify(entity.counter_entry)
        elif what == "direct_counter_entry":
            _only_modify(kind, "direct counter entry")
            self.tables.write_count(entity.direct_counter_entry)
        else:
            raise _unsupported(what)

    def read(self, wanted: p4r.Entity) -> Iterator[p4r.Entity]:
        """The entities that `wanted` describes, wildcards included; none is not an error."""
        what = wanted.WhichOneof("entity")
        if what == "table_entry":
            for entry in self.tables.read(wanted.table_entry):
                yield p4r.Entity(table_entry=entry)
        elif what == "action_profile_member":
            for member in self.profiles.read_members(wanted.action_profile_member):
                yield p4r.Entity(action_profile_member=member)
        elif what == "action_profile_group":
            for group in self.profiles.read_groups(wanted.action_profile_group):
                yield p4r.Entity(action_profile_group=group)
        elif what == "packet_replication_engine_entry":
            for copies in self.replication.read(wanted.packet_replication_engine_entry):
                yield p4r.Entity(packet_replication_engine_entry=copies)
        elif what == "counter_entry":
            for cell in self.counters.read(wanted.counter_entry):
                yield p4r.Entity(counter_entry=cell)
        elif what == "direct_counter_entry":
            for count in self.tables.read_counts(wanted.direct_counter_entry):
                yield p4r.Entity(direct_counter_entry=count)
        else:
            raise _unsupported(what)

    def snapshot(self) -> list[p4r.Update]:
        """Updates that make this state again on an empty pipeline; counters are not part of it."""
        wildcards = [
            p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry()),
            p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
            p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
            p4r.Entity(table_entry=p4r.TableEntry()),
        ]
        updates = []
        for wildcard in wildcards:
            for entity in self.read(wildcard):
                table = self.index.tables.get(entity.table_entry.table_id)
                if table is None or not table.const_entries:
                    updates.append(p4r.Update(type=p4r.Update.INSERT, entity=entity))
        for table in self.index.tables.values():
            if not table.const_default and not table.profile_id:
                wanted = p4r.TableEntry(table_id=table.id, is_default_action=True)
                for entity in self.read(p4r.Entity(table_entry=wanted)):
                    if entity.table_entry.action.WhichOneof("type") is not None:
                        updates.append(p4r.Update(type=p4r.Update.MODIFY, entity=entity))
        return updates


def _only_modify(kind: UpdateKind, what: str) -> None:
    if kind != p4r.Update.MODIFY:
        raise invalid(f"a {what} can only be modified: it is there as long as its program is")


def _unsupported(what: str | None) -> P4RuntimeError:
    if what is None:
        return invalid("the entity is empty")
    return unimplemented(f"{_UNSUPPORTED.get(what, what)} are not supported")

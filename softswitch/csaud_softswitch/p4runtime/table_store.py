"""All tables of one pipeline: which of them a request is about (table_id 0: all), and their direct counters
and meters as entities of their own (p4.v1.DirectCounterEntry, p4.v1.DirectMeterEntry).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.action_profile import ActionProfileStore
from csaud_softswitch.p4runtime.direct import DirectResources
from csaud_softswitch.p4runtime.errors import Code, P4RuntimeError, invalid, not_found, unimplemented
from csaud_softswitch.p4runtime.meter import refuse_color_counters
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r
from csaud_softswitch.p4runtime.table import EntryId, Table

Data = TypeVar("Data")


class TableStore:
    """All tables of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex, profiles: ActionProfileStore) -> None:
        self.switch = switch
        self._index = index
        self.tables = {
            i: Table(switch, index, spec, profiles.profiles.get(spec.profile_id))
            for i, spec in index.tables.items()
        }
        self._by_name = {table.spec.name: table for table in self.tables.values()}
        self.has_idle_timeouts = any(spec.idle_timeout for spec in index.tables.values())

    # --- entries

    def write(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        self.find(entry.table_id).write(kind, entry)

    def read(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        """table_id 0: the entries (or, with is_default_action, the default entries) of every table."""
        if wanted.HasField("meter_counter_data"):
            raise unimplemented("counters of a meter's colors are not supported")
        for table in self._select(wanted):
            if wanted.table_id and wanted.HasField("time_since_last_hit") and not table.spec.idle_timeout:
                raise invalid(f"{table.spec.name} has no idle timeout")
            yield from table.read(wanted)

    def poll_idle(self) -> list[p4r.TableEntry]:
        """Entries that were not hit for their timeout since they were last reported."""
        found = []
        for name, fields, priority in self.switch.poll_idle():
            entry = self._by_name[name].idle_entry((tuple(fields), priority))
            if entry is not None:
                found.append(entry)
        return found

    # --- direct counters

    def write_count(self, entry: p4r.DirectCounterEntry) -> None:
        """Set one entry's counter; without data nothing is changed."""
        table = self.find(entry.table_entry.table_id)
        table.direct.need_counter()
        owner = _owner(table, entry.table_entry)
        if entry.HasField("data"):
            table.direct.set_count(owner, table.direct.decode_count(entry.data))

    def read_counts(self, wanted: p4r.DirectCounterEntry) -> Iterator[p4r.DirectCounterEntry]:
        """table_id 0: the direct counters of every table."""
        found = self._of_entries(
            wanted.table_entry, lambda table: table.spec.direct_counter_id, DirectResources.need_counter,
            DirectResources.count,
        )  # fmt: skip
        return (p4r.DirectCounterEntry(table_entry=entry, data=data) for entry, data in found)

    # --- direct meters

    def write_meter(self, entry: p4r.DirectMeterEntry) -> None:
        """Configure one entry's meter; without config it marks all packets green."""
        refuse_color_counters(entry)
        table = self.find(entry.table_entry.table_id)
        table.direct.need_meter()
        owner = _owner(table, entry.table_entry)
        rates = table.direct.decode_rates(entry.config) if entry.HasField("config") else None
        table.direct.set_rates(owner, rates)

    def read_meters(self, wanted: p4r.DirectMeterEntry) -> Iterator[p4r.DirectMeterEntry]:
        """table_id 0: the direct meters of every table."""
        refuse_color_counters(wanted)
        found = self._of_entries(
            wanted.table_entry, lambda table: table.spec.direct_meter_id, DirectResources.need_meter,
            DirectResources.config,
        )  # fmt: skip
        return (p4r.DirectMeterEntry(table_entry=entry, config=config) for entry, config in found)

    def _of_entries(
        self,
        wanted: p4r.TableEntry,
        has: Callable[[Table], int],
        need: Callable[[DirectResources], None],
        read: Callable[[DirectResources, EntryId | None], Data],
    ) -> Iterator[tuple[p4r.TableEntry, Data]]:
        """What `read` says of each entry; of all tables those that have such a resource, of one that has none
        what `need` raises."""
        for table in self._select(wanted):
            if not has(table):
                if wanted.table_id:
                    need(table.direct)
                continue
            for owner in table.read_ids(wanted):
                try:
                    data = read(table.direct, owner)
                except P4RuntimeError as error:
                    _pass_if_gone(error)
                    continue
                yield table.encode_owner(owner), data

    def _select(self, wanted: p4r.TableEntry) -> list[Table]:
        if wanted.table_id:
            return [self.find(wanted.table_id)]
        if (
            wanted.match
            or wanted.priority
            or wanted.metadata
            or wanted.controller_metadata
            or wanted.HasField("action")
        ):
            raise invalid("table_id 0 (all tables) cannot have a match or another filter")
        return list(self.tables.values())

    def find(self, table_id: int) -> Table:
        table = self.tables.get(table_id)
        if table is None:
            raise not_found(f"no table with id {self._index.describe(table_id)}")
        return table


def _owner(table: Table, entry: p4r.TableEntry) -> EntryId | None:
    owner = table.owner_id(entry)
    if owner is not None:
        table.find(owner)
    return owner


def _pass_if_gone(error: P4RuntimeError) -> None:
    """An entry may be deleted while a long read goes on; any other error is one."""
    if error.code != Code.NOT_FOUND:
        raise error

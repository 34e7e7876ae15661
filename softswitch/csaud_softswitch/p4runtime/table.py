"""Table entries and their direct counters (p4.v1.TableEntry, p4.v1.DirectCounterEntry).

Source: P4Runtime specification 1.4, sections 9.1 and 9.4. The native core holds the entries; what it has no
use for (the controller's metadata) is kept here beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.action import decode_action, encode_action
from csaud_softswitch.p4runtime.action_profile import ActionProfile, ActionProfileStore
from csaud_softswitch.p4runtime.counter import decode_count, encode_count
from csaud_softswitch.p4runtime.errors import (
    Code,
    P4RuntimeError,
    core_errors,
    invalid,
    not_found,
    unimplemented,
)
from csaud_softswitch.p4runtime.match import Key, decode_key, encode_key
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex, TableSpec
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import Action, Count, MatchField  # exist in the stub only

EntryId: TypeAlias = "tuple[Key, int]"
"""What tells the entries of a table apart: the key and the priority."""


class Table:
    """One table of one pipeline."""

    def __init__(
        self, switch: Switch, index: P4InfoIndex, spec: TableSpec, profile: ActionProfile | None
    ) -> None:
        self._switch = switch
        self._index = index
        self.spec = spec
        self._profile = profile
        self._counter = index.direct_counters.get(spec.direct_counter_id)
        self._metadata: dict[EntryId, bytes] = {}
        self._one_shots: dict[EntryId, int] = {}
        self._entry_actions = frozenset(i for i, scope in spec.actions.items() if scope != "default_only")
        self._default_actions = frozenset(i for i, scope in spec.actions.items() if scope != "table_only")

    # --- writing entries

    def write(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        if entry.is_default_action:
            self._write_default(kind, entry)
            return
        if self.spec.const_entries:
            raise P4RuntimeError(Code.PERMISSION_DENIED, f"{self.spec.name}: its entries are const")
        key, priority = self._entry_id(entry)
        if kind == p4r.Update.DELETE:
            with core_errors():
                self._switch.table_delete(self.spec.name, key, priority)
            self._metadata.pop((key, priority), None)
            self._release_one_shot((key, priority))
            return
        self._check_extras(entry)
        self._put(kind, key, priority, entry)
        if entry.metadata:
            self._metadata[key, priority] = entry.metadata
        else:
            self._metadata.pop((key, priority), None)
        if self._counter is not None and entry.HasField("counter_data"):
            self._set_count((key, priority), decode_count(self._counter, entry.counter_data))

    def _put(self, kind: UpdateKind, key: Key, priority: int, entry: p4r.TableEntry) -> None:
        put = self._switch.table_insert if kind == p4r.Update.INSERT else self._switch.table_modify
        action = self._decode_action(entry.action)
        one_shot = action[1] if entry.action.WhichOneof("type") == "action_profile_action_set" else None
        try:
            with core_errors():
                put(self.spec.name, key, priority, action)
        except P4RuntimeError:
            if self._profile is not None and isinstance(one_shot, int):
                self._profile.remove_action_set(one_shot)
            raise
        self._release_one_shot((key, priority))
        if isinstance(one_shot, int):
            self._one_shots[key, priority] = one_shot

    def _release_one_shot(self, entry_id: EntryId) -> None:
        group_id = self._one_shots.pop(entry_id, None)
        if group_id is not None and self._profile is not None:
            self._profile.remove_action_set(group_id)

    def _write_default(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        where = f"{self.spec.name}: default entry"
        if kind != p4r.Update.MODIFY:
            raise invalid(f"{where}: it can only be modified")
        if entry.match or entry.priority:
            raise invalid(f"{where}: it has neither match nor priority")
        if self.spec.const_default:
            raise P4RuntimeError(Code.PERMISSION_DENIED, f"{where}: it is const")
        if self.spec.profile_id:
            raise unimplemented(f"{where}: a table with an action profile has a fixed one")
        self._check_extras(entry)
        with core_errors():
            if entry.action.WhichOneof("type") is None:
                self._switch.table_set_default(self.spec.name, None)
                return
            if entry.action.WhichOneof("type") != "action":
                raise invalid(f"{where}: expected an action")
            call = decode_action(self._index, entry.action.action, self._default_actions, where)
            self._switch.table_set_default(self.spec.name, call)

    def _check_extras(self, entry: p4r.TableEntry) -> None:
        if entry.HasField("meter_config") or entry.HasField("meter_counter_data"):
            raise invalid(f"{self.spec.name} has no direct meter")
        if entry.idle_timeout_ns and not self.spec.idle_timeout:
            raise invalid(f"{self.spec.name} has no idle timeout")
        if entry.idle_timeout_ns:
            raise unimplemented(f"{self.spec.name}: idle timeouts are not supported")
        if entry.HasField("counter_data") and self._counter is None:
            raise invalid(f"{self.spec.name} has no direct counter")

    def _entry_id(self, entry: p4r.TableEntry) -> EntryId:
        key = decode_key(self.spec, entry.match)
        if self.spec.has_priority and entry.priority <= 0:
            raise invalid(f"{self.spec.name}: priority {entry.priority}, expected 1 or more")
        if not self.spec.has_priority and entry.priority != 0:
            raise invalid(
                f"{self.spec.name}: priority {entry.priority}, expected 0: its keys are exact or LPM"
            )
        return key, entry.priority

    def _decode_action(self, action: p4r.TableAction) -> Action:
        where = self.spec.name
        kind = action.WhichOneof("type")
        if kind is None:
            raise invalid(f"{where}: the entry has no action")
        if self._profile is None:
            if kind != "action":
                raise invalid(f"{where} has no action profile: expected an action, got {kind}")
            return decode_action(self._index, action.action, self._entry_actions, where)
        if kind == "action":
            raise invalid(f"{where} has an action profile: expected a member, a group or an action set")
        if kind == "action_profile_member_id":
            return ("member", action.action_profile_member_id)
        if kind == "action_profile_group_id":
            if not self._profile.spec.with_selector:
                raise invalid(f"{where}: {self._profile.spec.name} has no selector, so it has no groups")
            return ("group", action.action_profile_group_id)
        return ("group", self._profile.add_action_set(action.action_profile_action_set, where))

    # --- reading entries

    def read(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        """The entries that `wanted` describes; an empty match and priority 0 stand for any."""
        with_count = wanted.HasField("counter_data")
        if wanted.is_default_action:
            yield self._default_entry(with_count)
            return
        for key, priority, action in self._select(wanted):
            entry = self._encode_id(key, priority)
            entry.action.CopyFrom(self._encode_action(action))
            entry.metadata = self._metadata.get((key, priority), b"")
            entry.is_const = self.spec.const_entries
            if with_count and self._counter is not None:
                count = self._count_of((key, priority))
                if count is None:
                    continue
                entry.counter_data.CopyFrom(encode_count(self._counter, count))
            yield entry

    def _select(self, wanted: p4r.TableEntry) -> Iterator[tuple[Key, int, Action]]:
        only = decode_key(self.spec, wanted.match) if wanted.match else None
        with core_errors():
            entries = self._switch.table_entries(self.spec.name)
        for fields, priority, action in entries:
            key: Key = tuple(fields)
            if only is not None and key != only:
                continue
            if wanted.priority in (0, priority):
                yield key, priority, action

    def _encode_id(self, key: tuple[MatchField, ...], priority: int) -> p4r.TableEntry:
        return p4r.TableEntry(table_id=self.spec.id, match=encode_key(self.spec, key), priority=priority)

    def _encode_action(self, action: Action) -> p4r.TableAction:
        if action[0] == "action":
            return p4r.TableAction(action=encode_action(self._index, action[1], action[2]))
        if action[0] == "member":
            return p4r.TableAction(action_profile_member_id=action[1])
        one_shot = None if self._profile is None else self._profile.action_set(action[1])
        if one_shot is not None:
            return p4r.TableAction(action_profile_action_set=one_shot)
        return p4r.TableAction(action_profile_group_id=action[1])

    def _default_entry(self, with_count: bool) -> p4r.TableEntry:
        entry = p4r.TableEntry(table_id=self.spec.id, is_default_action=True)
        with core_errors():
            action = self._switch.table_get_default(self.spec.name)
        if action is not None:
            entry.action.CopyFrom(self._encode_action(action))
        if with_count and self._counter is not None:
            entry.counter_data.CopyFrom(encode_count(self._counter, self._get_count(None)))
        return entry

    # --- direct counters

    def read_counts(self, wanted: p4r.TableEntry) -> Iterator[p4r.DirectCounterEntry]:
        if self._counter is None:
            return
        if wanted.is_default_action:
            found = p4r.DirectCounterEntry(data=encode_count(self._counter, self._get_count(None)))
            found.table_entry.table_id = self.spec.id
            found.table_entry.is_default_action = True
            yield found
            return
        for key, priority, _ in self._select(wanted):
            count = self._count_of((key, priority))
            if count is not None:
                data = encode_count(self._counter, count)
                yield p4r.DirectCounterEntry(table_entry=self._encode_id(key, priority), data=data)

    def write_count(self, entry: p4r.DirectCounterEntry) -> None:
        """Set one entry's counter; without data it becomes zero."""
        if self._counter is None:
            raise invalid(f"{self.spec.name} has no direct counter")
        where = entry.table_entry
        entry_id = None if where.is_default_action else self._entry_id(where)
        self._set_count(entry_id, decode_count(self._counter, entry.data))

    def _count_of(self, entry_id: EntryId) -> Count | None:
        """The count of an entry; None when it was deleted since the read began: a long read lets writes
        pass.
        """
        try:
            return self._get_count(entry_id)
        except P4RuntimeError as error:
            if error.code != Code.NOT_FOUND:
                raise
            return None

    def _get_count(self, entry_id: EntryId | None) -> Count:
        with core_errors():
            if entry_id is None:
                return self._switch.direct_counter_default(self.spec.name)
            return self._switch.direct_counter(self.spec.name, *entry_id)

    def _set_count(self, entry_id: EntryId | None, count: Count) -> None:
        with core_errors():
            if entry_id is None:
                self._switch.direct_counter_default_write(self.spec.name, *count)
            else:
                self._switch.direct_counter_write(self.spec.name, *entry_id, *count)


class TableStore:
    """All tables of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex, profiles: ActionProfileStore) -> None:
        self._index = index
        self.tables = {
            i: Table(switch, index, spec, profiles.profiles.get(spec.profile_id))
            for i, spec in index.tables.items()
        }

    def write(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        self._find(entry.table_id).write(kind, entry)

    def read(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        """table_id 0: the entries (or, with is_default_action, the default entries) of every table."""
        for table in self._select(wanted):
            yield from table.read(wanted)

    def write_count(self, entry: p4r.DirectCounterEntry) -> None:
        self._find(entry.table_entry.table_id).write_count(entry)

    def read_counts(self, wanted: p4r.DirectCounterEntry) -> Iterator[p4r.DirectCounterEntry]:
        """table_id 0: the direct counters of every table."""
        for table in self._select(wanted.table_entry):
            yield from table.read_counts(wanted.table_entry)

    def _select(self, wanted: p4r.TableEntry) -> list[Table]:
        if wanted.table_id:
            return [self._find(wanted.table_id)]
        if wanted.match:
            raise invalid("table_id 0 (all tables) cannot have a match")
        return list(self.tables.values())

    def _find(self, table_id: int) -> Table:
        table = self.tables.get(table_id)
        if table is None:
            raise not_found(f"no table with id {self._index.describe(table_id)}")
        return table

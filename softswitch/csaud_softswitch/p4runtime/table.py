"""Entries of one table (p4.v1.TableEntry) and their direct counters and meters.

Source: P4Runtime specification 1.4, sections 9.1, 9.3 and 9.5. The native core holds the entries; what it
has no use for (metadata, and how an action set was written) is kept here beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.action import decode_action, encode_action
from csaud_softswitch.p4runtime.action_profile import ActionProfile
from csaud_softswitch.p4runtime.direct import DirectResources
from csaud_softswitch.p4runtime.errors import P4RuntimeError, core_errors, denied, invalid, not_found
from csaud_softswitch.p4runtime.match import Key, decode_key, encode_key
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex, TableSpec
from csaud_softswitch.p4runtime.proto import UpdateKind, p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import Action  # exists in the stub only

_MAX_PRIORITY = (1 << 31) - 1

EntryId: TypeAlias = "tuple[Key, int]"
"""What tells the entries of a table apart: the key and the priority."""


@dataclass(slots=True)
class _Extras:
    """What the native core does not keep of an entry."""

    metadata: bytes = b""
    cookie: int = 0
    idle_timeout_ns: int = 0
    one_shot: int = 0
    """Group that was made of the entry's action set, 0 where it has none."""

    @property
    def any(self) -> bool:
        return bool(self.metadata or self.cookie or self.idle_timeout_ns or self.one_shot)


_NOTHING = _Extras()


class Table:
    """One table of one pipeline."""

    def __init__(
        self, switch: Switch, index: P4InfoIndex, spec: TableSpec, profile: ActionProfile | None
    ) -> None:
        self.switch = switch
        self._index = index
        self.spec = spec
        self.direct = DirectResources(switch, index, spec)
        self._profile = profile
        self._extras: dict[EntryId, _Extras] = {}
        self._default_extras = _NOTHING
        self._priority_base = self._const_priorities()
        self._entry_actions = frozenset(i for i, scope in spec.actions.items() if scope != "default_only")
        self._default_actions = frozenset(i for i, scope in spec.actions.items() if scope != "table_only")

    def _const_priorities(self) -> int:
        """What the core's priorities of const entries are beyond P4Runtime's, which go from their number down
        to 1.
        """
        if not (self.spec.const_entries and self.spec.has_priority):
            return 0
        with core_errors():
            given = [priority for _, priority, _ in self.switch.table_entries(self.spec.name)]
        return max(given, default=0) - len(given)

    # --- writing entries

    def write(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        if entry.is_const and kind != p4r.Update.DELETE:
            raise invalid(f"{self.spec.name}: is_const is the program's to say, not the controller's")
        if entry.is_default_action:
            self._write_default(kind, entry)
        elif self.spec.const_entries:
            self._write_const(kind, entry)
        elif kind == p4r.Update.DELETE:
            self._delete(self.entry_id(entry))
        else:
            self._put(kind, entry)

    def _delete(self, entry_id: EntryId) -> None:
        with core_errors():
            self.switch.table_delete(self.spec.name, *entry_id)
        if (extras := self._extras.pop(entry_id, None)) is not None:
            self._release_one_shot(extras)

    def _put(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        if not self.spec.fields:
            raise invalid(f"{self.spec.name} has no key, so it has a default entry only")
        entry_id = self.entry_id(entry)
        self._check_extras(entry)
        resources = self.direct.decode(entry)
        one_shot = 0
        if kind == p4r.Update.MODIFY and entry.action.WhichOneof("type") is None:
            self.find(entry_id)
            one_shot = self._extras.get(entry_id, _NOTHING).one_shot
        else:
            one_shot = self._put_action(kind, entry_id, entry.action)
        self._keep_extras(kind, entry_id, entry, one_shot)
        if resources is not None:
            self.direct.write(entry_id, resources)

    def _put_action(self, kind: UpdateKind, entry_id: EntryId, given: p4r.TableAction) -> int:
        """Insert or modify in the native core; the group of an action set, or 0."""
        put = self.switch.table_insert if kind == p4r.Update.INSERT else self.switch.table_modify
        action = self._decode_action(given)
        made = 0
        if given.HasField("action_profile_action_set") and isinstance(action[1], int):
            made = action[1]
        try:
            with core_errors():
                put(self.spec.name, *entry_id, action)
        except P4RuntimeError:
            if made and self._profile is not None:
                self._profile.remove_action_set(made)
            raise
        if kind == p4r.Update.MODIFY and (before := self._extras.get(entry_id)) is not None:
            self._release_one_shot(before)
        return made

    def _keep_extras(self, kind: UpdateKind, entry_id: EntryId, entry: p4r.TableEntry, one_shot: int) -> None:
        extras = _Extras(entry.metadata, entry.controller_metadata, entry.idle_timeout_ns, one_shot)
        before = self._extras.get(entry_id, _NOTHING) if kind == p4r.Update.MODIFY else _NOTHING
        if extras.idle_timeout_ns or before.idle_timeout_ns:
            with core_errors():
                self.switch.table_set_idle_timeout(self.spec.name, *entry_id, extras.idle_timeout_ns)
        if extras.any:
            self._extras[entry_id] = extras
        elif before.any:
            del self._extras[entry_id]

    def _release_one_shot(self, extras: _Extras) -> None:
        if extras.one_shot and self._profile is not None:
            self._profile.remove_action_set(extras.one_shot)

    def _write_const(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        """Of a const entry only counter and meter can be written."""
        if kind != p4r.Update.MODIFY or entry.action.WhichOneof("type") is not None:
            raise denied(f"{self.spec.name}: its entries are const")
        if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
            raise invalid(f"{self.spec.name}: const entries have no idle timeout")
        entry_id = self.entry_id(entry)
        resources = self.direct.decode(entry)
        self.find(entry_id)
        if resources is not None:
            self.direct.write(entry_id, resources)

    def _write_default(self, kind: UpdateKind, entry: p4r.TableEntry) -> None:
        where = f"{self.spec.name}: default entry"
        if kind != p4r.Update.MODIFY:
            raise invalid(f"{where}: it can only be modified")
        if entry.match or entry.priority:
            raise invalid(f"{where}: it has neither match nor priority")
        if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
            raise invalid(f"{where}: it has no idle timeout")
        is_const = self._const_default
        if is_const and (entry.action.WhichOneof("type") is not None or not self.direct.given(entry)):
            raise denied(f"{where}: it is const")
        resources = self.direct.decode(entry)
        if not is_const:
            self._set_default(entry, where)
        if resources is not None:
            self.direct.write(None, resources)

    @property
    def _const_default(self) -> bool:
        """P4Runtime has it that a table with an action profile does nothing on a miss."""
        return self.spec.const_default or self.spec.profile_id != 0

    def _set_default(self, entry: p4r.TableEntry, where: str) -> None:
        kind = entry.action.WhichOneof("type")
        if kind not in (None, "action"):
            raise invalid(f"{where}: expected an action, got {kind}")
        call = None
        if kind is not None:
            allowed, others = self._default_actions, self._entry_actions
            call = decode_action(self._index, entry.action.action, allowed, where, others)
        with core_errors():
            self.switch.table_set_default(self.spec.name, call)
        reset = call is None
        self._default_extras = (
            _NOTHING if reset else _Extras(metadata=entry.metadata, cookie=entry.controller_metadata)
        )

    def _check_extras(self, entry: p4r.TableEntry) -> None:
        if entry.HasField("time_since_last_hit"):
            raise invalid(f"{self.spec.name}: time_since_last_hit cannot be written")
        if entry.idle_timeout_ns and not self.spec.idle_timeout:
            raise invalid(f"{self.spec.name} has no idle timeout")
        if entry.idle_timeout_ns < 0:
            raise invalid(f"{self.spec.name}: idle timeout {entry.idle_timeout_ns} is negative")

    def entry_id(self, entry: p4r.TableEntry) -> EntryId:
        """Key and priority of an entry that is written, or whose counter or meter is."""
        key = decode_key(self.spec, entry.match)
        priority = entry.priority
        if self.spec.has_priority and priority <= 0:
            raise invalid(f"{self.spec.name}: priority {priority}, expected 1 or more")
        if not self.spec.has_priority and priority != 0:
            raise invalid(f"{self.spec.name}: priority {priority}, expected 0: its keys are exact or LPM")
        return key, self._core_priority(priority)

    def _core_priority(self, priority: int) -> int:
        """A priority that is none of a const table's is still one, which no entry has."""
        return min(priority + self._priority_base, _MAX_PRIORITY)

    def _decode_action(self, action: p4r.TableAction) -> Action:
        where = self.spec.name
        kind = action.WhichOneof("type")
        if kind is None:
            raise invalid(f"{where}: the entry has no action")
        if self._profile is None:
            if kind != "action":
                raise invalid(f"{where} has no action profile: expected an action, got {kind}")
            return decode_action(
                self._index, action.action, self._entry_actions, where, self._default_actions
            )
        if kind == "action":
            raise invalid(f"{where} has an action profile: expected a member, a group or an action set")
        if kind == "action_profile_member_id":
            return ("member", self._profile.user_reference(action.action_profile_member_id, "member"))
        if kind == "action_profile_group_id":
            if not self._profile.spec.with_selector:
                raise invalid(f"{where}: {self._profile.spec.name} has no selector, so it has no groups")
            return ("group", self._profile.user_reference(action.action_profile_group_id, "group"))
        return ("group", self._profile.add_action_set(action.action_profile_action_set, where))

    # --- reading entries

    def find(self, entry_id: EntryId) -> Action:
        """The action of an entry; NOT_FOUND when it is not there."""
        with core_errors():
            return self.switch.table_find(self.spec.name, *entry_id)

    def current(self, entry: p4r.TableEntry, with_count: bool) -> p4r.TableEntry | None:
        """The present state of the entry that a write is about, as an update that makes it again has it; None
        when it is not there.
        """
        wanted = p4r.TableEntry()
        if self.spec.direct_meter_id:
            wanted.meter_config.SetInParent()
        if with_count and self.spec.direct_counter_id:
            wanted.counter_data.SetInParent()
        found: p4r.TableEntry | None
        if entry.is_default_action:
            found, is_const = self._default_entry(wanted), self._const_default
        else:
            found, is_const = self._current_entry(entry, wanted), self.spec.const_entries
        if found is not None:
            found.is_const = False
            if is_const:
                found.ClearField("action")  # only counter and meter can be written
        return found

    def _current_entry(self, entry: p4r.TableEntry, wanted: p4r.TableEntry) -> p4r.TableEntry | None:
        try:
            entry_id = self.entry_id(entry)
            action = self.find(entry_id)
        except P4RuntimeError:
            return None
        return self._encode(entry_id, action, wanted)

    def read(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        """The entries that `wanted` describes; an empty match and priority 0 stand for any."""
        if wanted.is_default_action:
            if wanted.HasField("time_since_last_hit"):
                raise invalid(f"{self.spec.name}: the default entry has no idle timeout")
            yield self._default_entry(wanted)
            return
        for entry_id, action in self.select(wanted):
            entry = self._encode(entry_id, action, wanted)
            if entry is not None:
                yield entry

    def select(self, wanted: p4r.TableEntry) -> Iterator[tuple[EntryId, Action]]:
        """The entries that pass the filters of `wanted`."""
        name = self.spec.name
        with_priority = self._core_priority(wanted.priority) if wanted.priority else 0
        if wanted.match and (with_priority or not self.spec.has_priority):
            entry_id = (decode_key(self.spec, wanted.match), with_priority)
            try:
                found = [(entry_id, self.find(entry_id))]
            except P4RuntimeError:
                found = []
        else:
            only = decode_key(self.spec, wanted.match) if wanted.match else None
            with core_errors():
                entries = self.switch.table_entries(name)
            found = [
                ((key, priority), action)
                for fields, priority, action in entries
                if with_priority in (0, priority) and ((key := tuple(fields)) == only or only is None)
            ]
        return filter(lambda item: self._passes(wanted, *item), found)

    def _passes(self, wanted: p4r.TableEntry, entry_id: EntryId, action: Action) -> bool:
        if wanted.metadata or wanted.controller_metadata:
            extras = self._extras.get(entry_id, _NOTHING)
            if wanted.metadata and wanted.metadata != extras.metadata:
                return False
            if wanted.controller_metadata and wanted.controller_metadata != extras.cookie:
                return False
        if wanted.action.action.action_id:
            id = self._index.action_ids.get(action[1]) if action[0] == "action" else None
            return id == wanted.action.action.action_id
        return True

    def _encode(self, entry_id: EntryId, action: Action, wanted: p4r.TableEntry) -> p4r.TableEntry | None:
        """None when the entry was deleted since the read began."""
        entry = self.encode_id(entry_id)
        entry.action.CopyFrom(self._encode_action(action))
        entry.is_const = self.spec.const_entries
        extras = self._extras.get(entry_id)
        if extras is not None:
            entry.metadata, entry.controller_metadata = extras.metadata, extras.cookie
            entry.idle_timeout_ns = extras.idle_timeout_ns
        try:
            self.direct.read(entry_id, wanted, entry)
            if wanted.HasField("time_since_last_hit") and self.spec.idle_timeout:
                with core_errors():
                    age = self.switch.table_idle_age(self.spec.name, *entry_id)
                entry.time_since_last_hit.elapsed_ns = age
        except P4RuntimeError:
            return None
        return entry

    def encode_id(self, entry_id: EntryId) -> p4r.TableEntry:
        key, priority = entry_id
        shown = priority - self._priority_base
        return p4r.TableEntry(table_id=self.spec.id, match=encode_key(self.spec, key), priority=shown)

    def _encode_action(self, action: Action) -> p4r.TableAction:
        if action[0] == "action":
            return p4r.TableAction(action=encode_action(self._index, action[1], action[2]))
        if action[0] == "member":
            return p4r.TableAction(action_profile_member_id=action[1])
        one_shot = None if self._profile is None else self._profile.action_set(action[1])
        if one_shot is not None:
            return p4r.TableAction(action_profile_action_set=one_shot)
        return p4r.TableAction(action_profile_group_id=action[1])

    def _default_entry(self, wanted: p4r.TableEntry) -> p4r.TableEntry:
        entry = p4r.TableEntry(table_id=self.spec.id, is_default_action=True)
        with core_errors():
            action = self.switch.table_get_default(self.spec.name)
        if action is not None:
            entry.action.CopyFrom(self._encode_action(action))
        entry.is_const = self.spec.const_default
        entry.metadata, entry.controller_metadata = self._default_extras.metadata, self._default_extras.cookie
        self.direct.read(None, wanted, entry)
        return entry

    def idle_entry(self, entry_id: EntryId) -> p4r.TableEntry | None:
        """What a notification says of an entry that was idle for its timeout, whose timer starts again."""
        extras = self._extras.get(entry_id, _NOTHING)
        try:
            with core_errors():
                self.switch.table_set_idle_timeout(self.spec.name, *entry_id, extras.idle_timeout_ns)
        except P4RuntimeError:
            return None
        entry = self.encode_id(entry_id)
        entry.metadata, entry.controller_metadata = extras.metadata, extras.cookie
        entry.idle_timeout_ns = extras.idle_timeout_ns
        return entry

    # --- direct counters and meters as entities of their own

    def read_ids(self, wanted: p4r.TableEntry) -> Iterator[EntryId | None]:
        """Whose counters or meters a read is about; None is the default entry. NOT_FOUND when it names one
        that is not there.
        """
        if wanted.is_default_action:
            yield None
            return
        found = 0
        for entry_id, _ in self.select(wanted):
            found += 1
            yield entry_id
        if wanted.match and not found:
            raise not_found(f"{self.spec.name} has no such entry")

    def encode_owner(self, entry_id: EntryId | None) -> p4r.TableEntry:
        """The table_entry of a direct counter's or meter's entity."""
        if entry_id is None:
            return p4r.TableEntry(table_id=self.spec.id, is_default_action=True)
        return self.encode_id(entry_id)

    def owner_id(self, entry: p4r.TableEntry) -> EntryId | None:
        """Whose counter or meter a write is about; None is the default entry."""
        return None if entry.is_default_action else self.entry_id(entry)

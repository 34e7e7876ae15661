"""What the controller computes for a switch, written straight into an embedded one: no P4Runtime between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from csaud_controller.program.entities import (
    Call,
    CloneSession,
    Digest,
    Entry,
    Group,
    Item,
    Member,
    TableState,
    UseGroup,
)
from csaud_controller.switches.reconcile import Step, plan
from csaud_softswitch._core import Switch

if TYPE_CHECKING:
    from csaud_softswitch._core import Action, ActionCall, MatchField

_NOTHING = TableState()


@dataclass
class Names:
    """The names of one P4 program as switches have them, by the controller's, which leave out the control.

    Made once of any switch that has loaded it, for all that have.
    """

    of_switch: Switch
    _octets: dict[tuple[int, int], bytes] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, tuple[str, list[tuple[str, str, int]]]]:
        """Table -> its full name, and of each key name, match type and bits."""
        return {
            _short(table["name"]): (
                table["name"],
                [(key["name"].rsplit(".")[-1], key["match_type"], key["width"]) for key in table["keys"]],
            )
            for table in self.of_switch.tables()
        }

    @cached_property
    def actions(self) -> dict[str, tuple[str, list[tuple[str, int]]]]:
        """Action -> its full name, and of each parameter name and bits."""
        return {
            _short(action["name"]): (action["name"], action["params"])
            for table in self.of_switch.tables()
            for action in table["actions"]
        }

    @cached_property
    def profiles(self) -> dict[str, str]:
        """Action selector -> its full name."""
        return {_short(profile["name"]): profile["name"] for profile in self.of_switch.profiles()}

    @cached_property
    def counters(self) -> dict[str, str]:
        """Last part of a counter's name -> its full name."""
        return {counter["name"].rsplit(".", 1)[-1]: counter["name"] for counter in self.of_switch.counters()}

    def octets(self, value: int, bits: int) -> bytes:
        """`value` as switches take it; kept, as a fabric has few different ones."""
        found = self._octets.get((value, bits))
        if found is None:
            found = self._octets[value, bits] = value.to_bytes((bits + 7) // 8, "big")
        return found

    def action(self, call: Call) -> ActionCall:
        """The call of an action."""
        name, parameters = self.actions[call.action]
        given = dict(call.args)
        return "action", name, [self.octets(given[parameter], bits) for parameter, bits in parameters]

    def match(self, entry: Entry) -> list[MatchField]:
        """One item a key; None where the entry does not care."""
        given: dict[str, Any] = dict(entry.match)
        return [self._field(given.get(key), kind, bits) for key, kind, bits in self.tables[entry.table][1]]

    def _field(self, value: Any, kind: str, bits: int) -> MatchField:
        if value is None:
            return None
        if kind == "exact":
            return "exact", self.octets(value, bits)
        if kind == "lpm":
            return "lpm", self.octets(value[0], bits), value[1]
        return "ternary", self.octets(value[0], bits), self.octets(value[1], bits)


class SwitchTables:
    """Tables of one embedded switch, and what they hold.

    Args:
        switch: has loaded the program.
        names: of that program.
        watching: members of groups watch their ports, as the controller wants it.
    """

    def __init__(self, switch: Switch, names: Names, watching: bool = True) -> None:
        self._switch, self._names, self._watching = switch, names, watching
        self.holds = _NOTHING

    def become(self, state: TableState) -> None:
        """Hold `state` from now on; what is there already is not touched."""
        if state is not self.holds:
            self._apply(plan(self.holds, state))
            self.holds = state

    def _apply(self, steps: Iterable[Step]) -> None:
        for step in steps:
            for item in step.items:
                self._write(step.verb, item)

    def _write(self, verb: str, item: Item) -> None:
        match item:
            case Entry():
                self._entry(verb, item)
            case Member():
                self._member(verb, item)
            case Group():
                self._group(verb, item)
            case CloneSession():
                self._clone(verb, item)
            case Digest():
                pass  # there is nobody to hear of alarms

    def _entry(self, verb: str, item: Entry) -> None:
        names, switch = self._names, self._switch
        table, match = names.tables[item.table][0], names.match(item)
        if verb == "delete":
            switch.table_delete(table, match, item.priority)
            return
        action: Action = (
            ("group", item.action.group) if isinstance(item.action, UseGroup) else names.action(item.action)
        )
        write = switch.table_insert if verb == "insert" else switch.table_modify
        write(table, match, item.priority, action)

    def _member(self, verb: str, item: Member) -> None:
        profile = self._names.profiles[item.selector]
        if verb == "delete":
            self._switch.member_delete(profile, item.id)
        else:
            write = self._switch.member_insert if verb == "insert" else self._switch.member_modify
            write(profile, item.id, self._names.action(item.action))

    def _group(self, verb: str, item: Group) -> None:
        profile = self._names.profiles[item.selector]
        if verb == "delete":
            self._switch.group_delete(profile, item.id)
        else:
            members = [
                (member.member, member.weight, member.watch_port if self._watching else None)
                for member in item.members
            ]
            write = self._switch.group_insert if verb == "insert" else self._switch.group_modify
            write(profile, item.id, members)

    def _clone(self, verb: str, item: CloneSession) -> None:
        if verb == "delete":
            self._switch.clone_session_delete(item.id)
        else:
            self._switch.clone_session_set(item.id, list(item.replicas), item.length)


def _short(name: str) -> str:
    """Without the control that it belongs to."""
    return name.partition(".")[2]

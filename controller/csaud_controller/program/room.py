"""What the P4 program has room for: entries of each table, bits of each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from csaud_controller.program.entities import Call, Entry, MatchValue, TableState

if TYPE_CHECKING:  # every command imports this module, and finsy takes as long as all the rest of it
    from finsy.p4schema import P4Schema

_WANTED_BY = dict.fromkeys(("edge.sources6", "route.ipv6_lpm"), "IPv6 addresses of hosts")
"""Tables that not every target's program has, and what of a fabric needs them."""

LONGEST = ((1 << 48) - 1) * 1000
"""Nanoseconds: the longest time that the program can measure, microseconds in 48 bits."""


def short(name: str) -> str:
    """`CsaudIngress.route.ipv4_lpm` -> `route.ipv4_lpm`: the first part differs between architectures."""
    head, _, rest = name.partition(".")
    return rest or head


class Room:
    """That of one program."""

    def __init__(self, schema: P4Schema) -> None:
        self._entries = {short(table.name): table.size for table in schema.tables}
        self._fields = {
            short(table.name): {field.alias: field.bitwidth for field in table.match_fields}
            for table in schema.tables
        }
        self._args = {
            short(action.name): {arg.name: arg.bitwidth for arg in action.params} for action in schema.actions
        }
        self._members = {short(profile.name): profile.size for profile in schema.action_profiles}

    def misfits(self, state: TableState) -> Iterator[str]:
        """What of a switch's tables cannot be held, in words."""
        for table, count in Counter(entry.table for entry in state.entries.values()).items():
            if table not in self._entries:
                needed = f", which {_WANTED_BY[table]} need" if table in _WANTED_BY else ""
                yield f"the program has no table {table}{needed}"
            elif count > self._entries[table]:
                yield f"{table} has room for {self._entries[table]} entries, and {count} are needed"
        for entry in state.entries.values():
            yield from self._too_wide(entry)
        # P4Runtime counts what a selector holds by its members' weights
        used = Counter[str]()
        for group in state.groups.values():
            used[group.selector] += sum(member.weight for member in group.members)
        for selector, count in used.items():
            room = self._members.get(selector, 0)
            if room and count > room:
                yield f"{selector} has room for {room} members of groups, and {count} are needed"

    def _too_wide(self, entry: Entry) -> Iterator[str]:
        fields = self._fields.get(entry.table)
        if fields is None:
            return  # that it has no such table is told already
        for name, value in entry.match:
            if name not in fields:
                yield f"{entry.table} has no field for {name}; it has {', '.join(fields)}"
            elif _largest(value) >> fields[name]:
                yield f"{entry}: {name} takes values below 2^{fields[name]}"
        if isinstance(entry.action, Call):
            widths = self._args.get(entry.action.action)
            if widths is None:
                yield f"the program has no action {entry.action.action}"
                return
            for name, number in entry.action.args:
                if name not in widths:
                    yield f"{entry.action.action} takes no {name}; it takes {', '.join(widths) or 'nothing'}"
                elif number >> widths[name]:
                    yield f"{entry}: {name} takes values below 2^{widths[name]}, got {number}"


def _largest(value: MatchValue) -> int:
    return value if isinstance(value, int) else value[0]

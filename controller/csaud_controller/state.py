"""What a switch holds, as plain values: comparable, printable, free of P4Runtime's encoding and ids.

Names are those of the P4 program without its pipeline's own: `route.ipv4_lpm`, `spray.forward`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Any

MatchValue = int | tuple[int, int]
"""Exact: the value. LPM: (value, prefix length). Ternary: (value, mask)."""


@dataclass(frozen=True, order=True)
class Call:
    """An action with its arguments, by name and sorted."""

    action: str
    args: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={value}' for name, value in self.args)})"


def call(action: str, **args: int) -> Call:
    """call("route.set_group", group=3)."""
    return Call(action, tuple(sorted(args.items())))


@dataclass(frozen=True, order=True)
class UseGroup:
    """The action of an indirect table: one of this group's members."""

    group: int

    def __str__(self) -> str:
        return f"group {self.group}"


@dataclass(frozen=True)
class Entry:
    """One table entry; `match` holds the fields that matter, sorted by name (others are "don't care")."""

    table: str
    match: tuple[tuple[str, MatchValue], ...]
    priority: int
    action: Call | UseGroup

    @property
    def key(self) -> EntryKey:
        return self.table, self.match, self.priority

    def __str__(self) -> str:
        fields = " ".join(f"{name}={_show(name, value)}" for name, value in self.match)
        priority = f" priority {self.priority}" if self.priority else ""
        return f"{self.table}[{fields}]{priority} -> {self.action}"


EntryKey = tuple[str, tuple[tuple[str, MatchValue], ...], int]


def entry(table: str, match: Mapping[str, MatchValue], action: Call | UseGroup, priority: int = 0) -> Entry:
    """An Entry from a mapping of its match fields."""
    return Entry(table, tuple(sorted(match.items())), priority, action)


@dataclass(frozen=True)
class Member:
    """A member of the action selector."""

    id: int
    action: Call

    def __str__(self) -> str:
        return f"member {self.id} -> {self.action}"


@dataclass(frozen=True, order=True)
class GroupMember:
    """One member within a group; the target skips it while `watch_port` is down."""

    member: int
    weight: int = 1
    watch_port: int | None = None


@dataclass(frozen=True)
class Group:
    """A group of the action selector; its members are kept in the order in which an index counts them."""

    id: int
    members: tuple[GroupMember, ...]

    def __str__(self) -> str:
        return f"group {self.id} = {[m.member for m in self.members]}"


@dataclass(frozen=True)
class TableState:
    """Everything that one switch holds, or should hold."""

    entries: Mapping[EntryKey, Entry] = field(default_factory=dict)
    members: Mapping[int, Member] = field(default_factory=dict)
    groups: Mapping[int, Group] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entries) + len(self.members) + len(self.groups)


def table_state(items: Iterable[Entry | Member | Group]) -> TableState:
    """A TableState of these items; ValueError when two of them have the same key or id."""
    entries: dict[EntryKey, Entry] = {}
    members: dict[int, Member] = {}
    groups: dict[int, Group] = {}
    for item in items:
        if isinstance(item, Entry):
            _add(entries, item.key, item)
        elif isinstance(item, Member):
            _add(members, item.id, item)
        else:
            _add(groups, item.id, item)
    return TableState(entries, members, groups)


def _add(held: dict[Any, Any], key: object, item: object) -> None:
    if key in held:
        raise ValueError(f"given twice: {held[key]} and {item}")
    held[key] = item


def _show(name: str, value: MatchValue) -> str:
    if isinstance(value, int):
        return str(value)
    return str(IPv4Network(value)) if name == "dst" else f"{value[0]:#x}/{value[1]:#x}"

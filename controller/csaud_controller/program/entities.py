"""What a switch holds, as plain values: comparable, printable, free of P4Runtime's encoding and ids.

Names are those of the P4 program without its pipeline's own: `route.ipv4_lpm`, `spray.forward`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Any

_OVER_IPV6 = ("route.ipv6_lpm", "edge.sources6")
"""Tables whose addresses are IPv6's."""

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
        fields = " ".join(f"{name}={_show(self.table, name, value)}" for name, value in self.match)
        priority = f" priority {self.priority}" if self.priority else ""
        return f"{self.table}[{fields}]{priority} -> {self.action}"


EntryKey = tuple[str, tuple[tuple[str, MatchValue], ...], int]


def entry(table: str, match: Mapping[str, MatchValue], action: Call | UseGroup, priority: int = 0) -> Entry:
    """An Entry from a mapping of its match fields."""
    return Entry(table, tuple(sorted(match.items())), priority, action)


FIRST_CHOICE = "spray.path_selector"
"""The action selector of `spray.paths`."""
SECOND_CHOICE = "spray.second_selector"
"""The same once more, for `spray.alternative`."""


@dataclass(frozen=True)
class Member:
    """A member of an action selector."""

    id: int
    action: Call
    selector: str = FIRST_CHOICE

    @property
    def key(self) -> SelectorKey:
        return self.selector, self.id

    def __str__(self) -> str:
        return f"member {self.id} of {self.selector} -> {self.action}"


@dataclass(frozen=True, order=True)
class GroupMember:
    """One member within a group; the target skips it while `watch_port` is down."""

    member: int
    weight: int = 1
    watch_port: int | None = None


@dataclass(frozen=True)
class Group:
    """A group of an action selector; its members are kept in the order in which an index counts them."""

    id: int
    members: tuple[GroupMember, ...]
    selector: str = FIRST_CHOICE

    @property
    def key(self) -> SelectorKey:
        return self.selector, self.id

    def __str__(self) -> str:
        return f"group {self.id} of {self.selector} = {[m.member for m in self.members]}"


SelectorKey = tuple[str, int]
"""Of a member or group: its selector and its id there."""


@dataclass(frozen=True)
class CloneSession:
    """Where clones made in its name go."""

    id: int
    replicas: tuple[tuple[int, int], ...]
    """Port and instance of each."""
    queue: int = 0
    """P4Runtime's class of service."""
    length: int = 0
    """Bytes that clones are cut to; 0: whole."""

    @property
    def key(self) -> int:
        return self.id

    def __str__(self) -> str:
        return f"clone session {self.id} -> ports {[port for port, _ in self.replicas]}"


@dataclass(frozen=True)
class Digest:
    """How a switch sends the digests of one kind: `list_size` of them in a message, or those that came within
    `timeout_ns`."""

    name: str
    list_size: int
    timeout_ns: int

    @property
    def key(self) -> str:
        return self.name

    def __str__(self) -> str:
        return f"digest {self.name}"


Item = Entry | Member | Group | CloneSession | Digest


@dataclass(frozen=True)
class TableState:
    """Everything that one switch holds, or should hold."""

    entries: Mapping[EntryKey, Entry] = field(default_factory=dict)
    members: Mapping[SelectorKey, Member] = field(default_factory=dict)
    groups: Mapping[SelectorKey, Group] = field(default_factory=dict)
    clones: Mapping[int, CloneSession] = field(default_factory=dict)
    digests: Mapping[str, Digest] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entries) + len(self.members) + len(self.groups)

    def own(self, item: Item) -> Item:
        """The item of this state that equals it, or else it: same objects are compared at once."""
        ours: Item | None = self.items_like(item).get(item.key)
        return ours if ours is not None and ours == item else item

    def items_like(self, item: Item) -> Mapping[Any, Any]:
        """By key, all of its kind."""
        match item:
            case Entry():
                return self.entries
            case Member():
                return self.members
            case Group():
                return self.groups
            case CloneSession():
                return self.clones
            case Digest():
                return self.digests


def table_state(items: Iterable[Item]) -> TableState:
    """A TableState of these items; ValueError when two of them have the same key or id."""
    state = TableState()
    for item in items:
        add(state, item)
    return state


def add(state: TableState, item: Item) -> None:
    """One more item of a state that is being made; ValueError when it has another one of this key or id."""
    held, key = state.items_like(item), item.key
    assert isinstance(held, dict)
    if key in held:
        raise ValueError(f"given twice: {held[key]} and {item}")
    held[key] = item


def _show(table: str, name: str, value: MatchValue) -> str:
    if isinstance(value, int):
        return str(value)
    if name in ("dst", "src"):
        return str(IPv6Network(value) if table in _OVER_IPV6 else IPv4Network(value))
    return f"{value[0]:#x}/{value[1]:#x}"

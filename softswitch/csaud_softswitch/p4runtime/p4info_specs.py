"""What a program has, in the form in which the server asks for it: P4Info's objects, checked and indexed.

Source: p4info.proto and the P4Runtime specification 1.4, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from csaud_softswitch.p4runtime.p4data import Shape

MatchType = Literal["exact", "lpm", "ternary", "range", "optional"]
Scope = Literal["any", "table_only", "default_only"]


@dataclass(frozen=True)
class FieldSpec:
    """A match field, an action parameter or a field of a controller packet header.

    width: bits of what controllers write; of a translated type (@p4runtime_translation), no more than the
    program has. size: bytes in which the native core has it.
    """

    id: int
    name: str
    width: int
    match_type: MatchType = "exact"
    padding: bool = False
    translated: bool = False
    core_width: int = 0
    """Bits that the program has, where these are others than P4Info's."""

    @property
    def size(self) -> int:
        return ((self.core_width or self.width) + 7) // 8


@dataclass(frozen=True)
class ActionSpec:
    id: int
    name: str
    params: tuple[FieldSpec, ...]


@dataclass(frozen=True)
class TableSpec:
    id: int
    name: str
    fields: tuple[FieldSpec, ...]
    actions: dict[int, Scope]
    size: int
    const_default: bool
    const_entries: bool
    profile_id: int
    direct_counter_id: int
    direct_meter_id: int
    idle_timeout: bool

    @property
    def has_priority(self) -> bool:
        """Entries of a table with a ternary, range or optional key are told apart by a priority as well."""
        return any(f.match_type in ("ternary", "range", "optional") for f in self.fields)


@dataclass(frozen=True)
class ProfileSpec:
    """max_group_size 0: not limited. `sum_of_members`: it counts members, not their weights, and each
    weight is at most max_member_weight (0: not limited).
    """

    id: int
    name: str
    with_selector: bool
    size: int
    max_group_size: int
    sum_of_members: bool
    max_member_weight: int
    table_ids: tuple[int, ...]
    action_ids: frozenset[int]


@dataclass(frozen=True)
class CounterSpec:
    """An indirect counter (size entries) or a direct one (table_id says of which table)."""

    id: int
    name: str
    packets: bool
    octets: bool
    size: int = 0
    table_id: int = 0


@dataclass(frozen=True)
class MeterSpec:
    """An indirect meter (size entries) or a direct one (table_id says of which table)."""

    id: int
    name: str
    colors: Literal["two rates, three colors", "one rate, three colors", "one rate, two colors"]
    size: int = 0
    table_id: int = 0


@dataclass(frozen=True)
class RegisterSpec:
    id: int
    name: str
    shape: Shape
    size: int


@dataclass(frozen=True)
class DigestSpec:
    id: int
    name: str
    shape: Shape


@dataclass(frozen=True)
class ValueSetSpec:
    """size 0: not limited."""

    id: int
    name: str
    fields: tuple[FieldSpec, ...]
    size: int


@dataclass(frozen=True)
class P4InfoIndex:
    tables: dict[int, TableSpec]
    actions: dict[int, ActionSpec]
    action_ids: dict[str, int]
    profiles: dict[int, ProfileSpec]
    counters: dict[int, CounterSpec]
    direct_counters: dict[int, CounterSpec]
    meters: dict[int, MeterSpec] = field(default_factory=dict)
    direct_meters: dict[int, MeterSpec] = field(default_factory=dict)
    registers: dict[int, RegisterSpec] = field(default_factory=dict)
    digests: dict[int, DigestSpec] = field(default_factory=dict)
    value_sets: dict[int, ValueSetSpec] = field(default_factory=dict)
    packet_in: tuple[FieldSpec, ...] = ()
    packet_out: tuple[FieldSpec, ...] = ()
    known_ids: dict[int, str] = field(default_factory=dict)

    def describe(self, object_id: int) -> str:
        """For error messages: the object's name when P4Info knows the id."""
        name = self.known_ids.get(object_id)
        return f"{object_id:#010x}" if name is None else f"{object_id:#010x} ({name})"

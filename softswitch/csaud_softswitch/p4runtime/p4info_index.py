"""A P4Info, indexed by id: what a program has, in the form the rest of the server asks for it.

Built once per pipeline. Anything that P4Runtime allows and this server does not support is refused here,
with a message that names the object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from csaud_softswitch.p4runtime.errors import invalid, unimplemented
from csaud_softswitch.p4runtime.proto import p4i

MatchType = Literal["exact", "lpm", "ternary", "range", "optional"]
Scope = Literal["any", "table_only", "default_only"]

_MATCH_TYPES: dict[int, MatchType] = {
    p4i.MatchField.EXACT: "exact",
    p4i.MatchField.LPM: "lpm",
    p4i.MatchField.TERNARY: "ternary",
    p4i.MatchField.RANGE: "range",
    p4i.MatchField.OPTIONAL: "optional",
}
_SCOPES: dict[int, Scope] = {
    p4i.ActionRef.TABLE_AND_DEFAULT: "any",
    p4i.ActionRef.TABLE_ONLY: "table_only",
    p4i.ActionRef.DEFAULT_ONLY: "default_only",
}


@dataclass(frozen=True)
class FieldSpec:
    """A match field, an action parameter or a field of a controller packet header; width in bits."""

    id: int
    name: str
    width: int
    match_type: MatchType = "exact"
    padding: bool = False


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
    idle_timeout: bool

    @property
    def has_priority(self) -> bool:
        """Entries of a table with a ternary, range or optional key are told apart by a priority as well."""
        return any(f.match_type in ("ternary", "range", "optional") for f in self.fields)


@dataclass(frozen=True)
class ProfileSpec:
    id: int
    name: str
    with_selector: bool
    size: int
    max_group_size: int
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
class P4InfoIndex:
    tables: dict[int, TableSpec]
    actions: dict[int, ActionSpec]
    action_ids: dict[str, int]
    profiles: dict[int, ProfileSpec]
    counters: dict[int, CounterSpec]
    direct_counters: dict[int, CounterSpec]
    packet_in: tuple[FieldSpec, ...] = ()
    packet_out: tuple[FieldSpec, ...] = ()
    known_ids: dict[int, str] = field(default_factory=dict)

    def describe(self, object_id: int) -> str:
        """For error messages: the object's name when P4Info knows the id."""
        name = self.known_ids.get(object_id)
        return f"{object_id:#010x}" if name is None else f"{object_id:#010x} ({name})"


def build_index(info: p4i.P4Info) -> P4InfoIndex:
    """Index a P4Info. INVALID_ARGUMENT when it contradicts itself, UNIMPLEMENTED for what is not
    supported.
    """
    known = _known_ids(info)
    actions = {a.preamble.id: _action(a) for a in info.actions}
    direct_counters = {
        c.preamble.id: _counter(c.preamble, c.spec, table_id=c.direct_table_id) for c in info.direct_counters
    }
    profile_ids = {p.preamble.id for p in info.action_profiles}
    tables = {t.preamble.id: _table(t, actions, direct_counters, profile_ids) for t in info.tables}
    headers = {h.preamble.name: _packet_header(h) for h in info.controller_packet_metadata}
    return P4InfoIndex(
        tables=tables,
        actions=actions,
        action_ids={a.name: a.id for a in actions.values()},
        profiles={p.preamble.id: _profile(p, tables) for p in info.action_profiles},
        counters={c.preamble.id: _counter(c.preamble, c.spec, size=c.size) for c in info.counters},
        direct_counters=direct_counters,
        packet_in=headers.get("packet_in", ()),
        packet_out=headers.get("packet_out", ()),
        known_ids=known,
    )


def _known_ids(info: p4i.P4Info) -> dict[int, str]:
    known: dict[int, str] = {}
    sections: tuple[Iterable[object], ...] = (
        info.tables,
        info.actions,
        info.action_profiles,
        info.counters,
        info.direct_counters,
        info.meters,
        info.direct_meters,
        info.controller_packet_metadata,
        info.value_sets,
        info.registers,
        info.digests,
    )
    for section in sections:
        for item in section:
            preamble: p4i.Preamble = item.preamble  # type: ignore[attr-defined]
            if preamble.id == 0 or preamble.id in known:
                other = known.get(preamble.id, "no object")
                raise invalid(f"P4Info: {preamble.name} has id {preamble.id:#x}, which is that of {other}")
            known[preamble.id] = preamble.name
    return known


def _field(id: int, name: str, width: int, type_name: str, where: str) -> tuple[int, str, int]:
    if width <= 0:
        kind = f" (type {type_name})" if type_name else ""
        raise unimplemented(f"P4Info: {where}.{name}{kind} has no bit width: only bit<N> is supported")
    return id, name, width


def _action(action: p4i.Action) -> ActionSpec:
    where = action.preamble.name
    params = tuple(
        FieldSpec(*_field(p.id, p.name, p.bitwidth, p.type_name.name, where))
        for p in sorted(action.params, key=lambda p: p.id)
    )
    return ActionSpec(action.preamble.id, where, params)


def _table(
    table: p4i.Table,
    actions: dict[int, ActionSpec],
    direct_counters: dict[int, CounterSpec],
    profile_ids: set[int],
) -> TableSpec:
    where = table.preamble.name
    fields = []
    for match in sorted(table.match_fields, key=lambda m: m.id):
        if match.match_type not in _MATCH_TYPES:
            kind = match.other_match_type or "unspecified"
            raise unimplemented(f"P4Info: {where}: match type {kind!r} of {match.name} is not supported")
        base = _field(match.id, match.name, match.bitwidth, match.type_name.name, where)
        fields.append(FieldSpec(*base, match_type=_MATCH_TYPES[match.match_type]))
    for ref in table.action_refs:
        if ref.id not in actions:
            raise invalid(f"P4Info: {where} refers to action {ref.id:#x}, which does not exist")
    if table.implementation_id and table.implementation_id not in profile_ids:
        raise invalid(
            f"P4Info: {where} refers to action profile {table.implementation_id:#x}, which does not exist"
        )
    return TableSpec(
        id=table.preamble.id,
        name=where,
        fields=tuple(fields),
        actions={ref.id: _SCOPES.get(ref.scope, "any") for ref in table.action_refs},
        size=table.size,
        const_default=table.const_default_action_id != 0,
        const_entries=table.is_const_table,
        profile_id=table.implementation_id,
        direct_counter_id=next((i for i in table.direct_resource_ids if i in direct_counters), 0),
        idle_timeout=table.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
    )


def _profile(profile: p4i.ActionProfile, tables: dict[int, TableSpec]) -> ProfileSpec:
    where = profile.preamble.name
    for table_id in profile.table_ids:
        if table_id not in tables:
            raise invalid(f"P4Info: {where} refers to table {table_id:#x}, which does not exist")
    allowed = {
        action_id
        for table_id in profile.table_ids
        for action_id, scope in tables[table_id].actions.items()
        if scope != "default_only"
    }
    return ProfileSpec(
        id=profile.preamble.id,
        name=where,
        with_selector=profile.with_selector,
        size=profile.size,
        max_group_size=profile.max_group_size,
        table_ids=tuple(profile.table_ids),
        action_ids=frozenset(allowed),
    )


def _counter(
    preamble: p4i.Preamble, spec: p4i.CounterSpec, *, size: int = 0, table_id: int = 0
) -> CounterSpec:
    unit = spec.unit
    return CounterSpec(
        id=preamble.id,
        name=preamble.name,
        packets=unit in (p4i.CounterSpec.PACKETS, p4i.CounterSpec.BOTH),
        octets=unit in (p4i.CounterSpec.BYTES, p4i.CounterSpec.BOTH),
        size=size,
        table_id=table_id,
    )


def _packet_header(header: p4i.ControllerPacketMetadata) -> tuple[FieldSpec, ...]:
    where = header.preamble.name
    fields = tuple(
        FieldSpec(
            *_field(m.id, m.name, m.bitwidth, m.type_name.name, where),
            padding=any(a.split("(")[0].strip() == "@padding" for a in m.annotations),
        )
        for m in header.metadata
    )
    if sum(f.width for f in fields) % 8:
        raise invalid(f"P4Info: header {where} is not a whole number of bytes")
    return fields

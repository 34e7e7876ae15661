"""A P4Info, indexed by id: what a program has, in the form the rest of the server asks for it.

Built once per pipeline. Anything that P4Runtime allows and this server does not support is refused here,
with a message that names the object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from csaud_softswitch.p4runtime.errors import invalid, unimplemented
from csaud_softswitch.p4runtime.p4data import shape_of
from csaud_softswitch.p4runtime.p4info_specs import (
    ActionSpec,
    CounterSpec,
    DigestSpec,
    FieldSpec,
    MatchType,
    MeterSpec,
    P4InfoIndex,
    ProfileSpec,
    RegisterSpec,
    Scope,
    TableSpec,
    ValueSetSpec,
)
from csaud_softswitch.p4runtime.proto import p4i, p4t

__all__ = ["FieldSpec", "P4InfoIndex", "TableSpec", "build_index"]

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
_COLORS = {
    p4i.MeterSpec.SINGLE_RATE_THREE_COLOR: "one rate, three colors",
    p4i.MeterSpec.SINGLE_RATE_TWO_COLOR: "one rate, two colors",
}
_KEPT_INDEXES = 8
"""Programs whose index is kept: the switches of one process mostly run the same few."""


def build_index(info: p4i.P4Info) -> P4InfoIndex:
    """Index a P4Info. INVALID_ARGUMENT when it contradicts itself, UNIMPLEMENTED for what is not
    supported.
    """
    return _build_index(info.SerializeToString(deterministic=True))


@functools.lru_cache(maxsize=_KEPT_INDEXES)
def _build_index(serialized: bytes) -> P4InfoIndex:
    info = p4i.P4Info.FromString(serialized)
    known = _known_ids(info)
    types = info.type_info
    actions = {a.preamble.id: _action(a, types) for a in info.actions}
    direct_counters = {
        c.preamble.id: _counter(c.preamble, c.spec, table_id=c.direct_table_id) for c in info.direct_counters
    }
    direct_meters = {m.preamble.id: _meter(m, table_id=m.direct_table_id) for m in info.direct_meters}
    profile_ids = {p.preamble.id for p in info.action_profiles}
    tables = {
        t.preamble.id: _table(t, actions, direct_counters, direct_meters, profile_ids, types)
        for t in info.tables
    }
    headers = {h.preamble.name: _packet_header(h, types) for h in info.controller_packet_metadata}
    return P4InfoIndex(
        tables=tables,
        actions=actions,
        action_ids={a.name: a.id for a in actions.values()},
        profiles={p.preamble.id: _profile(p, tables) for p in info.action_profiles},
        counters={c.preamble.id: _counter(c.preamble, c.spec, size=c.size) for c in info.counters},
        direct_counters=direct_counters,
        meters={m.preamble.id: _meter(m, size=m.size) for m in info.meters},
        direct_meters=direct_meters,
        registers={
            r.preamble.id: RegisterSpec(
                r.preamble.id,
                r.preamble.name,
                shape_of(r.type_spec, info.type_info, r.preamble.name),
                r.size,
            )
            for r in info.registers
        },
        digests={
            d.preamble.id: DigestSpec(
                d.preamble.id, d.preamble.name, shape_of(d.type_spec, info.type_info, d.preamble.name)
            )
            for d in info.digests
        },
        value_sets={v.preamble.id: _value_set(v, types) for v in info.value_sets},
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


def _field(
    found: p4i.MatchField | p4i.Action.Param | p4i.ControllerPacketMetadata.Metadata,
    types: p4t.P4TypeInfo,
    where: str,
    *,
    match_type: MatchType = "exact",
    padding: bool = False,
) -> FieldSpec:
    type_name = found.type_name.name
    if found.bitwidth <= 0:
        kind = f" (type {type_name})" if type_name else ""
        raise unimplemented(f"P4Info: {where}.{found.name}{kind} has no bit width: only bit<N> is supported")
    translated = type_name in types.new_types and types.new_types[type_name].HasField("translated_type")
    return FieldSpec(found.id, found.name, found.bitwidth, match_type, padding, translated)


def _action(action: p4i.Action, types: p4t.P4TypeInfo) -> ActionSpec:
    where = action.preamble.name
    params = tuple(_field(p, types, where) for p in sorted(action.params, key=lambda p: p.id))
    return ActionSpec(action.preamble.id, where, params)


def _table(
    table: p4i.Table,
    actions: dict[int, ActionSpec],
    direct_counters: dict[int, CounterSpec],
    direct_meters: dict[int, MeterSpec],
    profile_ids: set[int],
    types: p4t.P4TypeInfo,
) -> TableSpec:
    where = table.preamble.name
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
        fields=_match_fields(table.match_fields, types, where),
        actions={ref.id: _SCOPES.get(ref.scope, "any") for ref in table.action_refs},
        size=table.size,
        const_default=table.const_default_action_id != 0,
        const_entries=table.is_const_table,
        profile_id=table.implementation_id,
        direct_counter_id=next((i for i in table.direct_resource_ids if i in direct_counters), 0),
        direct_meter_id=next((i for i in table.direct_resource_ids if i in direct_meters), 0),
        idle_timeout=table.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
    )


def _match_fields(
    matches: Iterable[p4i.MatchField], types: p4t.P4TypeInfo, where: str
) -> tuple[FieldSpec, ...]:
    fields = []
    for match in sorted(matches, key=lambda m: m.id):
        if match.match_type not in _MATCH_TYPES:
            kind = match.other_match_type or "unspecified"
            raise unimplemented(f"P4Info: {where}: match type {kind!r} of {match.name} is not supported")
        fields.append(_field(match, types, where, match_type=_MATCH_TYPES[match.match_type]))
    return tuple(fields)


def _value_set(value_set: p4i.ValueSet, types: p4t.P4TypeInfo) -> ValueSetSpec:
    where = value_set.preamble.name
    fields = _match_fields(value_set.match, types, where)
    for spec in fields:
        if spec.match_type != "exact":
            raise unimplemented(f"P4Info: {where}: members of match type {spec.match_type}, expected exact")
    return ValueSetSpec(value_set.preamble.id, where, fields, value_set.size)


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
        sum_of_members=profile.HasField("sum_of_members"),
        max_member_weight=profile.sum_of_members.max_member_weight,
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


def _meter(meter: p4i.Meter | p4i.DirectMeter, *, size: int = 0, table_id: int = 0) -> MeterSpec:
    colors: Any = _COLORS.get(meter.spec.type, "two rates, three colors")
    return MeterSpec(meter.preamble.id, meter.preamble.name, colors, size, table_id)


def _packet_header(header: p4i.ControllerPacketMetadata, types: p4t.P4TypeInfo) -> tuple[FieldSpec, ...]:
    where = header.preamble.name
    fields = tuple(
        _field(m, types, where, padding=any(a.split("(")[0].strip() == "@padding" for a in m.annotations))
        for m in header.metadata
    )
    if sum(f.width for f in fields) % 8:
        raise invalid(f"P4Info: header {where} is not a whole number of bytes")
    return fields

"""Match keys: p4.v1.FieldMatch <-> the native core's tuples.

Source: P4Runtime specification 1.4, section 9.1.1. "Don't care" is a field that is left out; writing it as
a mask of zeros, a prefix of length 0 or the full range is refused, and so are bits outside a mask or
prefix.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from csaud_softswitch.p4runtime.bytestring import canonical, padded, to_int
from csaud_softswitch.p4runtime.errors import invalid
from csaud_softswitch.p4runtime.p4info_specs import FieldSpec, TableSpec
from csaud_softswitch.p4runtime.proto import p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import MatchField  # exist in the stub only

Key: TypeAlias = "tuple[MatchField, ...]"
"""One item per match field, in P4Info's order; values padded to ceil(width / 8) bytes."""


def decode_key(table: TableSpec, matches: Iterable[p4r.FieldMatch]) -> Key:
    """The key of a table entry. Exact fields must all be there, the others may be left out."""
    return decode_fields(table.name, table.fields, matches)


def decode_fields(name: str, fields: tuple[FieldSpec, ...], matches: Iterable[p4r.FieldMatch]) -> Key:
    """A key of these fields; `name` says whose it is in errors."""
    given: dict[int, p4r.FieldMatch] = {}
    for match in matches:
        if match.field_id in given:
            raise invalid(f"{name}: match field {match.field_id} is given twice")
        given[match.field_id] = match
    key = tuple(_decode(name, spec, given.pop(spec.id, None)) for spec in fields)
    for unknown in given:
        expected = ", ".join(f"{spec.id} {spec.name}" for spec in fields) or "none"
        raise invalid(f"{name} has no match field {unknown}; it has {expected}")
    return key


def encode_key(table: TableSpec, key: Iterable[MatchField]) -> list[p4r.FieldMatch]:
    """The canonical FieldMatch list of a key; don't care fields are left out."""
    return [_encode(spec, item) for spec, item in zip(table.fields, key, strict=True) if item is not None]


def _decode(name: str, spec: FieldSpec, match: p4r.FieldMatch | None) -> MatchField:
    if match is None:
        if spec.match_type == "exact":
            raise invalid(f"{name}.{spec.name}: an exact match field must be given")
        return None
    where = f"{name}.{spec.name}"
    kind = match.WhichOneof("field_match_type")
    if kind != spec.match_type:
        raise invalid(f"{where}: expected a match of type {spec.match_type}, got {kind or 'none'}")
    width = spec.width
    if kind == "exact":
        return ("exact", padded(match.exact.value, width, where, spec.size))
    if kind == "optional":
        return ("optional", padded(match.optional.value, width, where, spec.size))
    if kind == "lpm":
        length = match.lpm.prefix_len
        if not 1 <= length <= width:
            raise invalid(
                f"{where}: prefix length {length}, expected 1 to {width} (leave a don't care field out)"
            )
        value = to_int(match.lpm.value, width, where)
        if value & ((1 << (width - length)) - 1):
            raise invalid(f"{where}: {value:#x} has bits set beyond its prefix of {length} bits")
        return ("lpm", value.to_bytes((width + 7) // 8, "big"), length)
    if kind == "ternary":
        value = to_int(match.ternary.value, width, where)
        mask = to_int(match.ternary.mask, width, where)
        if mask == 0:
            raise invalid(f"{where}: a mask of zeros; leave a don't care field out")
        if value & ~mask:
            raise invalid(f"{where}: value {value:#x} has bits set outside its mask {mask:#x}")
        size = (width + 7) // 8
        return ("ternary", value.to_bytes(size, "big"), mask.to_bytes(size, "big"))
    low = to_int(match.range.low, width, where)
    high = to_int(match.range.high, width, where)
    if low > high:
        raise invalid(f"{where}: range from {low:#x} down to {high:#x}, expected low <= high")
    if low == 0 and high == (1 << width) - 1:
        raise invalid(f"{where}: the full range; leave a don't care field out")
    size = (width + 7) // 8
    return ("range", low.to_bytes(size, "big"), high.to_bytes(size, "big"))


def _encode(spec: FieldSpec, item: MatchField) -> p4r.FieldMatch:
    match = p4r.FieldMatch(field_id=spec.id)
    if item is None:
        raise AssertionError("don't care fields are left out")
    if item[0] == "exact":
        match.exact.value = canonical(item[1])
    elif item[0] == "optional":
        match.optional.value = canonical(item[1])
    elif item[0] == "lpm":
        match.lpm.value, match.lpm.prefix_len = canonical(item[1]), item[2]
    elif item[0] == "ternary":
        match.ternary.value, match.ternary.mask = canonical(item[1]), canonical(item[2])
    else:
        match.range.low, match.range.high = canonical(item[1]), canonical(item[2])
    return match

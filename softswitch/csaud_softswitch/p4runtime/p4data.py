"""Values of P4 types: p4.v1.P4Data <-> the native core's bytes, one bytes object for each plain member.

Source: P4Runtime specification 1.4, sections 8.3 (signed numbers) and 8.4. What a digest or a register can
have is supported: bit, int, bool, enums, errors, and structs and tuples of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from csaud_softswitch.p4runtime.bytestring import canonical, padded
from csaud_softswitch.p4runtime.errors import invalid, out_of_range, unimplemented
from csaud_softswitch.p4runtime.proto import p4d, p4t

_T = TypeVar("_T")
_MAX_DEPTH = 16
"""Of types within types: a P4Info can name a type that contains itself."""

NAMED_WIDTH = 32
"""Bits in which BMv2 has enums and errors without an underlying type."""


@dataclass(frozen=True)
class Leaf:
    """One number of so many bits; `names` are those of an enum's or error's members, in order."""

    kind: Literal["bit", "int", "bool", "enum", "error", "enum_value"]
    width: int
    names: tuple[str, ...] = ()
    translated: bool = False
    """By @p4runtime_translation: the width may be another than the program's."""


@dataclass(frozen=True)
class Group:
    kind: Literal["struct", "tuple"]
    members: tuple[Shape, ...]


Shape: TypeAlias = "Leaf | Group"


def shape_of(spec: p4t.P4DataTypeSpec, types: p4t.P4TypeInfo, where: str, depth: int = 0) -> Shape:
    """What values of a type look like. UNIMPLEMENTED for types that no digest or register of BMv2 has."""
    kind = spec.WhichOneof("type_spec")
    if depth > _MAX_DEPTH:
        raise invalid(f"P4Info: {where}: types nested more than {_MAX_DEPTH} deep")
    if kind == "bitstring":
        return _bitstring(spec.bitstring, where)
    if kind == "bool":
        return Leaf("bool", 1)
    if kind == "tuple":
        return Group("tuple", tuple(shape_of(m, types, where, depth + 1) for m in spec.tuple.members))
    if kind == "struct":
        found = _named(types.structs, spec.struct.name, where)
        return Group("struct", tuple(shape_of(m.type_spec, types, where, depth + 1) for m in found.members))
    if kind == "enum":
        members = _named(types.enums, spec.enum.name, where).members
        return Leaf("enum", NAMED_WIDTH, tuple(m.name for m in members))
    if kind == "error":
        return Leaf("error", NAMED_WIDTH, tuple(types.error.members))
    if kind == "serializable_enum":
        enum = _named(types.serializable_enums, spec.serializable_enum.name, where)
        return Leaf("enum_value", enum.underlying_type.bitwidth)
    if kind == "new_type":
        return _new_type(_named(types.new_types, spec.new_type.name, where), types, where, depth)
    raise unimplemented(f"P4Info: {where}: values of type {kind or 'none'} are not supported")


def _new_type(spec: p4t.P4NewTypeSpec, types: p4t.P4TypeInfo, where: str, depth: int) -> Shape:
    if spec.WhichOneof("representation") == "original_type":
        return shape_of(spec.original_type, types, where, depth + 1)
    if spec.translated_type.WhichOneof("sdn_type") == "sdn_bitwidth":
        return Leaf("bit", spec.translated_type.sdn_bitwidth, translated=True)
    raise unimplemented(f"P4Info: {where}: types that are translated to strings are not supported")


def _bitstring(spec: p4t.P4BitstringLikeTypeSpec, where: str) -> Leaf:
    kind = spec.WhichOneof("type_spec")
    if kind == "bit":
        return Leaf("bit", spec.bit.bitwidth)
    if kind == "int":
        return Leaf("int", spec.int.bitwidth)
    raise unimplemented(f"P4Info: {where}: values of type {kind or 'none'} are not supported")


def _named(types: Mapping[str, _T], name: str, where: str) -> _T:
    if name not in types:
        raise invalid(f"P4Info: {where} has type {name!r}, which is not among its types")
    return types[name]


def leaves(shape: Shape) -> Iterator[Leaf]:
    """The plain members of a type, in order."""
    if isinstance(shape, Leaf):
        yield shape
    else:
        for member in shape.members:
            yield from leaves(member)


def encode_data(shape: Shape, values: Iterator[bytes]) -> p4d.P4Data:
    """The canonical P4Data of a value; takes one bytes object from `values` for each plain member."""
    data = p4d.P4Data()
    if isinstance(shape, Leaf):
        _encode_leaf(shape, next(values), data)
        return data
    members = data.struct if shape.kind == "struct" else data.tuple
    members.SetInParent()
    for member in shape.members:
        members.members.append(encode_data(member, values))
    return data


def _encode_leaf(leaf: Leaf, value: bytes, data: p4d.P4Data) -> None:
    number = int.from_bytes(value, "big")
    if leaf.kind == "bit":
        data.bitstring = canonical(value)
    elif leaf.kind == "int":
        data.bitstring = _signed_bytes(number - (1 << leaf.width) if number >> (leaf.width - 1) else number)
    elif leaf.kind == "bool":
        data.bool = number != 0
    elif leaf.kind == "enum_value":
        data.enum_value = canonical(value)
    else:
        name = leaf.names[number] if number < len(leaf.names) else str(number)
        if leaf.kind == "enum":
            data.enum = name
        else:
            data.error = name


def decode_data(shape: Shape, data: p4d.P4Data, where: str) -> list[bytes]:
    """The plain members of a value, each as ceil(width / 8) bytes. INVALID_ARGUMENT for another type's."""
    kind = data.WhichOneof("data")
    if isinstance(shape, Group):
        if kind != shape.kind:
            raise invalid(f"{where}: expected a {shape.kind}, got {kind or 'nothing'}")
        given = (data.struct if kind == "struct" else data.tuple).members
        if len(given) != len(shape.members):
            raise invalid(f"{where}: {len(given)} members, expected {len(shape.members)}")
        pairs = zip(shape.members, given, strict=True)
        return [value for member, item in pairs for value in decode_data(member, item, where)]
    expected = "bitstring" if shape.kind in ("bit", "int") else shape.kind
    if kind != expected:
        raise invalid(f"{where}: expected {expected}, got {kind or 'nothing'}")
    return [_decode_leaf(shape, data, where)]


def _decode_leaf(leaf: Leaf, data: p4d.P4Data, where: str) -> bytes:
    size = (leaf.width + 7) // 8
    if leaf.kind == "bit":
        return padded(data.bitstring, leaf.width, where)
    if leaf.kind == "enum_value":
        return padded(data.enum_value, leaf.width, where)
    if leaf.kind == "bool":
        return bytes([data.bool])
    if leaf.kind == "int":
        number = int.from_bytes(data.bitstring, "big", signed=True)
        if not data.bitstring or not -(1 << (leaf.width - 1)) <= number < 1 << (leaf.width - 1):
            raise out_of_range(f"{where}: {data.bitstring.hex() or 'nothing'} is no int<{leaf.width}>")
        return (number & ((1 << leaf.width) - 1)).to_bytes(size, "big")
    name = data.enum if leaf.kind == "enum" else data.error
    if name not in leaf.names:
        raise invalid(f"{where}: {name!r}, expected one of {', '.join(leaf.names)}")
    return leaf.names.index(name).to_bytes(size, "big")


def _signed_bytes(number: int) -> bytes:
    """Two's complement in as few bytes as possible."""
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, "big", signed=True)

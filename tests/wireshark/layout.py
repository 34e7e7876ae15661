"""Where each field of the CSA header lies, derived from one source at a time, and what sources disagree on.

A layout is a mapping from a field's name to (offset, width) in bits from the header's begin. No source is
derived from another: the bit rulers are read from the document, the P4 program from its source and from what
the compiler made of it, and codec and dissector are asked bit by bit.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Layout = dict[str, tuple[int, int]]

CSA_BITS, CONTROL_BITS = 256, 192
MAGIC = "magic_version"
"""Magic and version are one field to a parser; where a source has two, they are taken together."""

_CELLS = {
    "magic 0xC5A": "magic",
    "ver 1": "version",
    "o": "ordered",
    "ECN count": "ecn_count",
    "newest tx_ts seen": "newest_tx_ts",
    "echoed path": "echoed_path",
    "path_seq, first": "path_first",
    "path_seq, count": "path_count",
    "rank of the sender": "from_rank",
    "credit: packets granted to this sender, cumulative": "credit",
    "cumulative index": "cumulative",
    "bitmap length in bits": "bitmap_bits",
    "bitmap ...": "bitmap",
}
"""What the rulers say where there is room for more, or for less, than the field's name."""

_ROW = re.compile(r" *(\d+) (\|.*\|) *$")
_RULER = re.compile(r"^ +0 1 2 3 4 5 6 7 8 9 0 1 2 3", re.MULTILINE)


def of_document(text: str, ruler: int) -> Layout:
    """The document's n-th bit ruler, from 0. Rows have 32 bits, two columns each."""
    start = [match.end() for match in _RULER.finditer(text)][ruler]
    block = text[start:].split("```")[0]
    layout: Layout = {}
    for line in block.splitlines():
        row = _ROW.match(line)
        if row is None:
            continue
        first = int(row[1]) * 8
        bars = [at for at, mark in enumerate(row[2]) if mark == "|"]
        for left, right in itertools.pairwise(bars):
            if left % 2 or right % 2:
                raise ValueError(f"a bar between two columns of the ruler: {line}")
            cell = row[2][left + 1 : right].strip()
            layout[_CELLS.get(cell, cell)] = (first + left // 2, (right - left) // 2)
    return _joined(layout)


def frame_offsets(text: str) -> dict[str, int]:
    """Bytes from a frame's begin at which each header begins, of the document's picture of a packet."""
    numbers, names = re.search(r"^ (0 +\d+ +.*)\n *\|(.*)\|$", text, re.MULTILINE).groups()  # type: ignore[union-attr]
    order = [cell.split()[0].lower() for cell in names.split("|")]
    return dict(zip(order, (int(number) for number in numbers.split()), strict=False))


def of_p4_source(text: str, header: str) -> Layout:
    """The fields of `header NAME { bit<W> field; ... }`."""
    body = re.search(rf"^header {header} {{(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    if body is None:
        raise ValueError(f"no header {header}")
    return _in_a_row([(name, int(width)) for width, name in re.findall(r"bit<(\d+)> (\w+);", body[1])])


def of_compiled_p4(program: Mapping[str, Any], header: str) -> Layout:
    """The fields of the type of the header instance."""
    kinds = {kind["name"]: kind["fields"] for kind in program["header_types"]}
    kind = next(item["header_type"] for item in program["headers"] if item["name"] == header)
    return _in_a_row([(field[0], field[1]) for field in kinds[kind]])


def parsed_offsets(program: Mapping[str, Any], header: str) -> set[int]:
    """Bytes of a frame before `header`, on every way through the compiled parser from the Ethernet header."""
    (parser,) = program["parsers"]
    states = {state["name"]: state for state in parser["parse_states"]}
    widths = {
        name: sum(width for _, width in of_compiled_p4(program, name).values())
        for name in _instances(program)
    }
    found: set[int] = set()

    def walk(name: str | None, bits: int, seen: frozenset[str]) -> None:
        if name is None or name in seen:
            return
        for op in states[name]["parser_ops"]:
            if op["op"] != "extract":
                continue
            extracted = op["parameters"][0]["value"]
            if extracted == header:
                found.add(bits // 8)
                return
            bits += widths[extracted]
        for step in states[name]["transitions"]:
            walk(step["next_state"], bits, seen | {name})

    walk("parse_ethernet", 0, frozenset())
    return found


def of_encoder(encode: Callable[[dict[str, int]], bytes], widths: Mapping[str, int]) -> Layout:
    """Sets one bit of one field after the other. `encode` returns the header's bytes for fields that are zero
    but for those given; bits that are set without any are magic and version.
    """
    nothing = int.from_bytes(base := encode({}), "big")
    total = len(base) * 8
    layout: Layout = {}
    for name, width in widths.items():
        places = []
        for bit in range(width):
            changed = int.from_bytes(encode({name: 1 << bit}), "big") ^ nothing
            if changed.bit_count() != 1:
                raise ValueError(f"bit {bit} of {name} sets {changed.bit_count()} bits")
            places.append(total - changed.bit_length())
        if places != list(range(places[0], places[0] - width, -1)):
            raise ValueError(f"the bits of {name} are not in a row: {places}")
        layout[name] = (places[-1], width)
    return _with_magic(layout, nothing, total)


def of_decoder(
    decode: Callable[[Sequence[bytes]], Sequence[Mapping[str, int] | None]], base: bytes
) -> Layout:
    """Flips one bit of the header after the other, and sees which field changes by which power of two.
    `decode` returns None for what it does not take for ours: those bits are magic and version.
    """
    total = len(base) * 8
    number = int.from_bytes(base, "big")
    flipped = [(number ^ 1 << total - 1 - at).to_bytes(len(base), "big") for at in range(total)]
    before, *answers = decode([base, *flipped])
    if before is None:
        raise ValueError("the packet itself is refused")
    bits: dict[str, dict[int, int]] = {}
    for at, after in enumerate(answers):
        if after is None:
            bits.setdefault(MAGIC, {})[at] = -at
            continue
        for name in after:
            if difference := before[name] ^ after[name]:
                bits.setdefault(name, {})[at] = difference
    layout: Layout = {}
    for name, places in bits.items():
        order = sorted(places)
        if order != list(range(order[0], order[0] + len(order))):
            raise ValueError(f"the bits of {name} are not in a row: {order}")
        weights = [1 << n for n in reversed(range(len(order)))]
        if name != MAGIC and [places[at] for at in order] != weights:
            raise ValueError(f"the bits of {name} do not count as a number: {places}")
        layout[name] = (order[0], len(order))
    return layout


def differences(sources: Mapping[str, Layout]) -> list[str]:
    """What the sources do not agree on, one line a field; empty when they agree."""
    found = []
    for name in sorted(set().union(*sources.values())):
        places = {source: layout.get(name) for source, layout in sources.items()}
        if len(set(places.values())) > 1:
            found.append(f"{name}: " + ", ".join(f"{source} {place}" for source, place in places.items()))
    return found


def _instances(program: Mapping[str, Any]) -> list[str]:
    return [item["name"] for item in program["headers"] if not item.get("metadata")]


def _in_a_row(fields: Sequence[tuple[str, int]]) -> Layout:
    layout, at = {}, 0
    for name, width in fields:
        layout[name] = (at, width)
        at += width
    return layout


def _joined(layout: Layout) -> Layout:
    """Magic and version as one field."""
    if "magic" in layout and "version" in layout:
        (at, width), (_, more) = layout.pop("magic"), layout.pop("version")
        layout[MAGIC] = (at, width + more)
    return layout


def _with_magic(layout: Layout, constant: int, total: int) -> Layout:
    """The bits that no field has, where some of them are set without any field."""
    taken = {at for first, width in layout.values() for at in range(first, first + width)}
    free = sorted(set(range(total)) - taken)
    if constant and free:
        layout[MAGIC] = (free[0], len(free))
    return layout


def compiled(text: str) -> dict[str, Any]:
    """The compiler's JSON."""
    program: dict[str, Any] = json.loads(text)
    return program

"""What is read before it is written is 0, though a packet's words have what earlier packets left there."""

from __future__ import annotations

import struct

import pytest
from csaud_softswitch import _core

from tests.softswitch import dirt
from tests.softswitch.programs import json_of, loaded, send

SEEN = [
    "by_parser", "by_items", "by_branch", "by_register", "never", "kept", "lost", "in_egress",
    "wide", "passes",
]  # fmt: skip


def switch() -> _core.Fabric:
    fabric, core = loaded("unwritten", (1, 2, 3))
    core.clone_session_set(1, [(3, 0)])
    dirt.add(fabric, json_of("unwritten"))
    return fabric


def sent(fabric: _core.Fabric, frame: bytes) -> dict[int, bytes]:
    """What comes out of the switch, by port."""
    dirt.spread(fabric)
    fabric.poll()
    return dict(send(fabric, frame))


def seen(frame: bytes, skip: int = 4) -> dict[str, int]:
    """The header that reports, its fields that are not 0."""
    words = struct.unpack_from(">8H12sH", frame, skip)
    values = [int.from_bytes(word, "big") if isinstance(word, bytes) else word for word in words]
    return {name: value for name, value in zip(SEEN, values, strict=True) if value}


@pytest.mark.parametrize("op", [0, 1, 3, 9])
def test_only_what_was_written_on_this_packets_way_is_there(op: int) -> None:
    out = sent(switch(), struct.pack(">BBH", op, 0, 0x0123) + bytes(20))
    also = {0: {}, 1: {"by_parser": 0x0123}, 3: {"by_branch": 0x0123, "wide": 0x0123 << 60}, 9: {}}[op]
    assert seen(out[2]) == {**also, "in_egress": 0x1234, "passes": 1}


def test_a_sum_over_a_loop_of_states_begins_at_nothing() -> None:
    for count in (0, 1, 3):
        out = sent(switch(), struct.pack(">BBH", 2, count, 0) + struct.pack(">H", 5) * count + bytes(9))
        sums = {"by_items": 5 * count} if count else {}
        assert seen(out[2], skip=6 if count else 4) == {**sums, "in_egress": 0x1111, "passes": 1}


@pytest.mark.parametrize(("index", "found"), [(1, 0x77), (0, 0), (9, 0)])
def test_a_register_that_is_not_there_leaves_nothing(index: int, found: int) -> None:
    out = sent(switch(), struct.pack(">BBH", 4, index, 0x77) + bytes(9))
    assert seen(out[2]).get("by_register", 0) == found


@pytest.mark.parametrize("op", [5, 8])
def test_a_further_pass_has_what_was_preserved_and_nothing_else(op: int) -> None:
    out = sent(switch(), struct.pack(">BBH", op, 0, 2) + bytes(9))
    assert seen(out[2]) == {"kept": 4, "in_egress": 0x1113, "passes": 3}


@pytest.mark.parametrize("op", [6, 7, 11])
def test_a_clone_has_what_was_preserved_and_nothing_else(op: int) -> None:
    out = sent(switch(), struct.pack(">BBH", op, 0, 2) + bytes(9))
    assert seen(out[2]) == {"in_egress": 0x1113, "passes": 1}
    assert seen(out[3]) == {"passes": 1}


def test_a_copy_of_a_header_that_is_not_there_is_not_there() -> None:
    out = sent(switch(), struct.pack(">BBH", 10, 0, 0) + bytes(9))
    assert seen(out[2]) == {"never": 2, "in_egress": 0x1111, "passes": 1}

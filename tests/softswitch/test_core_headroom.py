"""Frames that grow with every pass or hop: the room for headers before a frame is there each time."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

ADDED = 96
FRAME = bytes([1]) + bytes(61)
LONGEST = 9728


def growing(in_action: str) -> str:
    """`recirculates`, an action of which also puts a header before the frame. Its parser does not know it."""
    program: dict[str, Any] = json.loads(programs.json_of("recirculates"))
    fields = [[f"part{number}", 128, False] for number in range(ADDED // 16)]
    program["header_types"].append({"name": "more_t", "id": 99, "fields": fields})
    program["headers"].append(
        {"name": "more", "id": 99, "header_type": "more_t", "metadata": False, "pi_omit": True}
    )
    program["deparsers"][0]["order"].append("more")
    (action,) = (each for each in program["actions"] if each["name"] == in_action)
    action["primitives"].append({"op": "add_header", "parameters": [{"type": "header", "value": "more"}]})
    return json.dumps(program)


def frame(passes: int) -> bytes:
    return FRAME[:1] + bytes([passes]) + FRAME[2:]


@pytest.mark.parametrize("passes", [1, 5, 6, 15, 16, 47, 100])
def test_a_frame_may_grow_with_every_pass(passes: int) -> None:
    fabric = _core.Fabric(0)
    switch = fabric.add_switch("s1", 1)
    switch.load(growing("recirculates15"))
    for port in (1, 2):
        fabric.add_memory_port("s1", port)
    payload = bytes(range(1, 41))
    for sent in (1, 2):  # also where a buffer is used again
        fabric.inject("s1", 1, frame(passes) + payload, fabric.now)
        ((_, port, out, _),) = fabric.poll()
        assert (port, len(out)) == (2, len(FRAME) + passes * ADDED + len(payload))
        assert out.endswith(payload)
        assert (switch.stats()["tx"], switch.stats()["looped"]) == (sent, 0)


def test_a_frame_that_grows_too_long_is_dropped_and_counted() -> None:
    fabric = _core.Fabric(0)
    switch = fabric.add_switch("s1", 1)
    switch.load(growing("recirculates15"))
    fabric.add_memory_port("s1", 1)
    fabric.add_memory_port("s1", 2)
    fabric.inject("s1", 1, frame(LONGEST // ADDED + 6), fabric.now)
    assert fabric.poll() == []
    assert (switch.stats()["tx"], switch.stats()["looped"]) == (0, 1)


def test_a_frame_may_grow_at_every_switch_on_its_way() -> None:
    fabric, program = _core.Fabric(0), growing("report44")
    names = [f"s{number}" for number in range(1, 13)]
    for number, name in enumerate(names, start=1):
        fabric.add_switch(name, number).load(program)
    fabric.add_memory_port(names[0], 1)
    for one, other in pairwise(names):
        fabric.add_link(one, 2, other, 1)
    fabric.add_memory_port(names[-1], 2)
    fabric.inject(names[0], 1, frame(0), fabric.now)
    fabric.advance(fabric.now + 1_000_000)
    ((at, port, out, _),) = fabric.poll()
    assert (at, port, len(out)) == (names[-1], 2, len(FRAME) + len(names) * ADDED)

"""What a primitive works on is what it is given: a copy of the metadata, an element of a stack that is known
only when the packet is there.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

Json = dict[str, Any]
DROP = 12  # an operation of externs.p4


def header(name: str) -> Json:
    return {"type": "header", "value": name}


def call(op: str, *arguments: Json) -> Json:
    return {"op": op, "parameters": list(arguments)}


def loaded(root: Json) -> tuple[_core.Fabric, _core.Switch]:
    fabric = _core.Fabric()
    switch = fabric.add_switch("s", 1)
    switch.load(json.dumps(root))
    for port in (1, 2, 3):
        fabric.add_memory_port("s", port)
    return fabric, switch


def with_primitives(name: str, op: str, *primitives: Json) -> Json:
    """The program with these in the place of the first of that name."""
    root: Json = json.loads(programs.json_of(name))
    for action in root["actions"]:
        for at, primitive in enumerate(action["primitives"]):
            if primitive["op"] == op:
                action["primitives"][at : at + 1] = primitives
                return root
    raise AssertionError(f"no {op} in {name}")


def with_copy(*primitives: Json) -> Json:
    """externs.p4, which drops by these, and has a header `copy` of the type of standard_metadata."""
    root = with_primitives("externs", "mark_to_drop", *primitives)
    kind = next(h["header_type"] for h in root["headers"] if h["name"] == "standard_metadata")
    number = max(h["id"] for h in root["headers"]) + 1
    root["headers"].append({"name": "copy", "id": number, "header_type": kind, "metadata": True})
    return root


COPY = call("assign_header", header("copy"), header("standard_metadata"))
BACK = call("assign_header", header("standard_metadata"), header("copy"))
MARK = call("mark_to_drop", header("copy"))


def drop_frame() -> bytes:
    return struct.pack(programs.CMD, DROP, 0, 0, 0, 0, 0)


def test_a_copy_that_is_marked_to_drop_and_copied_back_drops() -> None:
    fabric, switch = loaded(with_copy(COPY, MARK, BACK))
    assert programs.send(fabric, drop_frame()) == []
    assert switch.stats()["dropped_ingress"] == 1


def test_a_copy_that_is_marked_to_drop_and_left_alone_does_not() -> None:
    fabric, switch = loaded(with_copy(COPY, MARK))
    assert len(programs.send(fabric, drop_frame())) == 1
    assert switch.stats()["dropped_ingress"] == 0


def test_what_is_marked_to_drop_has_an_egress_spec() -> None:
    with pytest.raises(
        _core.ProgramError, match=r"primitive 'mark_to_drop'.*no field 'egress_spec' in header 'cmd'"
    ):
        loaded(with_primitives("externs", "mark_to_drop", call("mark_to_drop", header("cmd"))))


def test_a_message_without_values() -> None:
    text = {"type": "string", "value": "just words"}
    none: Json = {"type": "parameters_vector", "value": {}}
    fabric, switch = loaded(with_primitives("externs", "mark_to_drop", call("log_msg", text, none)))
    programs.send(fabric, drop_frame())
    assert switch.take_log() == ["just words"]


# --- elements of a stack at an index that the packet has: those of stacks.p4, by its operation 8

SHIFT = 8
MOVE = [header("items[1]"), header("items[0]")]


def element(stack: str) -> Json:
    """stack[hdr.op.index & 3], as p4c writes it."""
    mask = {"type": "hexstr", "value": "0x03"}
    index = {"op": "&", "left": {"type": "field", "value": ["op", "index"]}, "right": mask}
    return element_at(stack, {"type": "expression", "value": index})


def element_at(stack: str, index: Json) -> Json:
    place = {"op": "dereference_header_stack", "left": {"type": "header_stack", "value": stack}}
    inner = {"type": "expression", "value": {**place, "right": index}}
    return {"type": "expression", "value": inner}


def item(value: int, last: bool) -> bytes:
    return struct.pack(">BBIH", last, value, 0x01010101 * value, value)


def shifted(*primitives: Json, index: int, items: int = 4) -> list[int]:
    """The values of the elements that come out, of those 1, 2, ... that went in."""
    root: Json = json.loads(programs.json_of("stacks"))
    action = next(a for a in root["actions"] if a["primitives"] and a["primitives"][0]["parameters"] == MOVE)
    action["primitives"] = list(primitives)
    fabric, _ = loaded(root)
    packet = b"".join(item(value, value == items) for value in range(1, items + 1))
    [(_, left)] = programs.send(fabric, struct.pack(">BBBBHB", SHIFT, index, 0, 0, 0, 0) + packet)
    rest = left[7:]
    assert len(rest) % 8 == 0
    return [rest[at + 1] for at in range(0, len(rest), 8)]


@pytest.mark.parametrize("index", range(4))
def test_an_element_becomes_invalid(index: int) -> None:
    left = shifted(call("remove_header", element("items")), index=index)
    assert left == [value for value in (1, 2, 3, 4) if value != index + 1]


@pytest.mark.parametrize("index", range(4))
def test_an_element_becomes_valid(index: int) -> None:
    """It is all zeros where it was not valid, and what it was where it was."""
    left = shifted(call("add_header", element("items")), index=index, items=2)
    assert left == ([1, 2] if index < 2 else [1, 2, 0])


@pytest.mark.parametrize("index", range(4))
def test_an_element_is_copied(index: int) -> None:
    left = shifted(call("assign_header", element("items"), header("items[2]")), index=index)
    assert left == [3 if at == index else at + 1 for at in range(4)]
    left = shifted(call("assign_header", header("items[0]"), element("items")), index=index)
    assert left == [index + 1, 2, 3, 4]
    left = shifted(call("assign_header", element("items"), header("extra")), index=index)
    assert left == [at + 1 for at in range(4) if at != index]  # which is not valid


def test_an_element_beyond_the_stack_is_none() -> None:
    """BMv2 ends; here nothing is written, and what is read is not valid."""
    beyond = element_at("items", {"type": "hexstr", "value": "0x04"})
    for primitive in ("add_header", "remove_header"):
        assert shifted(call(primitive, beyond), index=0) == [1, 2, 3, 4]
    assert shifted(call("assign_header", beyond, header("items[0]")), index=0) == [1, 2, 3, 4]
    assert shifted(call("assign_header", header("items[0]"), beyond), index=0) == [2, 3, 4]

"""What the switch cannot run is refused at load, with a message that names it; the running program stays."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

SEED = 3
Json = dict[str, Any]


def load(program: Json | str) -> _core.Switch:
    switch = _core.Fabric().add_switch("s", 1)
    switch.load(program if isinstance(program, str) else json.dumps(program))
    return switch


def program(name: str = "externs") -> Json:
    loaded: Json = json.loads(programs.json_of(name))
    return loaded


def first_primitive(root: Json, op: str) -> Json:
    return next(p for action in root["actions"] for p in action["primitives"] if p["op"] == op)


def table(root: Json, name: str) -> Json:
    return next(t for p in root["pipelines"] for t in p["tables"] if t["name"] == name)


def named(key: str, **item: Any) -> Callable[[Json], None]:
    return lambda root: root[key].append({"name": "thing", "id": 0, **item})


def change_primitive(op: str, to: str) -> Callable[[Json], None]:
    return lambda root: first_primitive(root, op).update(op=to)


def change_calculation(root: Json) -> None:
    root["calculations"][0]["algo"] = "toeplitz"


def add_field(root: Json, name: str, width: int | str) -> None:
    kind = next(t for t in root["header_types"] if t["name"] == "cmd_t")
    kind["fields"].append([name, width, False])
    kind["max_length"] = 100
    first_primitive(root, "assign")["parameters"][0] = {"type": "field", "value": ["cmd", name]}


def wide_field(root: Json) -> None:
    add_field(root, "huge", 256)


def varbit(root: Json) -> None:
    add_field(root, "options", "*")


def odd_header(root: Json) -> None:
    next(t for t in root["header_types"] if t["name"] == "cmd_t")["fields"].append(["odd", 3, False])


def no_standard_metadata(root: Json) -> None:
    kind = next(t for t in root["header_types"] if t["name"] == "standard_metadata")
    kind["fields"] = [field for field in kind["fields"] if field[0] != "egress_spec"]


def second_parser(root: Json) -> None:
    root["parsers"].append(root["parsers"][0])


def parser_operation(root: Json) -> None:
    root["parsers"][0]["parse_states"][0]["parser_ops"][0]["op"] = "guess"


def transition(root: Json) -> None:
    root["parsers"][0]["parse_states"][0]["transitions"][0]["type"] = "guess"


def value_set(root: Json) -> None:
    root["parsers"][0]["parse_states"][0]["transitions"][0].update(type="parse_vset", value="nothing")


def operator(root: Json) -> None:
    root["pipelines"][0]["conditionals"][0]["expression"]["value"]["op"] = "@"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (named("meter_arrays", type="bits", rate_count=2), "meter 'thing'.*a meter of 'bits'"),
        (named("meter_arrays", type="bytes", rate_count=3), "meter 'thing'.*number of rates"),
        (named("learn_lists", elements=[{"type": "header", "value": "cmd"}]), "digest 'thing'.*'header'"),
        (named("extern_instances"), "extern 'thing'"),
        (change_primitive("mark_to_drop", "drop_it"), "primitive 'drop_it'"),
        (change_calculation, "calculation 'calc.*hash algorithm 'toeplitz'"),
        (wide_field, "field 'cmd.huge' of 256 bits"),
        (varbit, "use of .*'cmd.options', a field of variable length"),
        (second_parser, "2 parsers"),
        (parser_operation, "parser state 'start'.*operation 'guess'"),
        (transition, "parser state 'start'.*transition on 'guess'"),
        (operator, "operator '@'"),
    ],
)
def test_a_construct_that_is_not_supported_is_named(change: Callable[[Json], None], message: str) -> None:
    root = program()
    change(root)
    with pytest.raises(_core.ProgramError, match=message) as refused:
        load(root)
    assert "not supported by the embedded switch" in str(refused.value)


def unknown_header(root: Json) -> None:
    first_primitive(root, "mark_to_drop").update(
        op="add_header", parameters=[{"type": "header", "value": "nobody"}]
    )


def unknown_field(root: Json) -> None:
    first_primitive(root, "assign")["parameters"][0]["value"] = ["cmd", "nothing"]


def unknown_state(root: Json) -> None:
    root["parsers"][0]["init_state"] = "nowhere"


def unknown_node(root: Json) -> None:
    root["pipelines"][0]["init_table"] = "nowhere"


def unknown_counter(root: Json) -> None:
    first_primitive(root, "count")["parameters"][0]["value"] = "nothing"


def missing_arguments(root: Json) -> None:
    first_primitive(root, "count")["parameters"].pop()


def direct_meter(root: Json) -> None:
    root["pipelines"][0]["tables"][0]["direct_meters"] = "m"


def missing_actions(root: Json) -> None:
    del root["actions"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (odd_header, "header 'cmd'.*not a multiple of 8"),
        (no_standard_metadata, r"standard_metadata.*egress_spec"),
        (unknown_header, "no header 'nobody'"),
        (unknown_field, "no field 'nothing' in header 'cmd'"),
        (unknown_state, "no state 'nowhere'"),
        (unknown_node, "no next node 'nowhere'"),
        (unknown_counter, "no counter_array 'nothing'"),
        (missing_arguments, "primitive 'count'.*1 arguments, expected 2"),
        (missing_actions, "'actions' is missing"),
        (value_set, "no value set 'nothing'"),
        (change_primitive("mark_to_drop", "recirculate"), "primitive 'recirculate'.*hexadecimal"),
        (direct_meter, r"no direct meter 'm'"),
    ],
)
def test_a_mistake_in_the_json_is_named(change: Callable[[Json], None], message: str) -> None:
    root = program()
    change(root)
    with pytest.raises(_core.ProgramError, match=message):
        load(root)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"x"', "{}", '{"actions": 3}', "\x00"])
def test_what_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(_core.ProgramError):
        load(text)


def test_a_refused_program_leaves_the_running_one_alone() -> None:
    fabric, switch = programs.loaded("tables")
    switch.table_insert("I.exact_wide", [("exact", bytes(16))], 0, ("action", "I.set_r", [b"\x07"]))
    with pytest.raises(_core.ProgramError):
        switch.load("{}")
    assert len(switch.table_entries("I.exact_wide")) == 1
    assert programs.send(fabric, bytes([1] + [0] * 40)) != []


def _mutate(rng: random.Random, value: Any) -> Any:
    """The value with something in it replaced, doubled or removed."""
    others = [None, 0, -1, 1 << 40, "", "0x", "0xzz", "x", [], {}, True, [[]], 1.5]
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _mutate(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.95:
        index = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:index] + value[index + 1 :] + rng.choice([[], [value[index]] * 2])
        return [*value[:index], _mutate(rng, value[index]), *value[index + 1 :]]
    return rng.choice(others)


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_damaged_program_is_refused_or_runs(name: str) -> None:
    """Never anything else: no crash at load, none when packets come."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    whole = program(name)
    refused = 0
    for _ in range(300):
        fabric = _core.Fabric()
        switch = fabric.add_switch("s", 1)
        fabric.add_memory_port("s", 1)
        try:
            switch.load(json.dumps(_mutate(rng, whole)))
        except _core.ProgramError as error:
            assert str(error)
            refused += 1
            continue
        for _ in range(20):
            fabric.inject("s", 1, rng.randbytes(rng.randrange(100)), 0)
    assert 30 < refused < 300

"""The comparison of programs that nobody looked at (tests.evidence.p4c_samples), with small ones of ours."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import read_config

from tests.evidence.p4c_samples.compare import PORTS, STALE, compare, of_frames
from tests.evidence.p4c_samples.compiled import NotCompilable, compile_sample, samples
from tests.evidence.p4c_samples.frames import LONGEST, frame
from tests.softswitch import programs

FRAMES = 40


def config(name: str) -> p4r.ForwardingPipelineConfig:
    path = programs.FOLDER / f"{name}.json"
    return read_config(path, path.with_suffix(".p4info.txtpb"))


@pytest.mark.bmv2
@pytest.mark.root
@pytest.mark.parametrize("name", ["arith", "parse", "tables", "varbits"])
def test_a_program_does_the_same_on_both(name: str) -> None:
    outcome = compare(config(name), f"1 {name}", FRAMES)
    assert outcome.result == "alike", outcome
    assert outcome.frames_out > 0


@pytest.mark.bmv2
@pytest.mark.root
def test_a_difference_is_told_with_its_frame() -> None:
    other = config("parse")
    program = json.loads(other.p4_device_config)
    for state in program["parsers"][0]["parse_states"]:
        state["transitions"] = state["transitions"][-1:]  # what they do otherwise
    other.p4_device_config = json.dumps(program).encode()
    outcome = compare(config("parse"), "1", FRAMES, other)
    assert outcome.result == "differed", outcome
    assert "only here" in outcome.reason


@pytest.mark.bmv2
@pytest.mark.root
def test_what_one_of_them_refuses_is_told() -> None:
    refused = config("parse")
    refused.p4_device_config = b"nonsense"
    assert compare(config("parse"), "1", 1, refused).result == "refused there"
    assert compare(refused, "1", 1, config("parse")).result == "refused here"
    assert compare(refused, "1", 1).result == "refused by both"


@pytest.mark.bmv2
@pytest.mark.root
def test_what_earlier_packets_left_in_headers_is_no_difference() -> None:
    """Frames that end before the first header does, whose fields the program reads all the same."""
    outcome = compare(config("unions"), "1 unions", FRAMES)
    assert (outcome.result, outcome.reason) == ("alike one by one", STALE)


@pytest.mark.bmv2
@pytest.mark.root
def test_frames_that_end_simple_switch_grpc_are_left_out() -> None:
    """An element beyond a stack ends it; here it is none."""
    beyond = config("stacks")
    program = json.loads(beyond.p4_device_config)
    action = next(a for a in program["actions"] if a["primitives"] and a["primitives"][0]["op"] == "push")
    place = {"op": "dereference_header_stack", "left": {"type": "header_stack", "value": "items"}}
    element = {"type": "expression", "value": {**place, "right": {"type": "hexstr", "value": "0x04"}}}
    argument = {"type": "expression", "value": element}
    action["primitives"] = [{"op": "remove_header", "parameters": [argument]}]
    beyond.p4_device_config = json.dumps(program).encode()
    item = b"\x01\x06" + bytes(6)
    sent = [(1, bytes([op, *bytes(6)]) + item) for op in (0, 0, 1, 0, 0, 0, 0)]
    outcome = of_frames(beyond, sent, beyond)
    assert outcome.result == "alike", outcome
    assert (outcome.frames_in, outcome.frames_out) == (5, 5)
    assert "it ended 1 times" in outcome.reason


def test_random_frames_fit_an_ethernet() -> None:
    print("seed 1")
    found = [frame(random.Random(f"1 {number}")) for number in range(500)]
    assert all(0 < len(each) <= LONGEST + 100 for each in found)
    assert len({each[12:14] for each in found}) > 100
    assert sum(each[12:14] == b"\x08\x00" for each in found) > 100
    assert len(PORTS) > 1


def test_samples_are_programs_for_v1model(tmp_path: Path) -> None:
    for name, line in (
        ("a", "#include <v1model.p4>"),
        ("b", '#include "v1model.p4"'),
        ("c", "#include <psa.p4>"),
    ):
        (tmp_path / f"{name}.p4").write_text(f"// v1model.p4\n#include <core.p4>\n{line}\n")
    assert [path.name for path in samples(tmp_path)] == ["a.p4", "b.p4"]


@pytest.mark.p4c
def test_a_sample_is_compiled_once_and_a_complaint_kept(tmp_path: Path) -> None:
    program, info = compile_sample(programs.FOLDER / "route.p4", tmp_path)
    made = program.stat().st_mtime_ns
    assert compile_sample(programs.FOLDER / "route.p4", tmp_path) == (program, info)
    assert program.stat().st_mtime_ns == made
    wrong = tmp_path / "wrong.p4"
    wrong.write_text("#include <v1model.p4>\nparser P( {")
    for _ in range(2):
        with pytest.raises(NotCompilable, match="syntax error"):
            compile_sample(wrong, tmp_path)

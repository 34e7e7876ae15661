"""The embedded switch against exchanges that were recorded from the real simple_switch_grpc."""

from __future__ import annotations

from pathlib import Path

import pytest
from csaud_softswitch.exchange.bmv2 import Bmv2Target
from csaud_softswitch.exchange.compare import differences
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import play
from csaud_softswitch.exchange.vector import load_vector
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import program_digest, read_config

from tests.softswitch.exchange_cases import CASES

PROGRAM = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
VECTORS = {path.stem: path for path in sorted((Path(__file__).parent / "exchanges").glob("*.json"))}
AGAIN = "record it again: python -m csaud_softswitch.exchange record (see tests/softswitch/exchange_cases.py)"


@pytest.fixture(scope="module")
def config() -> p4r.ForwardingPipelineConfig:
    return read_config(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"))


@pytest.mark.parametrize("name", VECTORS)
def test_the_embedded_switch_answers_as_simple_switch_grpc_did(
    name: str, config: p4r.ForwardingPipelineConfig
) -> None:
    recorded = load_vector(VECTORS[name])
    assert recorded.recorded["target"] == "simple_switch_grpc"
    found = differences(recorded, play(recorded, SoftTarget(config, recorded.ports)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_recorded_for_the_present_program(name: str) -> None:
    case = CASES[name]()
    assert case.name in VECTORS, f"{case.name} was never recorded; {AGAIN}"
    recorded = load_vector(VECTORS[case.name])
    assert recorded.case() == case, f"{case.name} has changed since it was recorded; {AGAIN}"
    assert recorded.program["sha256"] == program_digest(PROGRAM), (
        f"p4src has changed since {case.name}; {AGAIN}"
    )


def test_a_difference_in_one_byte_or_count_is_found(config: p4r.ForwardingPipelineConfig) -> None:
    """The check itself: a replay that is wrong somewhere must not pass."""
    recorded = load_vector(VECTORS["trim_to_the_receiver"])
    played = play(recorded, SoftTarget(config, recorded.ports))
    out = next(step["out"][0] for step in played.steps if step.get("out"))
    frame = out["frame"]
    out["frame"] = frame[:-1] + ("0" if frame[-1] != "0" else "1")
    assert len(differences(recorded, played)) == 1
    out["frame"], out["port"] = frame, 99
    assert len(differences(recorded, played)) == 1
    name, cells = next(iter(recorded.counters.items()))
    next(iter(cells.values()))[0] += 1
    assert any(name in found for found in differences(recorded, played))


@pytest.mark.bmv2
@pytest.mark.root
@pytest.mark.parametrize("name", VECTORS)
def test_simple_switch_grpc_still_answers_so(name: str, config: p4r.ForwardingPipelineConfig) -> None:
    recorded = load_vector(VECTORS[name])
    with Bmv2Target(config, recorded.ports) as target:
        found = differences(recorded, play(recorded, target))
    assert not found, "\n".join(found)

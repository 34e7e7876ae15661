"""The small programs, one a construct: the embedded switch does what simple_switch_grpc was seen to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from csaud_softswitch.exchange.compare import differences
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import play
from csaud_softswitch.exchange.vector import load_vector
from csaud_softswitch.program_file import program_digest, read_config

from tests.softswitch import programs
from tests.softswitch.construct_cases import all_cases

FOLDER = Path(__file__).parent / "exchanges" / "constructs"
AGAIN = "record it again, see tests/softswitch/construct_cases.py"


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.json"))])
def test_the_embedded_switch_answers_as_simple_switch_grpc_did(name: str) -> None:
    recorded = load_vector(FOLDER / f"{name}.json")
    path = programs.FOLDER / f"{name}.json"
    assert recorded.recorded["target"] == "simple_switch_grpc"
    assert recorded.case() == all_cases()[name], f"{name} has changed since it was recorded; {AGAIN}"
    assert recorded.program["sha256"] == program_digest(path), f"{name}.p4 has changed; {AGAIN}"
    soft = SoftTarget(read_config(path, path.with_suffix(".p4info.txtpb")), recorded.ports)
    found = differences(recorded, play(recorded, soft))
    assert not found, "\n".join(found)

"""The programs of these tests: their JSON is that of their source, and the real target does the same."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from csaud_softswitch.exchange.bmv2 import Bmv2Target
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.program_file import read_config

from tests.softswitch import programs

SEED = 5
PORTS = [1, 2]
SHORTEST = 14  # bytes that an interface carries
BATCH = 25
PATIENCE_S = 5.0


def without_sources(value: object) -> object:
    """The JSON less its notes on where in the source something stands."""
    if isinstance(value, dict):
        return {key: without_sources(item) for key, item in value.items() if key != "source_info"}
    return [without_sources(item) for item in value] if isinstance(value, list) else value


@pytest.mark.p4c
@pytest.mark.parametrize("name", programs.NAMES)
def test_the_committed_json_is_that_of_the_source(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    source = programs.FOLDER / f"{name}.p4"
    subprocess.run(
        ["p4c-bm2-ss", "--arch", "v1model", "-o", out, source.name], check=True, cwd=programs.FOLDER
    )
    assert without_sources(json.loads(out.read_text())) == without_sources(json.loads(programs.json_of(name)))


@pytest.mark.bmv2
@pytest.mark.root
@pytest.mark.parametrize(
    ("name", "frames", "count"),
    [
        ("arith", programs.arith_frames, 2050),
        ("parse", programs.parse_frames, 1000),
        ("externs", programs.extern_frames, 1000),
    ],
)
def test_simple_switch_grpc_does_the_same(
    name: str, frames: Callable[[random.Random, int], list[bytes]], count: int
) -> None:
    print(f"seed {SEED}")
    path = programs.FOLDER / f"{name}.json"
    config = read_config(path, path.with_suffix(".p4info.txtpb"))
    sent = [frame.ljust(SHORTEST, b"\0") for frame in frames(random.Random(SEED), count)]
    # The kernel takes VLAN tags out of what it hands to the test.
    sent = [frame for frame in sent if frame[12:14] not in (b"\x81\x00", b"\x88\xa8")]
    soft = SoftTarget(config, PORTS)
    with Bmv2Target(config, PORTS) as real:
        for at in range(0, len(sent), BATCH):
            for frame in sent[at : at + BATCH]:
                real.send(1, frame)
                soft.send(1, frame)
            wanted = [(left.port, left.frame) for left in soft.departures() if len(left.frame) >= SHORTEST]
            wanted = [
                (port, frame) for port, frame in wanted if frame[12:14] not in (b"\x81\x00", b"\x88\xa8")
            ]
            found: list[tuple[int, bytes]] = []
            deadline = time.monotonic() + PATIENCE_S
            while len(found) < len(wanted) and time.monotonic() < deadline:
                found += [(left.port, left.frame) for left in real.departures()]
            for port in PORTS:  # the order between ports is nobody's promise
                assert [f.hex() for p, f in found if p == port] == [f.hex() for p, f in wanted if p == port]

"""The programs of these tests: their JSON is that of their source, and the real target does the same."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from csaud_softswitch.exchange.bmv2 import Bmv2Target
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import counters, direct_counters
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.program_file import read_config

from tests.softswitch import programs
from tests.softswitch.table_programming import frame as table_frame
from tests.softswitch.table_programming import programming

SEED = 5
PORTS = [1, 2]
SHORTEST = 14  # bytes that an interface carries
BATCH = 25
PATIENCE_S = 60.0


def without_sources(value: object) -> object:
    """The JSON less its notes on where in the source something stands."""
    if isinstance(value, dict):
        return {key: without_sources(item) for key, item in value.items() if key != "source_info"}
    return [without_sources(item) for item in value] if isinstance(value, list) else value


def visible(frame: bytes) -> bool:
    """Does an interface carry it, and is it not one whose VLAN tag the kernel would take out for the test?"""
    return len(frame) >= SHORTEST and frame[12:14] not in (b"\x81\x00", b"\x88\xa8")


@pytest.mark.p4c
@pytest.mark.parametrize("name", programs.NAMES)
def test_the_committed_json_is_that_of_the_source(name: str, tmp_path: Path) -> None:
    programs.compile_into(tmp_path, name)
    out = tmp_path / f"{name}.json"
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
    sent = [frame for frame in sent if visible(frame)]
    soft = SoftTarget(config, PORTS)
    with Bmv2Target(config, PORTS) as real:
        compare(soft, real, sent)


def compare(soft: SoftTarget, real: Bmv2Target, sent: list[bytes]) -> None:
    """Both give the same frames at each port for what is sent to port 1, in the same order."""
    for at in range(0, len(sent), BATCH):
        for frame in sent[at : at + BATCH]:
            real.send(1, frame)
            soft.send(1, frame)
        wanted = [(left.port, left.frame) for left in soft.departures() if visible(left.frame)]
        found: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < len(wanted) and time.monotonic() < deadline:
            found += [(left.port, left.frame) for left in real.departures()]
        for port in PORTS:
            assert [f.hex() for p, f in found if p == port] == [f.hex() for p, f in wanted if p == port]


@pytest.mark.bmv2
@pytest.mark.root
def test_simple_switch_grpc_looks_up_the_same() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    path = programs.FOLDER / "tables.json"
    config = read_config(path, path.with_suffix(".p4info.txtpb"))
    soft = SoftTarget(config, PORTS)
    names = Names(soft.index)
    with Bmv2Target(config, PORTS) as real:
        refused = 0
        for update in programming(rng):
            ours, theirs = soft.write([names.update(update)])[0], real.write([names.update(update)])[0]
            # A full table is UNKNOWN there, RESOURCE_EXHAUSTED here.
            assert ours == theirs or (ours, theirs) == (Code.RESOURCE_EXHAUSTED, Code.UNKNOWN), update
            refused += ours != Code.OK
        assert refused < 40
        compare(soft, real, [table_frame(rng) for _ in range(1500)])
        assert counters(soft) == counters(real)
        assert direct_counters(soft, names) == direct_counters(real, names)

"""Programs as machine code and programs interpreted: the same packets, the same answers.

All other tests run what the machine can do, which is machine code on x86-64.
"""

from __future__ import annotations

import json
import platform
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from csaud_softswitch import _core
from csaud_softswitch.exchange.compare import differences
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import play
from csaud_softswitch.exchange.vector import load_vector
from csaud_softswitch.program_file import read_config

from tests.softswitch import dirt
from tests.softswitch.construct_cases import all_cases
from tests.softswitch.exchange_cases_ipv6 import csa6, neighbours
from tests.softswitch.inputs import csa

HERE = Path(__file__).parent
CSAUD = HERE.parents[1] / "p4src" / "artifacts" / "csaud.json"
VECTORS = {path.stem: path for path in sorted((HERE / "exchanges").glob("*.json"))}
CONSTRUCTS = {path.stem: path for path in sorted((HERE / "exchanges" / "constructs").glob("*.json"))}
PROGRAMS = [*sorted((HERE / "programs").glob("*.json")), CSAUD]
SWITCH = "CSAUD_SWITCH_COMPILE"
CONFIG = read_config(CSAUD, CSAUD.with_suffix(".p4info.txtpb"))
PORTS = range(1, 6)
SEED, FRAMES = 5, 1500
QUEUEING = 100_000_000  # bit/s; so that some hundred frames wait


@pytest.mark.parametrize("name", VECTORS)
def test_recorded_exchanges_hold_interpreted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    recorded = load_vector(VECTORS[name])
    found = differences(recorded, play(recorded, SoftTarget(CONFIG, recorded.ports)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_recorded_exchanges_of_constructs_hold_interpreted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "0")
    recorded = load_vector(CONSTRUCTS[name])
    path = HERE / "programs" / f"{name}.json"
    soft = SoftTarget(read_config(path, path.with_suffix(".p4info.txtpb")), recorded.ports)
    found = differences(recorded, play(recorded, soft))
    assert not found, "\n".join(found)


def test_all_of_our_own_program_is_machine_code() -> None:
    """What is interpreted costs a hop twice the instructions, and nothing else would tell."""
    switch = _core.Fabric().add_switch("s1", 1)
    assert switch.machine_code == []
    switch.load(CSAUD.read_text())
    whole = ["parser", "ingress", "egress", "deparser"]
    assert switch.machine_code == (whole if platform.machine() == "x86_64" else [])


@pytest.mark.parametrize("rate_bps", [0, QUEUEING], ids=["at once", "queued"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_random_frames_come_out_alike(program: Path, rate_bps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queued packets keep what egress will need of them, and nothing else."""
    print(f"seed {SEED}")
    outcomes = []
    for compiled in ("1", "0"):
        monkeypatch.setenv(SWITCH, compiled)
        outcomes.append(run(program.read_text(), examples(program.stem), rate_bps))
    assert outcomes[0] == outcomes[1]


def examples(program: str) -> list[bytes]:
    """Frames that the program's parser goes through to the end."""
    if program in (cases := all_cases()):
        return [bytes.fromhex(step["in"]["frame"]) for step in cases[program].steps if "in" in step]
    over_ipv4 = [csa(payload=length, dst=f"10.0.2.{length % 8}") for length in range(0, 64, 8)]
    return over_ipv4 + [csa6(length) for length in range(0, 64, 8)] + neighbours()


def frames(randomness: random.Random, kept: list[bytes]) -> Iterator[bytes]:
    """Random ones, and damaged examples."""
    kept = [*kept, *(randomness.randbytes(randomness.randrange(14, 200)) for _ in range(20))]
    for _ in range(FRAMES):
        # Few bytes differ at a time, so that branches see the same value more than once.
        frame = bytearray(randomness.choice(kept))
        for _ in range(randomness.randrange(4)):
            frame[randomness.randrange(len(frame))] = randomness.choice(
                (0, 1, 2, 5, 8, 0x11, 0x45, 0x80, 0xFF)
            )
        yield bytes(frame)


def change_defaults(switch: _core.Switch, randomness: random.Random) -> None:
    """Every table does something else to what it does not know: so all actions come about."""
    for table in switch.tables():
        if table["const_default"] or table["profile"] or not table["actions"]:
            continue
        action = randomness.choice(table["actions"])
        params = [
            randomness.randrange(1 << min(width, 4)).to_bytes(1, "big") for _, width in action["params"]
        ]
        switch.table_set_default(table["name"], ("action", action["name"], params))


def run(bmv2_json: str, kept: list[bytes], rate_bps: int) -> tuple[object, ...]:
    """What comes of random frames: frames and packet-ins, counts, registers, and what the program logged."""
    document = json.loads(bmv2_json)
    for pipeline in document["pipelines"]:
        for table in pipeline["tables"]:
            table.get("default_entry", {}).update(action_const=False, action_entry_const=False)
    fabric = _core.Fabric(seed=SEED)
    switch = fabric.add_switch("s", 1)
    switch.load(json.dumps(document))
    for port in PORTS:
        fabric.add_memory_port("s", port, rate_bps=rate_bps)
    dirt.add(fabric, bmv2_json)
    randomness = random.Random(SEED)
    for number, frame in enumerate(frames(randomness, kept)):
        if number % 25 == 24:
            change_defaults(switch, randomness)
        dirt.spread(fabric)
        fabric.inject("s", randomness.choice(PORTS), frame, number * 1000)
    fabric.advance(FRAMES * 1_000_000)
    counters = [switch.counter_read_all(c["name"]) for c in switch.counters() if c["table"] is None]
    registers = [switch.register_read_all(r["name"]) for r in switch.registers()]
    defaults = [switch.direct_counter_default(t["name"]) for t in switch.tables() if t["direct_counter"]]
    return (
        fabric.poll(), switch.poll_packet_in(), switch.take_log(), switch.stats(), switch.port_stats(),
        counters, registers, defaults,
    )  # fmt: skip

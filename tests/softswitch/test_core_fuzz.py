"""Packets of random bytes, and good packets that were damaged, through the project's own program."""

from __future__ import annotations

import random
from pathlib import Path

from csaud_softswitch import _core

from tests.softswitch.exchange_cases import all_cases
from tests.softswitch.test_core_fabric import balance

PROGRAM = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
SEED = 99
COUNT = 100_000
BATCH = 1000
PORTS = range(1, 6)
MAX_HEADER_BYTES = 512  # that a program may put in front of a packet


def switch() -> tuple[_core.Fabric, _core.Switch]:
    """With a route to everywhere over four ports, spraying at random."""
    fabric = _core.Fabric(SEED)
    made = fabric.add_switch("s", 1)
    made.load(PROGRAM.read_text())
    for port in PORTS:
        fabric.add_memory_port("s", port)
    profile = "CsaudIngress.spray.path_selector"
    for port in (1, 2, 3, 4):
        made.member_insert(profile, port, ("action", "CsaudIngress.spray.forward", [bytes([port])]))
    made.group_insert(profile, 1, [(port, 1, port) for port in (1, 2, 3, 4)])
    to_group = ("action", "CsaudIngress.route.set_group", [b"\x01"])
    made.table_insert("CsaudIngress.route.ipv4_lpm", [None], 0, to_group)
    made.table_insert("CsaudIngress.spray.paths", [("exact", b"\x01")], 0, ("group", 1))
    at_random = ("action", "CsaudIngress.spray.random", [b"\x07"])
    made.table_insert("CsaudIngress.spray.policy", [None] * 5, 1, at_random)
    return fabric, made


def good_frames() -> list[bytes]:
    frames = [
        bytes.fromhex(step["in"]["frame"]) for case in all_cases() for step in case.steps if "in" in step
    ]
    return sorted(set(frames))


def damaged(rng: random.Random, frame: bytes) -> bytes:
    """Some bits turned, and perhaps shorter or longer."""
    data = bytearray(frame)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data) + 1) :]
    elif rng.random() < 0.1:
        data += rng.randbytes(rng.randrange(200))
    return bytes(data)


def random_frame(rng: random.Random, good: list[bytes]) -> bytes:
    if rng.random() < 0.8:
        return damaged(rng, rng.choice(good))
    return rng.randbytes(rng.choice([0, 1, 13, 14, 15, 33, 34, 42, 60, 94, rng.randrange(2000)]))


def test_no_packet_upsets_the_switch() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    good = good_frames()
    assert len(good) > 10
    fabric, made = switch()
    left = 0
    for _ in range(COUNT // BATCH):
        frames = [random_frame(rng, good) for _ in range(BATCH)]
        fabric.inject_many("s", 5, frames, 0)
        longest = max(map(len, frames))
        out = fabric.poll()
        left += len(out)
        assert all(len(frame) <= longest + MAX_HEADER_BYTES for _, _, frame, _ in out)
    stats = made.stats()
    assert stats["rx"] == COUNT
    assert stats["tx"] == left > COUNT // 10
    balance(fabric)
    assert made.register_read_all("occupancy") == [0] * 256  # whatever was admitted has left


def test_random_packet_outs_do_no_harm() -> None:
    rng = random.Random(SEED)
    fabric, made = switch()
    good = good_frames()
    for _ in range(5000):
        made.packet_out(rng.randbytes(2) + random_frame(rng, good))
    fabric.poll()
    made.poll_packet_in()
    balance(fabric)
    assert made.stats()["rx"] == 5000

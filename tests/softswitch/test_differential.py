"""Random programming and random packets through the embedded switch and simple_switch_grpc, byte for byte.

What is compared is function, not the timing of queues: congestion limits are either 0 or out of reach, so no
answer depends on how many packets happen to wait.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from csaud_softswitch.exchange.bmv2 import Bmv2Target
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.exchange.target import Target, counters, direct_counters

from tests.softswitch.inputs import (
    LLDP,
    PORTS,
    csa,
    ether,
    group,
    insert,
    limits,
    lose,
    loss_notice,
    member,
    name,
    path,
    policy,
    route,
    trim,
    with_checksum,
)
from tests.softswitch.p4runtime_support import CONFIG, INDEX

BATCHES = 60
PACKETS = 12
"""A batch; libpcap has room for about 30 packets, and drops what BMv2 does not fetch in time."""
NAMES = Names(INDEX)
MODES = ("ecmp", "entropy", "random", "round_robin", "host_directed")


def ternary(chance: random.Random, width: int) -> str | None:
    """A random mask, or None for don't care; few bits, so that packets meet it."""
    mask = chance.getrandbits(width) & chance.getrandbits(width)
    return f"{chance.getrandbits(width) & mask}&&&{mask}" if mask else None


def programming(chance: random.Random) -> list[dict[str, Any]]:
    """Groups of random members and weights, routes to them, policies, limits, faults and signals."""
    updates = [member(number, chance.choice(PORTS)) for number in chance.sample(range(1, 100), 8)]
    ids = [update["insert"]["member"] for update in updates]
    for number in range(1, 6):
        chosen = chance.sample(ids, chance.randint(1, 5))
        updates.append(group(number, *((m, chance.randint(1, 4), None) for m in chosen)))
        updates.append(path(number, group=number))
    for number in range(6, 9):
        updates.append(path(number, member=chance.choice(ids)))
    for _ in range(12):
        length = chance.randint(8, 32)
        prefix = (
            (10 << 24 | chance.getrandbits(4) << 8 | chance.getrandbits(3)) >> (32 - length) << (32 - length)
        )
        dotted = ".".join(str(prefix >> shift & 255) for shift in (24, 16, 8, 0))
        updates.append(route(f"{dotted}/{length}", chance.randint(1, 9)))
    for priority in range(1, 8):
        mode = chance.choice(MODES)
        widths = {"group": 16, "kind": 2, "asked": 4, "cls": 3, "comm": 16}
        match = {key: found for key, width in widths.items() if (found := ternary(chance, width))}
        seed = {"seed": chance.getrandbits(32)} if mode in ("ecmp", "entropy", "random") else {}
        updates.append(policy(mode, priority, match, **seed))
    for port in PORTS:
        if chance.random() < 0.5:
            updates.append(limits(port, chance.choice([0, 65535]), chance.choice([0, 65535])))
        if chance.random() < 0.5:
            updates.append(trim(port, chance.getrandbits(6), chance.randint(0, 7)))
        if chance.random() < 0.6:
            kind = chance.choice([None, "1&&&3", "2&&&2"])
            updates.append(lose(port, chance.random(), chance.getrandbits(32), chance.getrandbits(1), kind))
    if chance.random() < 0.3:
        match = {"hdr.ethernet.ether_type": LLDP}
        updates.append(
            insert(table=name("punt.ether_type"), match=match, action=name("punt.to_cpu"), params={})
        )
    return updates


def packet(chance: random.Random) -> bytes:
    """Mostly packets of ours, some of them damaged."""
    dst = f"10.0.{chance.getrandbits(4)}.{chance.getrandbits(3)}"
    header = {
        "kind": chance.choice([0, 0, 0, 0, 1, 2, 9]),
        "flags": chance.getrandbits(8),
        "spray": chance.getrandbits(4),
        "criticality": chance.getrandbits(3),
        "comm": chance.getrandbits(16),
        "path_id": chance.getrandbits(16),
        "pkt_idx": chance.getrandbits(9),
        "attempt": chance.getrandbits(8),
        "tx_ts": chance.getrandbits(32),
    }
    what = chance.random()
    if what < 0.08:
        return loss_notice(**{key: header[key] for key in ("path_id", "comm", "criticality", "pkt_idx")})
    if what < 0.12:
        return ether(chance.randbytes(chance.randint(0, 60)), chance.choice([LLDP, 0x0806, 0x0800, 0x1234]))
    frame = csa(
        chance.choice([0, 1, 7, 64, 300, 1500, 4064]),
        dst=dst,
        src_port=0xC000 | chance.getrandbits(14),
        ttl=chance.choice([0, 1, 2, 64]) if what < 0.2 else 64,
        dst_qpn=chance.choice([1, 0x22, 0x22, 0x22]),
        **header,
    )
    if what < 0.28:
        return frame[: chance.randrange(14, len(frame))]
    if what < 0.36:
        damaged = bytearray(frame)
        damaged[chance.randrange(14, min(94, len(damaged)))] ^= 1 << chance.randrange(8)
        return bytes(damaged)
    if what < 0.42:
        return with_checksum(frame, udp_length=chance.getrandbits(16), ip_length=chance.getrandbits(16))
    return frame


def answers(target: Target, frames: list[tuple[int, bytes]], expected: int = 0) -> Counter[tuple[Any, ...]]:
    """What comes out for a batch; the order in which ports send is not part of it."""
    for port, frame in frames:
        target.send(port, frame)
    found: Counter[tuple[Any, ...]] = Counter((d.port, d.frame.hex()) for d in target.departures(expected))
    for packet_in in target.packet_ins():
        metadata = tuple((m.metadata_id, m.value.hex()) for m in packet_in.metadata)
        found[("cpu", metadata, packet_in.payload.hex())] += 1
    return found


@pytest.mark.bmv2
@pytest.mark.root
@pytest.mark.parametrize("seed", range(2))
def test_random_entries_and_packets(seed: int, tmp_path: Path) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    updates = [NAMES.update(update) for update in programming(chance)]
    soft = SoftTarget(CONFIG, PORTS)
    with Bmv2Target(CONFIG, PORTS, more_s=0.06) as bmv2:
        assert soft.write(updates) == bmv2.write(updates)
        for batch in range(BATCHES):
            port = chance.choice(PORTS)  # one port a batch: BMv2 keeps no order between its ports
            frames = [(port, packet(chance)) for _ in range(PACKETS)]
            ours = answers(soft, frames)
            theirs = answers(bmv2, frames, ours.total())
            assert ours == theirs, f"batch {batch}: only soft {ours - theirs}; only BMv2 {theirs - ours}"
        assert counters(soft) == counters(bmv2)
        assert direct_counters(soft, NAMES) == direct_counters(bmv2, NAMES)

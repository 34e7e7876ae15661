"""Random entries and random packets for the project's program, as two targets must treat them alike.

Function is drawn, not the timing of queues: each limit is either 0 or out of reach, and packets are sent one
after the other, so that no answer depends on how many happen to wait.
"""

from __future__ import annotations

import random
from typing import Any

from tests.softswitch.inputs import (
    LLDP,
    NEVER,
    PORTS,
    SECOND_PROFILE,
    bucket,
    clones,
    csa,
    ether,
    group,
    insert,
    limits,
    lose,
    loss_notice,
    mark,
    member,
    name,
    path,
    policy,
    probes_to_cpu,
    return_limits,
    route,
    signal,
    with_checksum,
)

SEEDED = ("ecmp", "entropy", "random", "least_queue", "flowlet")
MODES = (*SEEDED, "round_robin", "host_directed", "weighted")
SIGNALS = ("trim", "bounce", "both", "drop")
GROUPS = range(1, 9)
"""Path groups that routes may lead to; 9 has none."""

Updates = list[dict[str, Any]]


def ternary(chance: random.Random, width: int) -> str | None:
    """A random mask, or None for don't care; few bits, so that packets meet it."""
    mask = chance.getrandbits(width) & chance.getrandbits(width)
    return f"{chance.getrandbits(width) & mask}&&&{mask}" if mask else None


def programming(chance: random.Random) -> Updates:
    """Groups of random members and weights, routes, policies, buckets, limits, faults, signals, marks."""
    return [
        *_paths(chance),
        *_routes(chance),
        *_policies(chance),
        *(update for port in PORTS for update in _port(chance, port)),
        *([clones()] if chance.random() < 0.9 else []),
        *(probes_to_cpu(PORTS) if chance.random() < 0.3 else []),
    ]


def _paths(chance: random.Random) -> Updates:
    """Members, and groups of them; some groups have a second choice with members of its own."""
    updates = [member(number, chance.choice(PORTS)) for number in chance.sample(range(1, 100), 8)]
    ids = [update["insert"]["member"] for update in updates]
    seconds = [member(number, chance.choice(PORTS))["insert"] for number in range(1, 6)]
    updates += [{"insert": {**body, "profile": SECOND_PROFILE}} for body in seconds]
    for number in GROUPS[:5]:
        chosen = chance.sample(ids, chance.randint(1, 5))
        updates.append(group(number, *((m, chance.randint(1, 4), None) for m in chosen)))
        updates.append(path(number, group=number))
        if chance.random() < 0.7:
            rows = group(number, *((m, chance.randint(1, 2), None) for m in chance.sample(range(1, 6), 3)))
            updates.append({"insert": {**rows["insert"], "profile": SECOND_PROFILE}})
            updates.append(insert(table=name("spray.alternative"), match={"group": number}, group=number))
    for number in GROUPS[5:]:
        updates.append(path(number, member=chance.choice(ids)))
    return updates


def _routes(chance: random.Random) -> Updates:
    updates = []
    for _ in range(12):
        length = chance.randint(8, 32)
        address = 10 << 24 | chance.getrandbits(4) << 8 | chance.getrandbits(3)
        prefix = address >> (32 - length) << (32 - length)
        dotted = ".".join(str(prefix >> shift & 255) for shift in (24, 16, 8, 0))
        updates.append(route(f"{dotted}/{length}", chance.randint(1, 9)))
    return updates


def _policies(chance: random.Random) -> Updates:
    updates = []
    for priority in range(1, 9):
        mode = chance.choice(MODES)
        widths = {"group": 16, "kind": 2, "asked": 4, "cls": 3, "comm": 16}
        match = {key: found for key, width in widths.items() if (found := ternary(chance, width))}
        params = {"seed": chance.getrandbits(32)} if mode in SEEDED else {}
        if mode == "flowlet":
            params["gap"] = chance.choice([0, 1 << 40])  # each packet, or none, begins a flowlet
        updates.append(policy(mode, priority, match, **params))
    for number in GROUPS[:5]:
        for place in chance.sample(range(64), chance.choice([0, 5, 64])):
            updates.append(bucket(place, chance.getrandbits(16), number))
    return updates


def _port(chance: random.Random, port: int) -> Updates:
    updates = []
    if chance.random() < 0.6:
        at = [chance.choice([0, NEVER]) for _ in range(4)]
        updates.append(limits(port, at[0], at[1], no_trim_at=at[2], alarm_at=at[3]))
        if chance.random() < 0.5:
            updates.append(return_limits(port, chance.choice([0, NEVER]), chance.choice([0, NEVER])))
    for rank in range(1, chance.randint(1, 4)):
        match = {key: found for key, bits in (("no_trim", 1), ("cls", 3)) if (found := ternary(chance, bits))}
        updates.append(
            signal(
                chance.choice(SIGNALS),
                port,
                size=chance.choice([0, 94, 95, 98, 200, 1500, 65535]),
                dscp=chance.getrandbits(6),
                priority=chance.randint(0, 7),
                icrc=chance.getrandbits(1),
                match=match,
                rank=rank,
            )
        )
    if chance.random() < 0.4:
        kind = chance.choice([None, "1&&&3", "2&&&2"])
        updates.append(lose(port, chance.random(), chance.getrandbits(32), chance.getrandbits(1), kind))
    if chance.random() < 0.4:
        updates.append(
            mark(port, *chance.choice([(0, 0), (0, 1), (0, 9), (NEVER, NEVER)]), chance.getrandbits(32))
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
        src=f"10.0.{chance.getrandbits(4)}.{chance.getrandbits(3)}",
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
    if what < 0.7:
        return with_checksum(frame, ecn=chance.getrandbits(2))
    return frame

"""Random entries for tables.p4 and packets that look them up, by the names that exchanges use."""

from __future__ import annotations

import random
import struct
from typing import Any

FORMAT = ">BIHQQBIQ"  # the header of tables.p4; the wide key is two words
TABLES = 13
KEYS = (0x12, 0x13, 0x120, 0x0A000001, 0x0A010002, 0xFFFFFFFF)
PARTS = (0, 1, 7, 0x107)


def insert(**body: Any) -> dict[str, Any]:
    return {"insert": body}


def ternary(rng: random.Random, values: tuple[int, ...], bits: int) -> str:
    mask = rng.getrandbits(bits) | 1
    return f"{rng.choice(values) & mask}&&&{mask}"


def prefix(rng: random.Random) -> str:
    length = rng.randint(1, 32)
    return f"{rng.choice(KEYS) >> (32 - length) << (32 - length)}/{length}"


def span(rng: random.Random) -> str:
    low, high = sorted(rng.choice(KEYS) + rng.choice((-1, 0, 0, 1)) & 0xFFFFFFFF for _ in range(2))
    return f"{low}..{high}"


def entry(rng: random.Random, number: int) -> dict[str, Any]:
    k, j = rng.choice(KEYS), rng.choice(PARTS)
    keys: list[tuple[str, dict[str, Any], bool]] = [
        ("I.exact_one", {"hdr.key.k": k, "hdr.key.j": j}, False),
        ("I.exact_wide", {"hdr.key.wide": k << 70 | j}, False),
        ("I.longest", {"hdr.key.j": j, "hdr.key.k": prefix(rng)}, False),
        ("I.masked", {"hdr.key.k": ternary(rng, KEYS, 32), "hdr.key.j": j}, True),
        ("I.ranged", {"hdr.key.k": span(rng), "hdr.key.j": ternary(rng, PARTS, 16)}, True),
        ("I.maybe", {"hdr.key.k": k} if rng.random() < 0.5 else {"hdr.key.j": j}, True),
        ("I.branches", {"hdr.key.k": k}, False),
    ]
    table, match, prioritised = rng.choice(keys)
    found = insert(table=table, match=match, action="I.set_r", params={"r": number & 0xFF})
    if prioritised:
        found["insert"]["priority"] = number + 1  # all different: who wins is the switch's to say
    return found


def programming(rng: random.Random) -> list[dict[str, Any]]:
    """Some of these are refused, as duplicates or because a table is full."""
    updates = [entry(rng, number) for number in range(60)]
    for number in rng.sample(range(1, 40), 6):
        for profile in ("I.profile", "I.selected", "I.by_index"):
            updates.append(insert(profile=profile, member=number, action="I.set_r", params={"r": number}))
    members = [u["insert"]["member"] for u in updates if u["insert"].get("profile") == "I.selected"]
    for profile, table in (("I.selected", "I.hashed"), ("I.by_index", "I.chosen")):
        for number, k in enumerate(KEYS[:3], start=1):
            chosen = rng.sample(members, rng.randint(1, 5))
            rows = [{"member": m, "weight": rng.randint(1, 3)} for m in chosen]
            updates.append(insert(profile=profile, group=number, members=rows))
            updates.append(insert(table=table, match={"hdr.key.k": k}, group=number))
    for k in KEYS:
        updates.append(insert(table="I.indirect", match={"hdr.key.k": k}, member=rng.choice(members)))
    return updates


def frame(rng: random.Random) -> bytes:
    k = rng.choice(KEYS) ^ (1 << rng.randrange(32) if rng.random() < 0.2 else 0)
    j = rng.choice(PARTS)
    wide = rng.choice(KEYS) << 70 | j
    return struct.pack(
        FORMAT, rng.randrange(TABLES), k, j, wide >> 64, wide & ((1 << 64) - 1), rng.randrange(256), 0, 0
    )

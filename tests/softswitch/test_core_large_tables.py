"""Tables while many entries come and go: always what a scan of the entries says."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs
from tests.softswitch.test_core_tables import (
    EXACT_ONE,
    EXACT_WIDE,
    LONGEST,
    MASKED,
    MISSED,
    RANGED,
    Lookup,
    b,
    exact,
    set_r,
)

SEED = 31
STEPS = 3000
SIZES = 1 << 14

Key = tuple[int, ...]
"""What an entry is by: its masked values, its masks or bounds, and its rank."""


def sized(lookup: Lookup) -> _core.Switch:
    """The same program with tables that hold more."""
    document = json.loads(programs.json_of("tables"))
    for pipeline in document["pipelines"]:
        for table in pipeline["tables"]:
            table["max_size"] = SIZES
    lookup.switch.load(json.dumps(document))
    return lookup.switch


@pytest.fixture
def lookup() -> Lookup:
    return Lookup()


def churn(
    rng: random.Random,
    switch: _core.Switch,
    table: str,
    draw: Callable[[], tuple[Key, list[object], int]],
    check: Callable[[dict[Key, int]], None],
) -> None:
    """Entries are inserted while there are few, deleted while there are many, and looked up all the time."""
    held: dict[Key, int] = {}
    matches: dict[Key, tuple[list[object], int]] = {}
    growing = True
    for step in range(STEPS):
        growing = len(held) < 20 or (growing and len(held) < 400)
        if growing or not held:
            key, match, priority = draw()
            if key in held:
                continue
            switch.table_insert(table, match, priority, set_r(step % 200))
            held[key], matches[key] = step % 200, (match, priority)
        else:
            key = rng.choice(list(held))
            switch.table_delete(table, *matches.pop(key))
            del held[key]
        if step % 3 == 0:
            check(held)
    assert len(switch.table_entries(table)) == len(held)


def test_exact_entries(lookup: Lookup) -> None:
    rng = random.Random(SEED)
    print(f"seed {SEED}")

    def draw() -> tuple[Key, list[object], int]:
        k, j = rng.randrange(40), rng.randrange(40)
        return (k, j), [exact(k), exact(j, 2)], 0

    def check(held: dict[Key, int]) -> None:
        k, j = rng.choice([*held, (rng.randrange(40), rng.randrange(40))])
        assert lookup.r(EXACT_ONE, k, j) == held.get((k, j), MISSED)

    churn(rng, sized(lookup), "I.exact_one", draw, check)


@pytest.mark.parametrize("spread", [60, 600, 6000, 60_000])
def test_numbers_close_together_and_far_apart(lookup: Lookup, spread: int) -> None:
    """16 bits: an array while the numbers are close together, a hash index when one is far away, and back."""
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    document = json.loads(programs.json_of("tables"))
    for pipeline in document["pipelines"]:
        for table in pipeline["tables"]:
            table["max_size"] = SIZES
            if table["name"] == "I.exact_wide":
                [key] = table["key"]
                key["target"][1] = "j"
    lookup.switch.load(json.dumps(document))

    def draw() -> tuple[Key, list[object], int]:
        j = rng.randrange(spread if rng.random() < 0.02 else 600)
        return (j,), [exact(j, 2)], 0

    def check(held: dict[Key, int]) -> None:
        for (j,) in [rng.choice([*held, (0,)]), (rng.randrange(600),), (rng.randrange(1 << 16),)]:
            assert lookup.r(EXACT_WIDE, j=j) == held.get((j,), MISSED)

    churn(rng, lookup.switch, "I.exact_wide", draw, check)


def test_prefixes(lookup: Lookup) -> None:
    rng = random.Random(SEED)
    print(f"seed {SEED}")

    def draw() -> tuple[Key, list[object], int]:
        length = rng.randrange(33)
        value = rng.getrandbits(12) << 20 | rng.getrandbits(3)
        value = value >> (32 - length) << (32 - length) if length else 0
        return (value, length), [exact(1, 2), ("lpm", b(value), length)], 0

    def check(held: dict[Key, int]) -> None:
        k = rng.choice([key[0] for key in held] + [0]) ^ rng.choice((0, 1, 2, 1 << 19, 1 << 25))
        hits = [(n, r) for (value, n), r in held.items() if k >> (32 - n) == value >> (32 - n)]
        assert lookup.r(LONGEST, k, 1) == (max(hits)[1] if hits else MISSED)

    churn(rng, sized(lookup), "I.longest", draw, check)


def test_masks_under_priorities(lookup: Lookup) -> None:
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    priorities = iter(rng.sample(range(1, 1 << 20), STEPS))

    def draw() -> tuple[Key, list[object], int]:
        mask = rng.choice((0, 0xF, 0xF0, 0xFF, 0x3C, 0xFF00FF))
        value, j, priority = rng.getrandbits(8) & mask, rng.randrange(3), next(priorities)
        return (
            (value, mask, j, priority),
            [("ternary", b(value), b(mask)) if mask else None, exact(j, 2)],
            priority,
        )

    def check(held: dict[Key, int]) -> None:
        k, j = rng.getrandbits(8), rng.randrange(3)
        hits = [(p, r) for (value, mask, g, p), r in held.items() if g == j and k & mask == value]
        assert lookup.r(MASKED, k, j) == (max(hits)[1] if hits else MISSED)

    churn(rng, sized(lookup), "I.masked", draw, check)


def test_ranges_beside_masks(lookup: Lookup) -> None:
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    priorities = iter(rng.sample(range(1, 1 << 20), STEPS))

    def draw() -> tuple[Key, list[object], int]:
        low = rng.randrange(60)
        high, mask, priority = rng.randrange(low, 64), rng.choice((0, 1, 2, 3)), next(priorities)
        value = rng.getrandbits(2) & mask
        match = [("range", b(low), b(high)), ("ternary", b(value, 2), b(mask, 2)) if mask else None]
        return (low, high, value, mask, priority), match, priority

    def check(held: dict[Key, int]) -> None:
        k, j = rng.randrange(64), rng.getrandbits(2)
        hits = [
            (p, r)
            for (low, high, value, mask, p), r in held.items()
            if low <= k <= high and j & mask == value
        ]
        assert lookup.r(RANGED, k, j) == (max(hits)[1] if hits else MISSED)

    churn(rng, sized(lookup), "I.ranged", draw, check)

"""Tables of every match kind: what they match, and what a control plane is told."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

EXACT_ONE, EXACT_WIDE, LONGEST, MASKED, RANGED, MAYBE, CONSTANT, CONSTANT_PREFIX, INDIRECT = range(9)
BRANCHES, SLICED = 11, 12
MISSED = 0xEE
FORMAT = ">BIHQQBIQ"
SEED = 23


def frame(which: int, k: int = 0, j: int = 0, wide: int = 0, r: int = 0) -> bytes:
    return struct.pack(FORMAT, which, k, j, wide >> 64, wide & ((1 << 64) - 1), r, 0, 0)


class Lookup:
    """A switch with tables.p4: `which` chooses the table, the answer is the header that comes back."""

    def __init__(self) -> None:
        self.fabric, self.switch = programs.loaded("tables")

    def header(self, which: int, k: int = 0, j: int = 0, wide: int = 0, r: int = 0) -> tuple[int, ...]:
        [(_, out)] = programs.send(self.fabric, frame(which, k, j, wide, r))
        return struct.unpack(FORMAT, out)

    def r(self, which: int, k: int = 0, j: int = 0, wide: int = 0) -> int:
        return self.header(which, k, j, wide)[5]


def b(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "big")


def set_r(value: int) -> tuple[str, str, Sequence[bytes]]:
    return ("action", "I.set_r", [bytes([value])])


def exact(value: int, size: int = 4) -> tuple[str, bytes]:
    return ("exact", b(value, size))


@pytest.fixture
def lookup() -> Lookup:
    return Lookup()


def test_exact(lookup: Lookup) -> None:
    s = lookup.switch
    s.table_insert("I.exact_one", [exact(7), exact(8, 2)], 0, set_r(1))
    s.table_insert(
        "I.exact_one", [exact(7), exact(9, 2)], 0, ("action", "I.set_data", [b(0xABCD), b(1 << 63, 8)])
    )
    s.table_insert("I.exact_one", [exact(8), exact(8, 2)], 0, ("action", "I.set_wide", [b(3 << 100 | 5, 16)]))
    assert lookup.r(EXACT_ONE, 7, 8) == 1
    assert lookup.header(EXACT_ONE, 7, 9)[6:] == (0xABCD, 1 << 63)
    assert lookup.header(EXACT_ONE, 8, 8)[3:5] == (3 << 36, 5)
    assert lookup.r(EXACT_ONE, 8, 9) == MISSED
    s.table_modify("I.exact_one", [exact(7), exact(8, 2)], 0, set_r(2))
    assert lookup.r(EXACT_ONE, 7, 8) == 2
    s.table_delete("I.exact_one", [exact(7), exact(8, 2)], 0)
    assert lookup.r(EXACT_ONE, 7, 8) == MISSED


def test_keys_of_128_bits(lookup: Lookup) -> None:
    one, other = 1 << 127 | 1, 1 << 127 | 1 << 64 | 1
    lookup.switch.table_insert("I.exact_wide", [exact(one, 16)], 0, set_r(1))
    assert lookup.r(EXACT_WIDE, wide=one) == 1
    assert lookup.r(EXACT_WIDE, wide=other) == MISSED
    [(match, priority, action)] = lookup.switch.table_entries("I.exact_wide")
    assert (match, priority, action) == ([exact(one, 16)], 0, ("action", "I.set_r", [b"\x01"]))


def test_the_longest_prefix_wins_whatever_the_order(lookup: Lookup) -> None:
    prefixes = [(0, 0), (0x0A000000, 8), (0x0A010000, 16), (0x0A010100, 24), (0x0A010101, 32)]
    random.Random(SEED).shuffle(prefixes)
    for value, length in prefixes:
        match = [exact(3, 2), ("lpm", b(value), length) if length else None]
        lookup.switch.table_insert("I.longest", match, 0, set_r(length))
    for k, length in [(0x0A010101, 32), (0x0A010102, 24), (0x0A010201, 16), (0x0A020101, 8), (0x0B000000, 0)]:
        assert lookup.r(LONGEST, k, 3) == length
        assert lookup.r(LONGEST, k, 4) == MISSED  # the exact part of the key
    lookup.switch.table_delete("I.longest", [exact(3, 2), ("lpm", b(0x0A010100), 24)], 0)
    assert lookup.r(LONGEST, 0x0A010102, 3) == 16


def test_bits_behind_a_prefix_do_not_make_another_entry(lookup: Lookup) -> None:
    lookup.switch.table_insert("I.longest", [exact(3, 2), ("lpm", b(0x0A000001), 8)], 0, set_r(1))
    with pytest.raises(_core.AlreadyExists):
        lookup.switch.table_insert("I.longest", [exact(3, 2), ("lpm", b(0x0A000002), 8)], 0, set_r(1))
    assert lookup.r(LONGEST, 0x0A000003, 3) == 1


def test_the_greater_priority_wins(lookup: Lookup) -> None:
    s = lookup.switch
    for priority, mask in [(10, 0xFF), (30, 0xFF00), (20, 0xFFFF)]:
        s.table_insert(
            "I.masked", [("ternary", b(0x1234 & mask), b(mask)), exact(1, 2)], priority, set_r(priority)
        )
    assert lookup.r(MASKED, 0x1234, 1) == 30
    assert lookup.r(MASKED, 0x34, 1) == 10
    assert lookup.r(MASKED, 0x1234, 2) == MISSED
    s.table_delete("I.masked", [("ternary", b(0x1200), b(0xFF00)), exact(1, 2)], 30)
    assert lookup.r(MASKED, 0x1234, 1) == 20


def test_of_equal_priorities_the_first_entry_stays_in_force(lookup: Lookup) -> None:
    lookup.switch.table_insert("I.masked", [("ternary", b(1), b(0xF)), exact(1, 2)], 5, set_r(1))
    lookup.switch.table_insert("I.masked", [("ternary", b(1), b(0xFF)), exact(1, 2)], 5, set_r(2))
    assert lookup.r(MASKED, 1, 1) == 1


def test_ternary_lookup_is_that_of_a_scan_of_all_entries(lookup: Lookup) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    entries = []
    for number in range(60):
        mask, group = rng.getrandbits(4), rng.randrange(3)
        value = rng.getrandbits(4) & mask
        match = [("ternary", b(value), b(mask)) if mask else None, exact(group, 2)]
        lookup.switch.table_insert("I.masked", match, number + 1, set_r(number))
        entries.append((number + 1, value, mask, group))
    for k in range(16):
        for j in range(3):
            hits = [p for p, value, mask, group in entries if group == j and k & mask == value]
            assert lookup.r(MASKED, k, j) == (max(hits) - 1 if hits else MISSED)


def test_ranges_include_both_ends(lookup: Lookup) -> None:
    s = lookup.switch
    s.table_insert("I.ranged", [("range", b(10), b(20)), ("ternary", b(1, 2), b(1, 2))], 1, set_r(1))
    s.table_insert("I.ranged", [None, ("ternary", b(4, 2), b(4, 2))], 2, set_r(2))
    assert [lookup.r(RANGED, k, 1) for k in (9, 10, 15, 20, 21)] == [MISSED, 1, 1, 1, MISSED]
    assert lookup.r(RANGED, 15, 5) == 2
    assert lookup.r(RANGED, 0xFFFFFFFF, 4) == 2
    with pytest.raises(_core.InvalidArgument, match="low end of the range"):
        s.table_insert("I.ranged", [("range", b(2), b(1)), None], 1, set_r(1))


def test_optional(lookup: Lookup) -> None:
    s = lookup.switch
    s.table_insert("I.maybe", [("optional", b(5)), None], 1, set_r(1))
    s.table_insert("I.maybe", [("optional", b(5)), ("optional", b(6, 2))], 2, set_r(2))
    assert [lookup.r(MAYBE, 5, 0), lookup.r(MAYBE, 5, 6), lookup.r(MAYBE, 6, 6)] == [1, 2, MISSED]


def test_entries_of_the_program_itself(lookup: Lookup) -> None:
    assert [lookup.r(CONSTANT, k) for k in (0x10, 0x12, 0x22)] == [1, 1, 3]  # the first that matches
    assert [lookup.r(CONSTANT_PREFIX, k) for k in (0x0A020000, 0x0A010000, 0x0B000000)] == [8, 16, MISSED]
    priorities = [priority for _, priority, _ in lookup.switch.table_entries("I.constant")]
    assert priorities == sorted(priorities, reverse=True)
    for change in (lookup.switch.table_insert, lookup.switch.table_modify):
        with pytest.raises(_core.FailedPrecondition, match=r"I\.constant"):
            change("I.constant", [("ternary", b(1), b(1))], 1, set_r(1))
    with pytest.raises(_core.FailedPrecondition):
        lookup.switch.table_clear("I.constant")


def test_a_key_may_be_a_part_of_a_field(lookup: Lookup) -> None:
    lookup.switch.table_insert("I.sliced", [exact(0x120), exact(7, 2)], 0, set_r(1))
    assert [lookup.r(SLICED, k, j) for k, j in ((0x129, 7), (0xF129, 0x107), (0x139, 7), (0x120, 8))] == [
        1,
        1,
        MISSED,
        MISSED,
    ]


def test_hit_and_miss_branch(lookup: Lookup) -> None:
    lookup.switch.table_insert("I.branches", [exact(5)], 0, ("action", "I.other", []))
    assert lookup.header(BRANCHES, 5, r=9)[5:7] == (10, 1)
    assert lookup.header(BRANCHES, 6, r=9)[5:7] == (9, 2)


def test_default_action(lookup: Lookup) -> None:
    s = lookup.switch
    assert s.table_get_default("I.exact_one") == ("action", "I.missed", [])
    s.table_set_default("I.exact_one", set_r(9))
    assert lookup.r(EXACT_ONE, 1, 1) == 9
    assert s.table_get_default("I.exact_one") == ("action", "I.set_r", [b"\x09"])
    s.table_set_default("I.exact_one", None)
    assert lookup.r(EXACT_ONE, 1, 1) == MISSED
    with pytest.raises(_core.FailedPrecondition, match="fixed by the program"):
        s.table_set_default("I.exact_wide", set_r(9))


def test_direct_counters_count_hits_of_their_entry(lookup: Lookup) -> None:
    s = lookup.switch
    s.table_insert("I.exact_one", [exact(1), exact(1, 2)], 0, set_r(1))
    for _ in range(3):
        lookup.r(EXACT_ONE, 1, 1)
    lookup.r(EXACT_ONE, 2, 2)
    size = struct.calcsize(FORMAT)
    assert s.direct_counter("I.exact_one", [exact(1), exact(1, 2)], 0) == (3, 3 * size)
    assert s.direct_counter_default("I.exact_one") == (1, size)
    s.direct_counter_write("I.exact_one", [exact(1), exact(1, 2)], 0, 100, 7)
    lookup.r(EXACT_ONE, 1, 1)
    assert s.direct_counter("I.exact_one", [exact(1), exact(1, 2)], 0) == (101, 7 + size)
    s.table_modify("I.exact_one", [exact(1), exact(1, 2)], 0, set_r(2))
    assert s.direct_counter("I.exact_one", [exact(1), exact(1, 2)], 0)[0] == 101
    with pytest.raises(_core.InvalidArgument, match="no direct counter"):
        s.direct_counter_default("I.longest")


def test_errors_name_what_is_wrong(lookup: Lookup) -> None:
    s = lookup.switch
    key = [exact(1), exact(1, 2)]
    with pytest.raises(KeyError, match="no table 'nothing'"):
        s.table_insert("nothing", key, 0, set_r(1))
    with pytest.raises(KeyError, match=r"I\.exact_one.*no action 'other'"):
        s.table_insert("I.exact_one", key, 0, ("action", "other", []))
    with pytest.raises(_core.InvalidArgument, match="1 match fields, expected 2"):
        s.table_insert("I.exact_one", [exact(1)], 0, set_r(1))
    with pytest.raises(_core.InvalidArgument, match=r"hdr\.key\.j.*wider than 16 bits"):
        s.table_insert("I.exact_one", [exact(1), exact(1 << 16, 3)], 0, set_r(1))
    with pytest.raises(_core.InvalidArgument, match="expected an exact value"):
        s.table_insert("I.exact_one", [("lpm", b(1), 8), exact(1, 2)], 0, set_r(1))
    with pytest.raises(_core.InvalidArgument, match="prefix length 33"):
        s.table_insert("I.longest", [exact(1, 2), ("lpm", b(1), 33)], 0, set_r(1))
    with pytest.raises(_core.InvalidArgument, match="has no priorities"):
        s.table_insert("I.exact_one", key, 3, set_r(1))
    with pytest.raises(_core.InvalidArgument, match="2 parameters, expected 1"):
        s.table_insert("I.exact_one", key, 0, ("action", "I.set_r", [b"\1", b"\2"]))
    with pytest.raises(_core.InvalidArgument, match="no action profile"):
        s.table_insert("I.exact_one", key, 0, ("member", 1))
    with pytest.raises(_core.NotFound):
        s.table_modify("I.exact_one", key, 0, set_r(1))
    with pytest.raises(_core.NotFound):
        s.table_delete("I.exact_one", key, 0)
    s.table_insert("I.exact_one", key, 0, set_r(1))
    with pytest.raises(_core.AlreadyExists):
        s.table_insert("I.exact_one", key, 0, set_r(2))
    for number in range(2, 5):
        s.table_insert("I.exact_one", [exact(number), exact(1, 2)], 0, set_r(1))
    with pytest.raises(_core.ResourceExhausted, match="4 entries at most"):
        s.table_insert("I.exact_one", [exact(9), exact(1, 2)], 0, set_r(1))
    assert len(s.table_entries("I.exact_one")) == 4  # nothing that failed has left a trace


def test_many_entries_come_and_go(lookup: Lookup) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    held: dict[tuple[int, int], int] = {}
    for step in range(2000):
        length = rng.randrange(1, 7)
        value = rng.getrandbits(length) << (32 - length)
        match = [exact(1, 2), ("lpm", b(value), length)]
        if (value, length) in held:
            lookup.switch.table_delete("I.longest", match, 0)
            del held[value, length]
        elif len(held) < 64:
            lookup.switch.table_insert("I.longest", match, 0, set_r(step % 200))
            held[value, length] = step % 200
        k = rng.getrandbits(32)
        hits = [(n, r) for (v, n), r in held.items() if k >> (32 - n) == v >> (32 - n)]
        assert lookup.r(LONGEST, k, 1) == (max(hits)[1] if hits else MISSED)
    assert len(lookup.switch.table_entries("I.longest")) == len(held)
    lookup.switch.table_clear("I.longest")
    assert lookup.switch.table_entries("I.longest") == []
    assert lookup.r(LONGEST, 0, 1) == MISSED


def test_what_a_program_has_is_described(lookup: Lookup) -> None:
    tables = {table["name"]: table for table in lookup.switch.tables()}
    assert tables["I.longest"]["keys"] == [
        {"name": "hdr.key.j", "match_type": "exact", "width": 16},
        {"name": "hdr.key.k", "match_type": "lpm", "width": 32},
    ]
    assert tables["I.exact_one"]["direct_counter"] == "I.hits"
    assert tables["I.exact_one"]["size"] == 4
    assert {"name": "I.set_data", "params": [("data", 32), ("more", 64)]} in tables["I.exact_one"]["actions"]
    assert tables["I.constant"]["const_entries"] and tables["I.constant"]["const_default"]
    assert tables["I.hashed"]["profile"] == "I.selected"
    assert {"name": "I.seen", "size": 16, "table": None} in lookup.switch.counters()

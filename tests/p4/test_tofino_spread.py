"""How p4src/tna spreads by a seed, computed: no chip and no model of one is needed for what is arithmetic.

The hash units' CRCs are those of the text; the addition, the seed and the fold are done as `spray.p4` says.
"""

import itertools
import random
import re

import pytest
from csaud_controller.base.seeds import derive
from csaud_controller.inventory import fat_tree

from tests.p4.test_tofino import TNA, code

FLOWS = 4096
WORD = 0xFFFFFFFF
CRC32, SECOND, FOLD = (32, 0x04C11DB7, WORD, WORD), (32, 0x1EDC6F41, WORD, WORD), (16, 0x8BB7, 0, 0)
"""Width, polynomial, start, what the end is added to; all are reflected."""


def crc(data: bytes, width: int, polynomial: int, start: int, end: int) -> int:
    reflected = int(f"{polynomial:0{width}b}"[::-1], 2)
    value = start
    for octet in data:
        value ^= octet
        for _ in range(8):
            value = value >> 1 ^ (reflected if value & 1 else 0)
    return value ^ end


@pytest.fixture(scope="module")
def hashes() -> list[tuple[int, int]]:
    """Of flows between two hosts that differ in a port, as the flows of a job do."""
    drawn = random.Random(1)
    pairs = bytes.fromhex("0a0002010a00010106")
    ports = [drawn.randrange(1024, 65536).to_bytes(2, "big") + b"\x13\x89" for _ in range(FLOWS)]
    return [(crc(pairs + port, *CRC32), crc(pairs + port, *SECOND)) for port in ports]


def indices(hashes: list[tuple[int, int]], seed: int) -> list[int]:
    fold = [crc(bytes([octet]), *FOLD) for octet in range(256)]  # linear: of a word, by its octets
    found = []
    for a, b in hashes:
        value = 0
        for octet in (a + (b ^ seed) & WORD).to_bytes(4, "big"):
            value = value >> 8 ^ fold[(value ^ octet) & 0xFF]
        found.append(value)
    return found


def test_the_text_does_what_is_computed_here() -> None:
    spray, hashing = code(TNA / "spray.p4"), code(TNA / "random.p4")
    assert "meta.hash_b = meta.hash_b ^ seed" in spray
    assert re.search(
        r"mixed = meta.hash_a \+ meta.hash_b;\s*meta.index = fold.get\(\{ meta.mixed \}\)", spray
    )
    assert "Hash<bit<16>>(HashAlgorithm_t.CUSTOM, FOLDING_CRC) fold" in spray
    assert "FOLDING_CRC CRCPolynomial<bit<16>>(16w0x8BB7, true, false, false, 16w0, 16w0)" in hashing
    assert "0x1EDC6F41, true, false, false, 32w0xFFFFFFFF, 32w0xFFFFFFFF" in hashing


@pytest.mark.parametrize("ways", [2, 4])
def test_what_one_tier_sends_one_way_the_next_spreads(hashes: list[tuple[int, int]], ways: int) -> None:
    """Of every two switches of a fat-tree, whatever their seeds have in common: no way gets less than two
    thirds of its part."""
    names = list(fat_tree(4).switches)
    chosen = {name: [i % ways for i in indices(hashes, derive(1, "spray", name))] for name in names}
    for first, second in itertools.permutations(names, 2):
        for way in range(ways):
            onward = [b for a, b in zip(chosen[first], chosen[second], strict=True) if a == way]
            shares = [onward.count(other) / len(onward) for other in range(ways)]
            assert min(shares) > 2 / 3 / ways, (first, second, shares)


def test_paths_that_differ_in_few_bits_use_all_ways() -> None:
    """What a CRC alone would not do: 16 path ids of one pair of hosts, spread by `entropy`."""
    pairs = bytes.fromhex("0a0002010a000101")
    paths = [
        (crc(pairs + n.to_bytes(2, "big"), *CRC32), crc(pairs + n.to_bytes(2, "big"), *SECOND))
        for n in range(64)
    ]
    for name in fat_tree(4).switches:
        ways = [i % 4 for i in indices(paths, derive(1, "spray", name))]
        assert min(ways.count(way) for way in range(4)) >= 4, (name, ways)


def test_a_miss_of_the_second_choice_keeps_the_first() -> None:
    """What the second choice left unwritten is port 0, which is the controller's on Tofino 2."""
    spray = code(TNA / "spray.p4")
    assert "meta.second_found = 1" in spray[spray.index("action forward_alternative") :].split("}")[0]
    assert "if (meta.second_found == 1 && meta.room != 0)" in spray

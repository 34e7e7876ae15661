"""CRC-32 by every way that this processor has is zlib's."""

import random
import zlib

import csaud_testnet

LONGEST = 4200


def test_every_length_and_alignment_gives_what_zlib_gives() -> None:
    chance = random.Random(20261123)
    data = chance.randbytes(LONGEST + 64)
    for size in range(LONGEST + 1):
        for begin in {chance.randrange(64), size % 16}:
            seed = chance.choice((0, 0xFFFFFFFF, chance.getrandbits(32)))
            want = zlib.crc32(data[begin : begin + size], seed)
            found = csaud_testnet.crc32_by_all(seed, data, begin, size)
            assert set(found) == {want}, (size, begin, seed)


def test_a_crc_goes_on_where_one_ended() -> None:
    chance = random.Random(7)
    data = chance.randbytes(LONGEST)
    for _ in range(300):
        cut = chance.randrange(LONGEST)
        first = csaud_testnet.crc32_by_all(0, data, 0, cut)[0]
        assert csaud_testnet.crc32_by_all(first, data, cut, LONGEST - cut)[0] == zlib.crc32(data)


def test_first_bytes_may_count_as_ones() -> None:
    chance = random.Random(20261127)
    data = chance.randbytes(LONGEST + 64)
    for size in [*range(48, 600), *(chance.randrange(600, LONGEST) for _ in range(200))]:
        ones = bytes(chance.choice((0, 0, 0xFF, chance.getrandbits(8))) for _ in range(48))
        begin, seed = chance.randrange(64), chance.getrandbits(32)
        part = data[begin : begin + size]
        want = zlib.crc32(bytes(a | b for a, b in zip(part, ones, strict=False)) + part[48:], seed)
        assert set(csaud_testnet.masked_crc32_by_all(seed, data, begin, size, ones)) == {want}, (size, begin)

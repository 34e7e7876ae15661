"""Random frames for a program that nobody looked at: bytes without a form, and common packets."""

from __future__ import annotations

import random

from tests.evidence.tutorials.frames import ethernet, ipv4, tcp

LONGEST = 160
ETHER_TYPES = (0x0800, 0x0806, 0x86DD, 0x8100, 0x0801, 0x1234, 0xFFFF, 0)


def frame(chance: random.Random) -> bytes:
    """One of any length."""
    return chance.choice((_bytes, _few_values, _typed, _routed, _routed))(chance)


def _bytes(chance: random.Random) -> bytes:
    return chance.randbytes(chance.randrange(1, LONGEST))


def _few_values(chance: random.Random) -> bytes:
    """Values that programs compare with: flags, small numbers, the ends of a range."""
    values = chance.sample((0, 1, 2, 3, 4, 5, 8, 0x0F, 0x40, 0x80, 0xAA, 0xFE, 0xFF), 3)
    return bytes(chance.choice(values) for _ in range(chance.randrange(1, LONGEST)))


def _typed(chance: random.Random) -> bytes:
    return ethernet(chance, chance.choice(ETHER_TYPES), chance.randbytes(chance.randrange(LONGEST)))


def _routed(chance: random.Random) -> bytes:
    protocol = chance.choice((6, 6, 17, 17, 1, 4, chance.randrange(256)))
    payload = chance.randbytes(chance.randrange(60))
    if protocol == 6:
        payload = tcp(chance.getrandbits(16), chance.getrandbits(16), chance.getrandbits(6), payload)
    address = ".".join(str(chance.choice((10, 0, 1, 2, 255))) for _ in range(4))
    whole = ethernet(chance, 0x0800, ipv4(chance, address, payload, protocol=protocol))
    return whole if chance.random() < 0.8 else whole[: chance.randrange(14, len(whole))]

"""Expressions of the native core against the same arithmetic in Python."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.softswitch import programs

M32, M64, M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
SEED = 11


@dataclass(frozen=True)
class Word:
    """The header of arith.p4."""

    op: int
    x: int
    x16: int
    a: int
    b: int
    m: int
    c: int
    d: int
    s: int
    t: int
    f5: int
    f11: int
    r: int
    w: int

    @classmethod
    def parse(cls, frame: bytes) -> Word:
        op, x, x16, a, b, m, c, d, s, t, f, r, high, low = struct.unpack_from(programs.ARITH, frame)
        return cls(
            op, x, x16, a, b, int.from_bytes(m, "big"), c, d, s, t, f >> 11, f & 0x7FF, r, high << 64 | low
        )


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def shl(value: int, by: int, bits: int) -> int:
    return (value << by) & ((1 << bits) - 1)


def saturated(value: int) -> int:
    return clamp(value, -(1 << 31), (1 << 31) - 1)


R: dict[int, Callable[[Word], int]] = {
    0: lambda h: (h.a + h.b) & M32,
    1: lambda h: (h.a - h.b) & M32,
    2: lambda h: (h.a * h.b) & M32,
    3: lambda h: shl(h.a, h.x, 32),
    4: lambda h: h.c >> h.x,
    5: lambda h: (h.a & h.b) | (~h.a & M32 ^ h.b),
    6: lambda h: (h.c * h.d) & M64,
    7: lambda h: (h.c + h.d) & M64,
    8: lambda h: (h.c - h.d) & M64,
    9: lambda h: min(h.a + h.b, M32),
    10: lambda h: max(h.a - h.b, 0),
    11: lambda h: 1 if h.s < h.t else 2,
    12: lambda h: (h.s + h.t) & M32,
    13: lambda h: (h.s >> h.x) & M32,
    16: lambda h: h.a << 32 | h.b,
    17: lambda h: h.c >> 16 & M32,
    18: lambda h: h.a & 0xFF,
    19: lambda h: max(h.c, h.d),
    20: lambda h: int((h.a == h.b or h.c != h.d) and not h.x16 < 5),
    21: lambda h: h.m << 16 | h.x16,
    22: lambda h: (signed(h.c, 64) >> 3) & M64,
    23: lambda h: -h.a & M32,
    24: lambda h: h.r & ~0xFF00 | h.x << 8,
    25: lambda h: ((h.c << 64 | h.d) ^ (h.d << 64 | h.c)) >> 32 & M64,
    27: lambda h: (h.a + h.b) & ((1 << 33) - 1),
    28: lambda h: int(h.a > h.b),
    29: lambda h: signed(h.x, 7) & M32,
    30: lambda h: ((h.a * h.b & M32) >> 16) ^ ((h.c + h.d) & 0xFFFF0000FFFF0000),
    32: lambda h: h.c if (int(h.c == h.d) << 32 | 7) == 7 else shl(1, h.x, 64),
    33: lambda h: int((h.w & (h.c << 64 | h.d) | 1) == 1),
    35: lambda h: min(h.c + h.d, M64),
    36: lambda h: max(h.c - h.d, 0),
    37: lambda h: 1 if h.s == h.t else 2 if h.s <= h.t else 3,
    38: lambda h: -h.s & M32,
    39: lambda h: (h.m + h.x16) & ((1 << 48) - 1),
}
OTHERS: dict[int, Callable[[Word], Word]] = {
    14: lambda h: replace(h, s=saturated(h.s + h.t)),
    15: lambda h: replace(h, s=saturated(h.s - h.t)),
    25: lambda h: replace(h, w=h.c << 64 | h.d, r=R[25](h)),
    26: lambda h: replace(h, f5=h.a & 31, f11=(h.b + (h.a & 31)) & 0x7FF),
    31: lambda h: replace(h, s=signed(h.s * h.t - (h.s << 2), 32)),
    33: lambda h: replace(h, w=h.w & (h.c << 64 | h.d) | 1, r=R[33](h)),
    34: lambda h: replace(h, w=shl(h.c, 64, 128) | h.d),
    39: lambda h: replace(h, m=R[39](h), r=R[39](h)),
}


def expected(header: Word) -> Word:
    if header.op in OTHERS:
        return OTHERS[header.op](header)
    return replace(header, r=R[header.op](header)) if header.op in R else header


@pytest.mark.parametrize("op", sorted(R.keys() | OTHERS.keys() | {40}))
def test_the_result_is_that_of_unlimited_integers_cut_to_the_width(op: int) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED * 1000 + op)
    fabric, _ = programs.loaded("arith")
    for _ in range(200):
        frame = programs.arith_frame(rng, op)
        [(port, out)] = programs.send(fabric, frame)
        assert port == 1
        assert Word.parse(out) == expected(Word.parse(frame)), frame.hex()
        assert out[struct.calcsize(programs.ARITH) :] == frame[struct.calcsize(programs.ARITH) :]

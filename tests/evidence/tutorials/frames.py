"""Frames for the exercises' programs: good ones of every kind that a program tells apart; damaged ones."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address

UNKNOWN = "10.9.8.7"
"""An address that no entry has."""
SHORTEST = 14
"""Bytes of a frame that an interface carries."""
VLAN_TAGS = (b"\x81\x00", b"\x88\xa8")
"""The kernel would take them out of a frame for whoever reads it."""

Frames = Callable[[random.Random, Sequence[str]], list[bytes]]
"""(randomness, known destinations) -> frames."""


def ethernet(chance: random.Random, ether_type: int, payload: bytes, dst: bytes | None = None) -> bytes:
    macs = (dst or b"\x02" + chance.randbytes(5)) + b"\x02" + chance.randbytes(5)
    return macs + struct.pack(">H", ether_type) + payload


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(
    chance: random.Random, dst: str, payload: bytes = b"", *, protocol: int = 17, ttl: int | None = None,
    tos: int | None = None, src: str = "10.0.1.1", options: bytes = b"",
) -> bytes:  # fmt: skip
    ttl = chance.choice([0, 1, 2, 64, 255]) if ttl is None else ttl
    tos = chance.randrange(256) if tos is None else tos
    size = 20 + len(options)
    head = struct.pack(
        ">BBHHHBBH4s4s", 0x40 | size // 4, tos, size + len(payload), chance.getrandbits(16), 0x4000, ttl,
        protocol, 0, IPv4Address(src).packed, IPv4Address(dst).packed,
    ) + options  # fmt: skip
    wrong = chance.randrange(8) == 0  # the checksum that comes in is not looked at by most programs
    value = chance.getrandbits(16) if wrong else checksum(head)
    return head[:10] + struct.pack(">H", value) + head[12:] + payload


def tcp(source: int, destination: int, flags: int, payload: bytes = b"") -> bytes:
    return struct.pack(">HHIIBBHHH", source, destination, 1, 2, 0x50, flags, 512, 0, 0) + payload


def damaged(chance: random.Random, frames: Sequence[bytes], count: int) -> list[bytes]:
    """Some of the frames, cut short or with a few bits turned, that an interface would carry."""
    found: list[bytes] = []
    while len(found) < count:
        data = bytearray(chance.choice(frames))
        if chance.random() < 0.5:
            del data[chance.randrange(SHORTEST, len(data) + 1) :]
        else:
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if data[12:14] not in VLAN_TAGS:
            found.append(bytes(data))
    return found


def _destinations(chance: random.Random, known: Sequence[str], count: int) -> list[str]:
    return [*known, UNKNOWN, *(chance.choice([*known, UNKNOWN]) for _ in range(count))]


def routed(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """IPv4 of several protocols to known and unknown hosts; other ethertypes."""
    frames = [
        ethernet(
            chance,
            0x800,
            ipv4(
                chance,
                dst,
                chance.randbytes(chance.randrange(60)),
                protocol=chance.choice([1, 6, 17, 17, 99]),
            ),
        )
        for dst in _destinations(chance, known, 12)
    ]
    return [*frames, ethernet(chance, 0x86DD, chance.randbytes(40)), ethernet(chance, 0x800, b"")]


def tunnelled(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """Packets with the exercises' tunnel header, as well."""
    frames = routed(chance, known)
    for tunnel in (1, 2, 3, 4, 100, 200, 0xFFFF):
        inner = ipv4(chance, chance.choice([*known, UNKNOWN]), chance.randbytes(20))
        frames.append(ethernet(chance, 0x1212, struct.pack(">HH", 0x800, tunnel) + inner))
        frames.append(ethernet(chance, 0x1212, struct.pack(">HH", 0x1234, tunnel) + chance.randbytes(30)))
    return frames


def calculator(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """All operations, unknown ones, wrong magic numbers, too short."""
    frames = []
    for operation in (*b"+-&|^+-", 0, 0x2A, 255):
        a, b = (chance.choice([0, 1, 0xFFFFFFFF, chance.getrandbits(32)]) for _ in range(2))
        head = struct.pack(">BBBBIII", ord("P"), ord("4"), 1, operation, a, b, 0xDEADBABE)
        frames.append(ethernet(chance, 0x1234, head + chance.randbytes(chance.randrange(20))))
    for magic in (b"P4\x02", b"Q4\x01", b"P5\x01"):
        frames.append(ethernet(chance, 0x1234, magic + b"+" + bytes(12)))
    return [*frames, ethernet(chance, 0x800, bytes(20)), frames[0][:20], frames[0][:14]]


def tcp_flows(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """TCP of a few flows in both directions, with and without SYN; other protocols."""
    frames = []
    ports = [chance.getrandbits(16) for _ in range(3)]
    for _ in range(40):
        src, dst = chance.sample([*known, UNKNOWN], 2)
        flags = chance.choice([0x02, 0x02, 0x10, 0x12])
        segment = tcp(chance.choice(ports), chance.choice(ports), flags, chance.randbytes(8))
        frames.append(ethernet(chance, 0x800, ipv4(chance, dst, segment, protocol=6, src=src)))
    return [*frames, *routed(chance, known)]


def balanced(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """TCP flows to the balanced address and to others. (What is hashed of other packets is undefined.)"""
    return [
        ethernet(
            chance,
            0x800,
            ipv4(
                chance,
                dst,
                tcp(chance.getrandbits(16), chance.getrandbits(16), 0x10, chance.randbytes(9)),
                protocol=6,
                src=f"10.0.1.{chance.randrange(256)}",
            ),
        )
        for dst in _destinations(chance, known, 30)
    ]


def options(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """IPv4 options: traces of 0 to 10 switches, other options, header lengths below 5."""
    frames = routed(chance, known)
    for count in range(11):
        traces = chance.randbytes(8 * count)
        option = struct.pack(">BBH", 31, 4 + 8 * count, count) + traces
        packet = ipv4(chance, chance.choice(known), chance.randbytes(9), options=option[:40])
        frames.append(ethernet(chance, 0x800, packet[: 20 + 40] if count > 4 else packet))
        frames.append(ethernet(chance, 0x800, ipv4(chance, chance.choice(known))[:20] + option))
        frames.append(ethernet(chance, 0x800, b"\x4f" + ipv4(chance, chance.choice(known))[1:20] + option))
    other = ipv4(chance, chance.choice(known), options=b"\x07\x04\0\0")
    short = b"\x44" + ipv4(chance, chance.choice(known))[1:]
    return [*frames, ethernet(chance, 0x800, other), ethernet(chance, 0x800, short)]


def source_routes(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """One to eleven hops (nine have room), ports that are not there, and packets without a route."""
    frames = [ethernet(chance, 0x800, ipv4(chance, UNKNOWN))]
    for hops in range(1, 12):
        for _ in range(3):
            ports = [chance.choice([1, 2, 3, 4, 4, 2, 7, 511]) for _ in range(hops)]
            route = b"".join(
                struct.pack(">H", port | (at == hops - 1) << 15) for at, port in enumerate(ports)
            )
            frames.append(ethernet(chance, 0x1234, route + ipv4(chance, UNKNOWN, chance.randbytes(11))))
    endless = ethernet(chance, 0x1234, struct.pack(">H", 2) * 5)
    return [*frames, endless]


def probes(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """Probes that have passed none to nine switches, between other traffic whose bytes they report."""
    traffic = routed(chance, known)
    frames = []
    for hops in (*range(11), 0, 0, 1, 2):
        data = b"".join(
            bytes([(at == hops - 1) << 7 | chance.randrange(128)]) + chance.randbytes(17)
            for at in range(hops)
        )
        ports = bytes(chance.choice([1, 2, 3, 4]) for _ in range(hops + 1 + chance.randrange(3)))
        frames += [*chance.sample(traffic, 3), ethernet(chance, 0x812, bytes([hops]) + data + ports)]
    return frames


def switched(chance: random.Random, known: Sequence[str]) -> list[bytes]:
    """To known stations and to unknown ones, which are flooded."""
    stations = [bytes([8, 0, 0, 0, at, at * 16 + at]) for at in range(1, 5)] + [b"\xff" * 6, b"\2" * 6]
    return [
        ethernet(chance, kind, chance.randbytes(20), station)
        for station in stations
        for kind in (0x800, 0x806, 0x1234)
    ]

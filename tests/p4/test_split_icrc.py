"""The iCRC that the Tofino program makes out of two hashes is RoCE's.

It is computed from the P4 text itself, its field lists and constants, and compared with scapy's over random
packets. What the chip's hash units do is not asked here.
"""

import random
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.roce import LOSS, ROCE_PORT, CsaHeader, Datagram, icrc

P4SRC = Path(__file__).resolve().parents[2] / "p4src"
ICRC_P4 = P4SRC / "tna" / "icrc.p4"
HEADERS_P4 = P4SRC / "shared" / "headers.p4"
IN_THE_PACKET = {"ipv4": 0, "udp": 20, "bth": 28, "deth": 40, "csa": 48}
"""Offsets of the headers from IPv4's on, in bytes."""
LOSS_OF_HEADERS = 80


@dataclass(frozen=True)
class Crc:
    """A CRCPolynomial of the P4 program: its arguments are named as tna.p4 names them."""

    coeff: int
    reversed: bool
    init: int
    xor: int

    def of(self, bits: str) -> int:
        """The CRC of a string of 0s and 1s, whole bytes of it, first bit first."""
        assert self.reversed and len(bits) % 8 == 0
        polynomial = int(f"{self.coeff:032b}"[::-1], 2)
        state = self.init
        for at in range(0, len(bits), 8):
            state ^= int(bits[at : at + 8], 2)
            for _ in range(8):
                state = state >> 1 ^ (polynomial if state & 1 else 0)
        return state ^ self.xor


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def number(text: str) -> int:
    """A P4 number with or without its width."""
    return int(re.sub(r"^\d+w", "", text), 0)


def hashes(program: str) -> dict[str, Crc]:
    """The CRCs by the names of their Hash."""
    found = {}
    pattern = r"Hash<bit<32>>\(HashAlgorithm_t\.CUSTOM,\s*CRCPolynomial<bit<32>>\(([^)]*)\)\)\s*(\w+);"
    for arguments, name in re.findall(pattern, program):
        coeff, reversed_, msb, extended, init, xor = (a.strip() for a in arguments.split(","))
        assert (msb, extended) == ("false", "false")
        found[name] = Crc(number(coeff), reversed_ == "true", number(init), number(xor))
    return found


def inputs(program: str) -> dict[str, list[str]]:
    """What goes into each Hash, item by item."""
    pattern = r"\w+(?:\.\w+)* = (\w+)\.get\(\{([^}]*)\}\)"
    return {name: [item.strip() for item in items.split(",")] for name, items in re.findall(pattern, program)}


def widths() -> dict[str, list[tuple[str, int]]]:
    """(field, bits) of each header, by the name that it has in the packet."""
    text = without_comments(HEADERS_P4.read_text())
    bodies = dict(re.findall(r"header (\w+)_t \{([^}]*)\}", text))
    return {
        name: [(field, int(bits)) for bits, field in re.findall(r"bit<(\d+)> (\w+);", bodies[name])]
        for name in IN_THE_PACKET
    }


def fields(packet: bytes) -> dict[str, str]:
    """Each field of the packet's headers as bits, by the name that the P4 program gives it."""
    found = {}
    for header, layout in widths().items():
        bits = "".join(f"{byte:08b}" for byte in packet[IN_THE_PACKET[header] :])
        at = 0
        for name, width in layout:
            found[f"hdr.{header}.{name}"] = bits[at : at + width]
            at += width
    return found


def bits_of(item: str, values: dict[str, str]) -> str:
    if constant := re.fullmatch(r"(\d+)w(\w+)", item):
        return f"{number(constant[2]):0{constant[1]}b}"
    return values[item]


def on_the_wire(program: str, value: int) -> bytes:
    """`value` in the order that the program writes it in."""
    assembled = re.search(r"hdr\.icrc\.value = ([^;]*);", program)
    assert assembled is not None
    slices = re.findall(r"meta\.crc_a\[(\d+):(\d+)\]", assembled[1])
    assert len(slices) == 4 and assembled[1].count("++") == 3
    return bytes(value >> int(low) & 2 ** (int(high) - int(low) + 1) - 1 for high, low in slices)


def split_icrc(program: str, packet: bytes) -> bytes:
    """The iCRC as the P4 `program` makes it for an IPv4 packet of headers alone."""
    program = without_comments(program)
    assert re.search(r"meta\.crc_a = meta\.crc_a \^ meta\.crc_b;", program)
    crcs, lists, values = hashes(program), inputs(program), fields(packet)
    assert crcs.keys() == lists.keys() and len(crcs) == 2
    value = 0
    for name, crc in crcs.items():
        value ^= crc.of("".join(bits_of(item, values) for item in lists[name]))
    return on_the_wire(program, value)


def random_loss(draw: random.Random) -> bytes:
    """A LOSS of the second form from its IPv4 header on, and scapy's iCRC at its end."""
    csa = CsaHeader(
        kind=LOSS,
        flags=draw.getrandbits(8),
        spray=draw.getrandbits(4),
        criticality=draw.getrandbits(3),
        ordered=draw.getrandbits(1),
        attempt=draw.getrandbits(8),
        coll_seq=draw.getrandbits(32),
        tx_ts=draw.getrandbits(32),
        **{
            name: draw.getrandbits(16)
            for name in ("epoch", "comm", "step", "src_rank", "chunk", "pkt_idx", "pkt_total", "path_id")
        },
        path_seq=draw.getrandbits(16),
    )
    packet = Datagram(
        src=f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)}",
        dst=f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)}",
        src_qpn=draw.getrandbits(24),
        dst_qpn=draw.getrandbits(24),
        qkey=draw.getrandbits(32),
        payload=csa.pack(),
        psn=draw.getrandbits(24),
        ip_id=draw.getrandbits(16),
        src_port=draw.getrandbits(16),
        dst_port=ROCE_PORT,
        ttl=draw.randrange(1, 256),
    ).pack()
    assert len(packet) == LOSS_OF_HEADERS + 4
    return packet


@pytest.mark.parametrize("seed", range(50))
def test_the_two_hashes_together_are_the_icrc_of_roce(seed: int) -> None:
    packet = random_loss(random.Random(seed))
    assert split_icrc(ICRC_P4.read_text(), packet) == icrc(packet) == packet[-4:]


def test_it_is_the_same_whatever_a_router_writes() -> None:
    packet = bytearray(random_loss(random.Random(1)))
    before = split_icrc(ICRC_P4.read_text(), packet)
    for at, value in ((1, 0xB9), (8, 3), (10, 0x12), (11, 0x34), (26, 0x56), (27, 0x78), (32, 0x9A)):
        packet[at] = value
    assert split_icrc(ICRC_P4.read_text(), bytes(packet)) == before


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("32w0xFFFFFFFF, 32w0xFFFFFFFF", "32w0, 32w0xFFFFFFFF"),
        ("32w0xFFFFFFFF, 32w0xFFFFFFFF", "32w0xFFFFFFFF, 32w0"),
        ("32w0, 32w0))", "32w0xFFFFFFFF, 32w0))"),
        ("0x04C11DB7", "0x1EDC6F41"),
        ("64w0, 128w0, 128w0", "64w0, 128w0"),
        ("64w0xFFFFFFFFFFFFFFFF", "64w0"),
        ("hdr.deth.qkey, hdr.deth.reserved", "hdr.deth.reserved, hdr.deth.qkey"),
        ("meta.crc_a[7:0] ++ meta.crc_a[15:8]", "meta.crc_a[15:8] ++ meta.crc_a[7:0]"),
    ],
)
def test_another_constant_or_order_in_the_program_would_be_seen(text: str, instead: str) -> None:
    program = ICRC_P4.read_text()
    assert text in program
    packet = random_loss(random.Random(2))
    assert split_icrc(program.replace(text, instead), packet) != icrc(packet)

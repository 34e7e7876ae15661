"""The packet format: against scapy's RoCE layers, the table in docs/protocol.md, and itself."""

import random
import struct

import csaud_testnet
import pytest
from csaud import _core
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

wire = _core.wire

ROUTE = {
    "src_ipv4": 0x0A000101,
    "dst_ipv4": 0x0A000202,
    "src_port": 0xC005,
    "dst_port": 4791,
    "src_qpn": 0x000051,
    "dst_qpn": 0x0ABCDE,
    "qkey": 0x1CEB00DA,
    "psn": 0x123456,
    "ip_id": 0x4242,
    "ttl": 64,
}
HEADER = {
    "type": 0,
    "flags": 0x03,
    "spray": 7,
    "cls": 4,
    "ordered": True,
    "attempt": 2,
    "epoch": 0x1122,
    "comm": 0x3344,
    "step": 0x5566,
    "coll_seq": 0x778899AA,
    "src_rank": 0xBBCC,
    "chunk": 0xDDEE,
    "pkt_idx": 5,
    "pkt_total": 300,
    "path_id": 9,
    "path_seq": 0xF00D,
    "tx_ts": 0xDEADBEEF,
}
PART = {
    "reason": 3,
    "control_flags": 1,
    "ecn_count": 0x0102,
    "newest_tx_ts": 0x03040506,
    "echoed_path": 0x0708,
    "path_first": 0x090A,
    "path_count": 0x0B0C,
    "from_rank": 0x0D0E,
    "credit": 0x11121314,
    "cumulative": 0x1516,
    "bitmap_bits": 11,
    "bitmap": b"\x80\x20",
}

bits = st.integers


def scapy_packet(payload: bytes) -> bytes:
    """The same packet as scapy builds it, its iCRC included."""
    pad = -len(payload) % 4
    deth = struct.pack(">IBBH", ROUTE["qkey"], 0, ROUTE["src_qpn"] >> 16, ROUTE["src_qpn"] & 0xFFFF)
    packet = (
        IP(src="10.0.1.1", dst="10.0.2.2", id=ROUTE["ip_id"], flags="DF", ttl=64)
        / UDP(sport=ROUTE["src_port"], dport=4791, chksum=0)
        / BTH(opcode=0x64, padcount=pad, pkey=0xFFFF, dqpn=ROUTE["dst_qpn"], psn=ROUTE["psn"])
        / Raw(deth + csa_by_hand() + payload + bytes(pad))
    )
    return bytes(packet)


def csa_by_hand() -> bytes:
    h = HEADER
    return struct.pack(
        ">HBBBBHHHIHHHHHHI",
        0xC5A1,
        h["type"],
        h["flags"],
        h["spray"] << 4 | h["cls"] << 1 | h["ordered"],
        h["attempt"],
        h["epoch"],
        h["comm"],
        h["step"],
        h["coll_seq"],
        h["src_rank"],
        h["chunk"],
        h["pkt_idx"],
        h["pkt_total"],
        h["path_id"],
        h["path_seq"],
        h["tx_ts"],
    )


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 64, 255, 1001, 4064])
def test_data_is_byte_for_byte_what_scapy_builds(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    assert wire.encode({**ROUTE, **HEADER, "payload": payload}) == scapy_packet(payload)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4064])
def test_what_scapy_builds_is_read(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    fault, fields = wire.decode(scapy_packet(payload), ROUTE["dst_qpn"], ROUTE["qkey"])
    assert fault == "none"
    assert {**ROUTE, **HEADER, "payload": payload}.items() <= fields.items()


def test_csa_starts_at_offset_62_of_the_frame() -> None:
    packet = wire.encode({**ROUTE, **HEADER, "payload": b"x" * 8})
    assert packet[62 - 14 : 62 - 14 + 32] == csa_by_hand()


def test_control_part_layout() -> None:
    packet = wire.encode({**ROUTE, **HEADER, **PART, "type": 2})
    body = packet[80:-4]
    by_hand = struct.pack(
        ">BBHIHHHHIHH", 3, 1, 0x0102, 0x03040506, 0x0708, 0x090A, 0x0B0C, 0x0D0E, 0x11121314, 0x1516, 11
    )
    assert body == by_hand + b"\x80\x20" + b"\0\0"  # padded to four bytes
    assert packet[28 + 1] >> 4 & 3 == 2  # BTH PadCnt


def test_what_a_switch_may_change_does_not_break_the_icrc() -> None:
    packet = bytearray(wire.encode({**ROUTE, **HEADER, "payload": b"payload!"}))
    packet[1] = 0x2B  # DSCP and ECN
    packet[8] -= 3  # TTL
    packet[10:12] = b"\x12\x34"  # IPv4 checksum
    packet[26:28] = b"\x56\x78"  # UDP checksum
    packet[28 + 4] = 0xFF  # BTH resv8a
    assert wire.decode(bytes(packet), ROUTE["dst_qpn"], ROUTE["qkey"])[0] == "none"


def test_every_other_bit_is_covered_by_the_icrc_or_a_check() -> None:
    packet = wire.encode({**ROUTE, **HEADER, "payload": b"0123456789"})
    spared = {1, 8, 10, 11, 26, 27, 32}
    for offset in range(len(packet)):
        if offset in spared:
            continue
        for bit in range(8):
            changed = bytearray(packet)
            changed[offset] ^= 1 << bit
            assert wire.decode(bytes(changed), ROUTE["dst_qpn"], ROUTE["qkey"])[0] != "none", (offset, bit)


def test_a_trimmed_packet_is_94_bytes_with_ethernet() -> None:
    packet = wire.encode({**ROUTE, **HEADER, "payload": bytes(100)})
    cut = csaud_testnet.cut(packet)
    assert len(cut) == 94 - 14
    ip = IP(cut)
    assert (ip.len, ip[UDP].len, ip[UDP].dport) == (80, 60, 49791)
    assert IP(bytes(ip)).chksum == ip.chksum
    fault, fields = wire.decode(cut, ROUTE["dst_qpn"], ROUTE["qkey"])
    assert fault == "none"
    assert (fields["type"], fields["flags"] & 0x20, fields["attempt"]) == (3, 0x20, HEADER["attempt"])
    assert cut[28 + 1] >> 4 & 3 == 0


@given(
    st.fixed_dictionaries(
        {
            "flags": bits(0, 255),
            "spray": bits(0, 15),
            "cls": bits(0, 7),
            "ordered": st.booleans(),
            "attempt": bits(0, 255),
            "epoch": bits(0, 0xFFFF),
            "comm": bits(0, 0xFFFF),
            "step": bits(0, 0xFFFF),
            "coll_seq": bits(0, 0xFFFFFFFF),
            "src_rank": bits(0, 0xFFFF),
            "chunk": bits(0, 0xFFFF),
            "pkt_idx": bits(0, 0xFFFF),
            "pkt_total": bits(0, 0xFFFF),
            "path_id": bits(0, 0xFFFF),
            "path_seq": bits(0, 0xFFFF),
            "tx_ts": bits(0, 0xFFFFFFFF),
            "payload": st.binary(max_size=200),
        }
    )
)
def test_whatever_is_written_is_read_back(fields: dict[str, object]) -> None:
    fault, read = wire.decode(wire.encode({**ROUTE, **fields, "type": 0}), ROUTE["dst_qpn"], ROUTE["qkey"])
    assert fault == "none"
    assert fields.items() <= read.items()


@given(st.integers(1, 9).filter(lambda t: t != 3), st.integers(0, 512), st.randoms(use_true_random=False))
def test_control_packets_are_read_back(kind: int, length: int, chance: random.Random) -> None:
    bitmap = chance.randbytes((length + 7) // 8)
    fields = {**HEADER, **PART, "type": kind, "bitmap_bits": length, "bitmap": bitmap}
    fault, read = wire.decode(wire.encode({**ROUTE, **fields}), ROUTE["dst_qpn"], ROUTE["qkey"])
    assert fault == "none"
    assert fields.items() <= read.items()


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_without_harm(packet: bytes) -> None:
    assert wire.decode(packet, 1, 2)[0] != "none"

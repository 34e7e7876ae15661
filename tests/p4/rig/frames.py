"""Frames that the tests send, and how they read what came out."""

from __future__ import annotations

import functools
import zlib

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

from tests.support.roce import LOSS, LOSS_PORT, ROCE_PORT, CsaHeader, Datagram, icrc

SOURCE, DESTINATION = "10.0.1.1", "10.0.2.1"
SOURCE_MAC, DESTINATION_MAC = "02:00:0a:00:01:01", "02:00:0a:00:02:01"
SOURCE_QPN, DESTINATION_QPN = 0x11, 0x22
MACS = bytes.fromhex((DESTINATION_MAC + SOURCE_MAC).replace(":", ""))
NO_TRIM, TRIMMED = 0x08, 0x20
HEADERS = 94
"""Ethernet to CSA."""


def csa_frame(
    payload: bytes = bytes(200), *, src_port: int = 0xC000, ttl: int = 64, ecn: int = 0, **header: int
) -> bytes:
    """An Ethernet frame with a CSA packet of one rank to another."""
    frame = bytearray(_template(len(payload), ttl, ecn))
    frame[34:36] = src_port.to_bytes(2, "big")
    frame[62:94] = CsaHeader(**header).pack()
    frame[94 : 94 + len(payload)] = payload
    frame[-4:] = _quick_icrc(frame)
    return bytes(frame)


@functools.lru_cache(1024)
def _template(payload: int, ttl: int, ecn: int) -> bytes:
    """The frame with a payload of zeros: scapy is too slow to make each one of thousands."""
    packet = Datagram(
        src=SOURCE, dst=DESTINATION, src_qpn=SOURCE_QPN, dst_qpn=DESTINATION_QPN, qkey=0x1234,
        ttl=ttl, payload=CsaHeader().pack() + bytes(payload),
    )  # fmt: skip
    frame = with_ecn(MACS + b"\x08\x00" + packet.pack(), ecn)
    assert _quick_icrc(frame) == frame[-4:] == icrc(frame[14:])
    return frame


def _quick_icrc(frame: bytes | bytearray) -> bytes:
    masked = bytearray(b"\xff" * 8 + frame[14:-4])
    for offset in (9, 16, 18, 19, 34, 35, 40):  # TOS, TTL, IPv4 checksum, UDP checksum, BTH's reserved byte
        masked[offset] = 0xFF
    return zlib.crc32(masked).to_bytes(4, "little")


def with_ecn(frame: bytes, ecn: int) -> bytes:
    """The frame with these ECN bits and the IPv4 checksum made right again."""
    if ecn == ecn_of(frame):
        return frame
    packet = IP(frame[14:])
    packet.tos = packet.tos & ~3 | ecn
    del packet.chksum
    header = bytes(packet)[:20]
    return frame[:14] + header + frame[34:]


def ecn_of(frame: bytes) -> int:
    return frame[15] & 3


def arp_request() -> bytes:
    return bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=SOURCE_MAC) / ARP(psrc=SOURCE, pdst=DESTINATION))


def is_csa(frame: bytes) -> bool:
    return len(frame) >= HEADERS and frame[12:14] == b"\x08\x00" and frame[62:64] == b"\xc5\xa1"


def header_of(frame: bytes) -> CsaHeader:
    return CsaHeader.unpack(frame[62:])


def is_loss(frame: bytes) -> bool:
    return is_csa(frame) and header_of(frame).kind == LOSS


def check_lengths_and_checksum(frame: bytes) -> IP:
    """The frame's IPv4 packet, after scapy's opinion on its lengths and its checksum."""
    packet = IP(frame[14:])
    assert packet.len == len(frame) - 14, f"IPv4 length {packet.len} in a frame of {len(frame)} bytes"
    if packet.haslayer(UDP):
        assert packet[UDP].len == len(frame) - 34, f"UDP length {packet[UDP].len} in a frame of {len(frame)}"
    stated = packet.chksum
    computed = packet.copy()
    del computed.chksum
    assert IP(bytes(computed)).chksum == stated, f"IPv4 checksum {stated:#06x}"
    return packet


def check_loss(frame: bytes, of: bytes, *, size: int = HEADERS, bounced: bool = False) -> IP:
    """The LOSS that a switch must make of the DATA frame `of`, but for TTL, DSCP and ECN.

    `size` is its length. A LOSS of 98 bytes on the RoCE port must have the iCRC that scapy computes.
    """
    packet = check_lengths_and_checksum(frame)
    assert len(frame) == size
    second_form = packet[UDP].dport == ROCE_PORT
    assert packet[UDP].dport in (ROCE_PORT, LOSS_PORT)
    assert packet[UDP].chksum == 0
    assert frame[43] & 0x30 == 0, "PadCnt"
    sent = bytearray(of)
    sent[64], sent[65] = LOSS, of[65] | TRIMMED
    if bounced:
        sent[0:6], sent[6:12] = of[6:12], of[0:6]
        sent[26:30], sent[30:34] = of[30:34], of[26:30]
        sent[47:50], sent[59:62] = of[59:62], of[47:50]
    changed = {15, 16, 17, 22, 24, 25, 36, 37, 38, 39, 40, 41, 43}
    kept = HEADERS if second_form else size
    wrong = [i for i in range(kept) if frame[i] != sent[i] and i not in changed]
    assert wrong == [], f"bytes {wrong} differ"
    if second_form:
        assert frame[94:] == icrc(frame[14:]), f"iCRC {frame[94:].hex()}, not {icrc(frame[14:]).hex()}"
    return packet

"""RoCEv2 UD datagrams over IPv6 as scapy writes and reads them."""

from __future__ import annotations

import struct

from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

from tests.support.roce import ROCE_PORT, UD_SEND_ONLY


def datagram6(
    src: str,
    dst: str,
    body: bytes,
    *,
    src_qpn: int,
    dst_qpn: int,
    qkey: int,
    psn: int = 7,
    sport: int = ROCE_PORT,
    **ipv6: int,
) -> bytes:
    """A UD SEND ONLY from its IPv6 header on, with scapy's iCRC; `body` from the CSA header on."""
    padding = -len(body) % 4
    bth = BTH(opcode=UD_SEND_ONLY, migreq=1, padcount=padding, dqpn=dst_qpn, psn=psn)
    udp = UDP(sport=sport, dport=ROCE_PORT, chksum=0)
    deth = struct.pack(">II", qkey, src_qpn)
    return bytes(IPv6(src=src, dst=dst, **ipv6) / udp / bth / Raw(deth + body + bytes(padding)))


def icrc6(packet: bytes) -> bytes:
    """What scapy computes for a packet from its IPv6 header on; the four bytes at its end do not matter."""
    ip = IPv6(packet)
    udp = ip[UDP]
    content = bytes(udp.payload)
    bth = BTH(content[:12] + bytes(4))
    bth.icrc = None
    ip.remove_payload()
    udp.remove_payload()
    return bytes(ip / udp / bth / Raw(content[12:-4]))[-4:]

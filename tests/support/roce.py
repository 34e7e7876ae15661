"""RoCEv2 UD datagrams as scapy writes and reads them: a second opinion on the wire format.

Only the CSA header, which scapy does not know, is written here, straight from the table in docs/protocol.md.
"""

import struct
from dataclasses import astuple, dataclass

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

ROCE_PORT = 4791
LOSS_PORT = 49791
UD_SEND_ONLY = 0x64
DATA = 0
ACK = 1
LOSS = 3
CSA_BYTES = 32
CONTROL_BYTES = 24
ICRC_BYTES = 4


@dataclass(frozen=True)
class CsaHeader:
    """The fields of a CSA header, in the order of the wire; the defaults name the one packet of a message."""

    kind: int = DATA
    flags: int = 0
    spray: int = 0
    criticality: int = 0
    ordered: int = 0
    attempt: int = 0
    epoch: int = 0
    comm: int = 0
    step: int = 0
    coll_seq: int = 0
    src_rank: int = 0
    chunk: int = 0
    pkt_idx: int = 0
    pkt_total: int = 1
    path_id: int = 0
    path_seq: int = 0
    tx_ts: int = 0

    def pack(self) -> bytes:
        return struct.pack(
            ">HBBBBHHHIHHHHHHI",
            0xC5A1,
            self.kind,
            self.flags,
            self.spray << 4 | self.criticality << 1 | self.ordered,
            self.attempt,
            self.epoch,
            self.comm,
            self.step,
            self.coll_seq,
            self.src_rank,
            self.chunk,
            self.pkt_idx,
            self.pkt_total,
            self.path_id,
            self.path_seq,
            self.tx_ts,
        )

    @classmethod
    def unpack(cls, data: bytes) -> "CsaHeader":
        magic, kind, flags, asked, *rest = struct.unpack(">HBBBBHHHIHHHHHHI", data[:CSA_BYTES])
        assert magic == 0xC5A1, f"magic and version {magic:#06x}"
        return cls(kind, flags, asked >> 4, asked >> 1 & 7, asked & 1, *rest)


@dataclass(frozen=True)
class Control:
    """What follows the CSA header in control packets, without its bitmap."""

    reason: int = 0
    flags: int = 0
    ecn_count: int = 0
    newest_tx_ts: int = 0
    echoed_path: int = 0
    path_first: int = 0
    path_count: int = 0
    from_rank: int = 0
    credit: int = 0
    cumulative: int = 0
    bitmap_bits: int = 0

    def pack(self) -> bytes:
        return struct.pack(">BBHIHHHHIHH", *astuple(self))

    @classmethod
    def unpack(cls, data: bytes) -> "Control":
        return cls(*struct.unpack(">BBHIHHHHIHH", data[:CONTROL_BYTES]))


@dataclass(frozen=True)
class Datagram:
    """One RoCEv2 UD SEND ONLY as an IPv4 packet."""

    src: str
    dst: str
    src_qpn: int
    dst_qpn: int
    qkey: int
    payload: bytes
    psn: int = 0
    ip_id: int = 0
    src_port: int = 0xC000
    dst_port: int = ROCE_PORT
    ttl: int = 64

    def pack(self) -> bytes:
        """The packet from its IPv4 header on, padded to four bytes, with scapy's iCRC."""
        deth = struct.pack(">II", self.qkey, self.src_qpn)
        padding = -len(self.payload) % 4
        bth = BTH(opcode=UD_SEND_ONLY, migreq=1, padcount=padding, dqpn=self.dst_qpn, psn=self.psn)
        udp = UDP(sport=self.src_port, dport=self.dst_port, chksum=0)
        ip = IP(src=self.src, dst=self.dst, id=self.ip_id, flags="DF", ttl=self.ttl)
        return bytes(ip / udp / bth / Raw(deth + self.payload + bytes(padding)))

    @classmethod
    def unpack(cls, packet: bytes) -> "Datagram":
        """Read a UD SEND ONLY that carries the iCRC which scapy computes for it."""
        ip = IP(packet)
        udp = ip[UDP]
        bth = BTH(bytes(udp.payload), _underlayer=udp)
        assert bth.opcode == UD_SEND_ONLY, f"opcode {bth.opcode:#x}"
        body = bytes(udp.payload)[12:-ICRC_BYTES]
        qkey, src_qpn = struct.unpack(">II", body[:8])
        assert packet[-ICRC_BYTES:] == icrc(packet), (
            f"iCRC {packet[-ICRC_BYTES:].hex()}, not {icrc(packet).hex()}"
        )
        return cls(
            src=ip.src,
            dst=ip.dst,
            src_qpn=src_qpn & 0xFFFFFF,
            dst_qpn=bth.dqpn,
            qkey=qkey,
            payload=body[8 : len(body) - bth.padcount],
            psn=bth.psn,
            ip_id=ip.id,
            src_port=udp.sport,
            dst_port=udp.dport,
            ttl=ip.ttl,
        )


def icrc(packet: bytes) -> bytes:
    """The iCRC that scapy computes for an IPv4 packet; the four bytes at its end do not matter."""
    ip = IP(packet)
    udp = ip[UDP]
    content = bytes(udp.payload)
    bth = BTH(content[:12] + bytes(ICRC_BYTES))
    bth.icrc = None  # scapy computes what is not set
    ip.remove_payload()
    udp.remove_payload()
    return bytes(ip / udp / bth / Raw(content[12:-ICRC_BYTES]))[-ICRC_BYTES:]

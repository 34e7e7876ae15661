"""Packets as the native codec writes them."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

from csaud import _core

ROCE_PORT, LOSS_PORT = 4791, 49791
DATA, ACK, STATE, LOSS, CREDIT, PROBE, PROBE_RSP, PATH_FEEDBACK, STEP_DONE, ABORT, PARITY = range(11)
PING = 9  # reason of a PROBE
RTX, LAST, ACK_REQ, NO_TRIM, BARRIER, TRIMMED, ECN_ECHO, DUP = (1 << n for n in range(8))

ROUTE: dict[str, Any] = {
    "src_ipv4": int(IPv4Address("10.0.1.1")),
    "dst_ipv4": int(IPv4Address("10.0.2.2")),
    "src_port": 0xC009,
    "dst_port": ROCE_PORT,
    "src_qpn": 0x51,
    "dst_qpn": 0xABCDE,
    "qkey": 0x1CEB00DA,
    "psn": 0x123456,
    "ip_id": 7,
    "ttl": 64,
}
HEADER: dict[str, Any] = {
    "flags": 0,
    "spray": 7,
    "cls": 4,
    "ordered": True,
    "attempt": 0,
    "epoch": 0x1122,
    "comm": 0x3344,
    "step": 0x5566,
    "coll_seq": 0x778899AA,
    "src_rank": 3,
    "chunk": 1,
    "pkt_idx": 5,
    "pkt_total": 300,
    "path_id": 9,
    "path_seq": 0xF00D,
    "tx_ts": 0xDEADBEEF,
}
MESSAGE = "4386.13124.2005440938.21862.3.1"
"""The message of HEADER as the dissector names it."""


def packet(kind: int, **changes: Any) -> bytes:
    """An IPv4 packet of this type."""
    encoded: bytes = _core.wire.encode({**ROUTE, **HEADER, "type": kind, **changes})
    return encoded


def control(kind: int, received: set[int] | None = None, total: int = 0, **changes: Any) -> bytes:
    """A control packet; with `received` it carries the bitmap of a message of `total` packets."""
    bitmap = bytearray((total + 7) // 8)
    for number in received or ():
        bitmap[number // 8] |= 0x80 >> number % 8
    return packet(kind, **{"bitmap_bits": total, "bitmap": bytes(bitmap), **changes})


def loss(**changes: Any) -> bytes:
    """A packet that a switch trimmed, to the port of its own."""
    return packet(LOSS, **{"flags": TRIMMED, "dst_port": LOSS_PORT, **changes})

"""Packets that somebody else makes in a rank's name, for the virtual network."""

from typing import Any

from csaud import _core

from tests.hostlib.core_support import EPOCH, QKEY

# Rank 1 of a virtual network to rank 0, right in all that a receiver checks.
FROM_PEER = {
    "src_ipv4": 0x0A000002,
    "dst_ipv4": 0x0A000001,
    "src_qpn": 257,
    "dst_qpn": 256,
    "qkey": QKEY,
    "epoch": EPOCH,
    "dst_port": 4791,
    "src_port": 0xC000,
    "ip_id": 1,
    "ttl": 9,
}


def packet(**fields: Any) -> bytes:
    """Rank 1's packet to rank 0 with these fields."""
    return bytes(_core.wire.encode({**FROM_PEER, **fields}))


def between(src: int, dst: int, **fields: Any) -> bytes:
    """The same from any rank to any other."""
    route = {
        "src_ipv4": 0x0A000001 + src,
        "dst_ipv4": 0x0A000001 + dst,
        "src_qpn": 256 + src,
        "dst_qpn": 256 + dst,
    }
    return packet(**{**route, **fields})

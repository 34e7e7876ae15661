"""What Linux calls the ports and sockets of a fabric's nodes, whose names may be longer than it allows."""

from __future__ import annotations

import base64
import hashlib

_LONGEST_INTERFACE = 15
"""Characters of a network interface's name (IFNAMSIZ - 1)."""
_LONGEST_SOCKET = 40
"""Characters of a node's name in the path of its socket, of 107 in all."""


def interface(node: str, port: int) -> str:
    """Name of the network interface of a port: "l1-eth3", or one with a digest of the node's."""
    name = f"{node}-eth{port}"
    return name if len(name) <= _LONGEST_INTERFACE else f"{_digest(node)}-eth{port}"


def socket_name(switch: str) -> str:
    """File name of a switch's P4Runtime socket in the directory of its run."""
    return f"{switch if len(switch) <= _LONGEST_SOCKET else _digest(switch)}.sock"


def _digest(name: str) -> str:
    """Eight characters that no two names of a fabric share, but by a chance of one in 2^35."""
    return "x" + base64.b32encode(hashlib.blake2b(name.encode(), digest_size=5).digest())[:7].decode().lower()

"""Tap devices: one end of each is an interface here, the other a NIC of a guest."""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from csaud_lab.guests.errors import GuestError

# linux/if_tun.h
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000


@dataclass(frozen=True)
class Nic:
    """One of a guest's: the descriptor of its tap device, its MAC address, the largest MTU."""

    tap: int
    mac: str
    mtu: int


def open_tap(interface: str) -> int:
    """A descriptor of a new tap device in this network namespace; the interface goes when it is closed."""
    device = Path("/dev/net/tun")
    try:
        tap = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise GuestError(f"cannot open {device}: {error.strerror}") from error
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", interface.encode(), IFF_TAP | IFF_NO_PI))
    return tap

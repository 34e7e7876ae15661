"""Packets that find out what a link loses: sent by the switch at its one end, sent back by that at the other.

Each end of a link that is examined has an address of its own (of 240.0.0.0/4, which no host may use). The
switch at that end has a route that leads out of that port and no other; the switch behind it ends the packet
there, by a route without a group. Both count what they look up, so what is lost between the two is known to
the packet, whatever else the link carries. The routes are there only while links are examined.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from csaud_controller.inventory import End, Fabric
from csaud_controller.links.trials import udp_frame

_FIRST = 240 << 24
_PORTS = 128


@dataclass(frozen=True)
class Measured:
    """Of a link, over both directions the worse one."""

    came: int
    """Packets that a switch had to send over it."""
    arrived: int
    """Of these, at the other end."""

    @property
    def lost(self) -> int:
        return self.came - self.arrived

    @property
    def loss(self) -> float:
        """The share that was lost; 0 where nothing was sent."""
        return self.lost / self.came if self.came else 0.0


def address(fabric: Fabric, end: End) -> int:
    """What leads out of this port of a switch, and ends behind it."""
    return _FIRST + fabric.place_of[end.node] * _PORTS + end.port


def frames(fabric: Fabric, end: End, first: int, count: int) -> list[bytes]:
    """Packets that go out of `end`, once they are with its switch; numbered, so that no two are alike."""
    return [
        udp_frame(address(fabric, end), number, struct.pack("!I", number).ljust(200, b"\0"), ttl=4)
        for number in range(first, first + count)
    ]


Counts = Mapping[tuple[str, int], int]
"""By switch and address: packets that were looked up."""


def measured(fabric: Fabric, end: End, before: Counts, after: Counts) -> Measured:
    """What is known of the direction that begins at `end`."""
    at = fabric.peers[end.node][end.port]
    key = address(fabric, end)

    def of(switch: str) -> int:
        return max(0, after.get((switch, key), 0) - before.get((switch, key), 0))

    came = of(end.node)
    return Measured(came, min(came, of(at.node)))


def worse(one: Measured, other: Measured) -> Measured:
    """Of the two directions of a link."""
    return one if one.loss >= other.loss else other

"""Links to hosts: whether anything comes from the other end. No clock and no I/O: rounds are asked for, and
what switches counted is passed in.

Every round, switches say how many packets have come in at their ports to hosts. A host that was heard, and of
which nothing came for some rounds, is asked for its address, right after the reading that says so.

It is asked by an ARP request from 0.0.0.0: the address of a sender goes into caches, and requests from other
subnets are left unanswered by many hosts. But this is what RFC 5227 calls a Probe. A host that is about to
take the address, and probes for it itself, must take somebody else's Probe for a conflict (section 2.1.1),
and may go without the address. Such a host is never silent for long: between its probes, and between the last
of them and its claim, there are at most two seconds. So a host is asked only after a longer pause, and no
more than a few times before it is heard again: while it is off or boots, it is not asked. Its first packet
tells that it is back.

A host that answered requests, and then misses all of them in a pause, is told of. One that never answered may
be set not to (arp_ignore), so its silence says nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, NamedTuple

from csaud_controller.inventory import End, Fabric
from csaud_controller.links.monitor import Change, link_name
from csaud_controller.links.trials import Shot

QUIET = 3
"""Readings in a row without a packet before a host is asked: a second apart, so for longer than one is silent
that probes for its address."""
MISSES = 3
"""Requests in a row without a packet that tell."""
ANSWERS = 3
"""First requests of a pause, in a row, after which packets came: what came by chance is no answer."""

_BROADCAST = b"\xff" * 6
_SOURCE = bytes.fromhex("0200c5a00000")  # locally administered
_ARP, _IPV4 = 0x0806, 0x0800
_MIN_FRAME = 60  # without FCS


def who_has(address: IPv4Address) -> bytes:
    """The frame, without FCS, that a host with this address answers."""
    request = b"\x00\x01" + _IPV4.to_bytes(2, "big") + b"\x06\x04" + b"\x00\x01"
    request += _SOURCE + bytes(4) + bytes(6) + address.packed
    return (_BROADCAST + _SOURCE + _ARP.to_bytes(2, "big") + request).ljust(_MIN_FRAME, b"\0")


@dataclass
class _Port:
    counted: int | None = None
    """Packets that had come in, when last read; None: never read."""
    silent: int = 0
    """Readings in a row in which that had not changed."""
    left: int = 0
    """Requests that may still be sent before the host is heard again."""
    asked: bool = False
    """A request was sent after the last reading."""
    answers: int = 0
    """As ANSWERS has it."""
    answered: int = 0
    """Requests after which packets came, all in all."""
    up: bool | None = None
    """None: not known. It was not heard, or is silent and has not answered before."""


class Found(NamedTuple):
    """What follows from a reading."""

    changes: list[Change]
    request: Shot | None = None
    """Is to be sent at once."""


class HostPorts:
    """Of one fabric. Links are named by the ports of switches."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._addresses = {at: nic.ip for at, nic in fabric.nics()}
        self._ports = {at: _Port() for at in self._addresses}

    def rewired(self, fabric: Fabric) -> HostPorts:
        """Those of another fabric: what is known of a host that stays where it is remains."""
        made = HostPorts(fabric)
        for at, address in made._addresses.items():
            if self._addresses.get(at) == address:
                made._ports[at] = self._ports[at]
        return made

    def __contains__(self, at: End) -> bool:
        return at in self._ports

    def round(self, ready: Collection[str], closed: Collection[End] = ()) -> dict[str, list[int]]:
        """The ports that are to be read, by switch, at switches that are `ready`; hosts behind `closed`
        ports, which are drained, are left alone."""
        readings: dict[str, list[int]] = {}
        for at, port in self._ports.items():
            if at in closed:
                port.silent, port.asked = 0, False
            elif at.node in ready:
                readings.setdefault(at.node, []).append(at.port)
        return readings

    def counted(self, at: End, packets: int) -> Found:
        """So many packets have come in at a port."""
        port = self._ports[at]
        before, port.counted = port.counted, packets
        asked, port.asked = port.asked, False
        if before is None:  # they may have come long ago
            port.left = MISSES if packets else 0
            return Found([])
        if before and not packets:  # the switch began to count; so may the host have been restarted
            port.silent = port.left = 0
            port.up = None if port.up else port.up
            return Found([])
        if packets != before:
            return Found(self._heard(at, asked))
        port.silent += 1
        if port.silent >= QUIET and port.left:
            port.left, port.asked = port.left - 1, True
            return Found([], Shot(at, who_has(self._addresses[at])))
        return Found(self._missed(at) if asked else [])

    def switch_lost(self, name: str) -> None:
        """Nobody knows what comes in at its ports meanwhile."""
        for at, port in self._ports.items():
            if at.node == name:
                port.silent, port.asked, port.left = 0, False, MISSES if port.left or port.asked else 0

    @property
    def down(self) -> frozenset[End]:
        """Ports whose hosts were heard, and are silent now."""
        return frozenset(at for at, port in self._ports.items() if port.up is False)

    def state(self) -> dict[End, dict[str, Any]]:
        """By port, as JSON values: `up`, whether its host is heard (None: not known), and how many requests
        it has `answered`."""
        return {at: {"up": port.up, "answered": port.answered} for at, port in self._ports.items()}

    def _heard(self, at: End, asked: bool) -> list[Change]:
        port = self._ports[at]
        if asked:
            port.answered += 1
            if port.left == MISSES - 1:
                port.answers += 1
            elif port.answers < ANSWERS:
                port.answers = 0
        port.silent, port.left = 0, MISSES
        was, port.up = port.up, True
        if was is False:  # that a host is there is no event
            return [self._change(at, True, "packets come from the host again")]
        return []

    def _missed(self, at: End) -> list[Change]:
        port = self._ports[at]
        answers, port.answers = port.answers, 0
        if answers < ANSWERS:
            port.up = None
            return []
        port.up = False
        return [self._change(at, False, f"{MISSES} requests, and nothing comes from the host")]

    def _change(self, at: End, up: bool, why: str) -> Change:
        return Change(link_name(self._fabric.edge_at[at]), up, why, at)

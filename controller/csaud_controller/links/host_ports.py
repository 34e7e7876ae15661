"""Links to hosts: whether anything comes from the other end. No clock and no I/O: rounds are asked for, and
what switches counted is passed in.

Every round, switches say how many packets have come in at their ports to hosts. One where nothing came in is
asked: who has the host's address? (An ARP request from 0.0.0.0, RFC 5227, which changes nobody's cache; any
system answers it.) A host that has answered, and that then is silent for several rounds in which it was
asked, is told of. One of which nothing was ever heard is not: it may be switched off, or answer no ARP.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address

from csaud_controller.inventory import End, Fabric
from csaud_controller.links.monitor import Change, link_name
from csaud_controller.links.trials import Orders, Shot

MISSES = 3
"""Rounds without a packet, in a row, that tell."""

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
    """Packets that had come in, when last read; None: not since the session began."""
    silent: int = 0
    """Readings in a row in which that had not changed."""
    requests: int = 0
    """Rounds in a row in which the host was asked."""
    up: bool | None = None
    """None: nothing was ever heard."""


class HostPorts:
    """Of one fabric. Links are named by the ports of switches."""

    def __init__(self, fabric: Fabric, misses: int = MISSES) -> None:
        self._fabric, self._misses = fabric, misses
        self._addresses = {at: nic.ip for at, nic in fabric.nics()}
        self._ports = {at: _Port() for at in self._addresses}

    def rewired(self, fabric: Fabric) -> HostPorts:
        """Those of another fabric: what is known of a host that stays where it is remains."""
        made = HostPorts(fabric, self._misses)
        for at, address in made._addresses.items():
            if self._addresses.get(at) == address:
                made._ports[at] = self._ports[at]
        return made

    def __contains__(self, at: End) -> bool:
        return at in self._ports

    def round(self, ready: Collection[str], closed: Collection[End] = ()) -> Orders:
        """What is to be read, and which hosts are to be asked, at switches that are `ready`; hosts behind
        `closed` ports, which are drained, are left alone."""
        orders = Orders()
        for at, port in self._ports.items():
            if at.node in ready and at not in closed:
                orders.readings.setdefault(at.node, []).append(at.port)
                if port.counted is None or port.silent:
                    orders.shots.setdefault(at.node, []).append(Shot(at, who_has(self._addresses[at])))
                    port.requests += 1
        return orders

    def counted(self, at: End, packets: int) -> list[Change]:
        """So many packets have come in at a port; returns what follows from that."""
        port = self._ports[at]
        before, port.counted = port.counted, packets
        if before is None or packets < before:  # the switch began to count
            port.silent = port.requests = 0
            return []
        if packets > before:
            port.silent = port.requests = 0
            return self._turn(at, True, "packets come from the host again")
        port.silent += 1
        # the newest request may still be answered
        if port.up and min(port.silent, port.requests - 1) >= self._misses:
            return self._turn(at, False, f"{port.requests - 1} requests, and nothing comes from the host")
        return []

    def switch_lost(self, name: str) -> None:
        """Nobody knows what comes in at its ports meanwhile."""
        for at, port in self._ports.items():
            if at.node == name:
                port.counted, port.silent, port.requests = None, 0, 0

    @property
    def down(self) -> frozenset[End]:
        """Ports whose hosts were heard, and are silent now."""
        return frozenset(at for at, port in self._ports.items() if port.up is False)

    def state(self) -> dict[End, bool | None]:
        """By port: whether its host is heard; None: it never was."""
        return {at: port.up for at, port in self._ports.items()}

    def _turn(self, at: End, up: bool, why: str) -> list[Change]:
        port = self._ports[at]
        was, port.up = port.up, up
        if was is None or was == up:  # that a host is there is no event
            return []
        return [Change(link_name(self._fabric.edge_at[at]), up, why, at)]

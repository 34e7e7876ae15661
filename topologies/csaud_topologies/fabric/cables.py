"""Cables that fail in their middle, while both ends stay up.

BMv2 does not survive a port that goes down under traffic. Its ports are read through libpcap by one thread,
which waits inside libpcap for as long as an interface is administratively down, and the whole switch receives
nothing. Without a carrier instead, its P4Runtime front end takes the port's members out of their groups, and
divides by zero (SIGFPE) on the next packet for a group that has none left. So a cable of this kind has a
bridge in its middle, in the run's own namespace, and `link A B down` stops the bridge: packets vanish, and
the controller's probes find out.
"""

from __future__ import annotations

import subprocess
from itertools import count
from typing import Any

from mininet.link import Intf, Link

_LLDP = (
    1 << 14
)  # a bridge forwards 01:80:c2:00:00:0e only when told to: the controller's link probes pass here
_numbers = count(1)


def _ip(command: str) -> str:
    done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
    return done.stderr


class CableEnd(Intf):  # type: ignore[misc]
    """An interface whose cable fails and comes back, instead of the interface itself."""

    bridge: str | None = None

    def ifconfig(self, *args: Any) -> Any:
        """`up` and `down` alone go to the middle of the cable; everything else to the interface."""
        if self.bridge is not None and args in (("up",), ("down",)):
            return _ip(f"link set dev {self.bridge} {args[0]}")
        return super().ifconfig(*args)


class Cable(Link):  # type: ignore[misc]
    """Two veth pairs joined by a bridge."""

    def __init__(self, node1: Any, node2: Any, **params: Any) -> None:
        self._bridge = f"cable{next(_numbers)}"
        super().__init__(node1, node2, **{**params, "intf": CableEnd})
        self.intf1.bridge = self.intf2.bridge = self._bridge

    def makeIntfPair(self, intfname1: str, intfname2: str, *addresses: Any, **params: Any) -> None:
        """Called by Mininet with the interfaces' names and their nodes last."""
        _addr1, _addr2, node1, node2 = addresses
        commands = [
            f"link add {self._bridge} type bridge stp_state 0 mcast_snooping 0 group_fwd_mask {_LLDP}",
            f"link set dev {self._bridge} addrgenmode none",
        ]
        ends = ((intfname1, node1), (intfname2, node2))
        for (interface, node), side in zip(ends, (f"{self._bridge}a", f"{self._bridge}b"), strict=True):
            commands.append(f"link add {side} type veth peer name {interface} netns {node.pid}")
            commands.append(f"link set dev {side} mtu 9000 master {self._bridge} up")
        commands.append(f"link set dev {self._bridge} mtu 9000 up")
        for command in commands:
            if error := _ip(command):
                raise RuntimeError(f"ip {command}: {error.strip()}")

    def delete(self) -> None:
        """Remove the ends, then the bridge."""
        super().delete()
        _ip(f"link del {self._bridge}")

"""A network namespace with veth pairs, for a switch that must see nothing but an exchange's frames. Needs
root.
"""

from __future__ import annotations

import socket
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from csaud_runs.netns import inside_netns_at

_ETH_P_ALL = 3
_SOL_PACKET = 263
_PACKET_IGNORE_OUTGOING = 23
_MTU = 9000
_T = TypeVar("_T")


class Namespace:
    """Ports `sw<port>` for the switch, each the end of a veth pair whose other end is a raw socket here."""

    def __init__(self, name: str, ports: Sequence[int]) -> None:
        self.name = name
        self._sockets: dict[int, socket.socket] = {}
        _ip("netns", "add", name)
        try:
            self._run(
                "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"
            )
            _ip("-n", name, "link", "set", "lo", "up")
            for port in ports:
                peer = f"to{port}"
                _ip("-n", name, "link", "add", self.interface(port), "mtu", str(_MTU), "type", "veth",
                    "peer", "name", peer, "mtu", str(_MTU))  # fmt: skip
                for end in (self.interface(port), peer):
                    _ip("-n", name, "link", "set", end, "arp", "off", "up")
            for port in ports:
                self._sockets[port] = self.inside(lambda port=port: _raw_socket(f"to{port}"))  # type: ignore[misc]
        except BaseException:
            self.close()
            raise

    @staticmethod
    def interface(port: int) -> str:
        return f"sw{port}"

    def socket(self, port: int) -> socket.socket:
        """The raw socket at the far end of a port: what is sent arrives at the switch, and the other way
        round.
        """
        return self._sockets[port]

    def set_link(self, port: int, up: bool) -> None:
        """Cut the link or mend it: the far end goes down or up, and the switch's interface loses its carrier.

        The switch's own end stays up: simple_switch_grpc receives on no port at all while one of its
        interfaces is set down, as its one receiving thread then waits for a packet on that interface.
        """
        _ip("-n", self.name, "link", "set", f"to{port}", "up" if up else "down")

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command that runs `argv` in the namespace."""
        return ["ip", "netns", "exec", self.name, *argv]

    def inside(self, call: Callable[[], _T]) -> _T:
        """Run `call` in the namespace; sockets made there stay in it."""
        with inside_netns_at(Path("/run/netns", self.name)):
            return call()

    def close(self) -> None:
        """Remove the namespace and all that is in it. Idempotent."""
        for port_socket in self._sockets.values():
            port_socket.close()
        self._sockets.clear()
        if Path("/run/netns", self.name).exists():
            _ip("netns", "del", self.name)

    def _run(self, *argv: str) -> None:
        subprocess.run(self.command(argv), check=True)


def _ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True)


def _raw_socket(interface: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    made.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, struct.pack("i", 1))
    made.bind((interface, _ETH_P_ALL))
    made.setblocking(False)
    return made

"""The wire to a guest: a tap device in a network namespace of its own."""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass

from csaud_lab.guests.taps import Nic, open_tap

from tests.support.netns import NetworkNamespace


@dataclass(frozen=True)
class Station:
    """One end of the wire."""

    interface: str
    mac: str
    ipv4: str
    ipv6: str = ""

    def address(self, family: str) -> str:
        """Of family "ipv4" or "ipv6"."""
        return self.ipv4 if family == "ipv4" else self.ipv6

    @property
    def addresses(self) -> list[str]:
        return [self.ipv4, self.ipv6] if self.ipv6 else [self.ipv4]

    def networks(self, prefix: int) -> list[str]:
        """Its addresses as the kernel is given them: IPv4's with `prefix`, IPv6's with 64."""
        return [f"{one}/{64 if ':' in one else prefix}" for one in self.addresses]


class TapPort:
    """A tap device in a namespace that is there already, with no address: for a switch to take as a port."""

    def __init__(
        self, namespace: NetworkNamespace, interface: str, guest: Station, *, mtu: int = 4200
    ) -> None:
        with namespace.entered():
            self.nic = Nic(open_tap(interface), guest.mac, mtu)
        namespace.ip(f"link set {interface} mtu {mtu} addrgenmode none up")

    def close(self) -> None:
        """The device goes with it."""
        os.close(self.nic.tap)


class TapNetwork:
    """A link between `host`, an interface in the namespace, and `guest`; neither needs ARP or
    neighbour discovery for the other."""

    def __init__(self, host: Station, guest: Station, *, prefix: int = 24, mtu: int = 4200) -> None:
        self.host = host
        self.guest = guest
        self.prefix = prefix
        self.namespace = NetworkNamespace()
        try:
            with self.entered():
                self.nic = Nic(open_tap(host.interface), guest.mac, mtu)
            ip, name = self.namespace.ip, host.interface
            ip(f"link set {name} address {host.mac} mtu {mtu} addrgenmode none up")
            for network in host.networks(prefix):
                ip(f"address add {network} dev {name} {'nodad' if ':' in network else ''}")
            for address in guest.addresses:
                ip(f"neighbour add {address} lladdr {guest.mac} dev {name} nud permanent")
        except BaseException:
            self.namespace.close()
            raise

    def entered(self) -> AbstractContextManager[None]:
        """Sockets, threads and processes that this thread makes inside the block are at the host's end."""
        return self.namespace.entered()

    def close(self) -> None:
        os.close(self.nic.tap)
        self.namespace.close()

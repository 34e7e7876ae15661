"""The network interfaces of this process's network namespace, as the soft device can use them."""

import dataclasses
import fcntl
import socket
import struct

# linux/sockios.h, linux/if.h
_SIOCGIFFLAGS, _SIOCGIFADDR, _SIOCGIFMTU = 0x8913, 0x8915, 0x8921
_IFF_UP, _IFF_LOOPBACK, _IFF_RUNNING = 0x1, 0x8, 0x40
_NAME_BYTES, _REQUEST_BYTES = 16, 40


@dataclasses.dataclass(frozen=True, slots=True)
class Interface:
    """One interface with an IPv4 address (its first one); `mtu` in bytes, `up` with carrier."""

    name: str
    address: str
    mtu: int
    up: bool
    loopback: bool


def find_interfaces() -> list[Interface]:
    """Those with an IPv4 address, in the kernel's order."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for _, name in socket.if_nameindex():
            try:
                address = socket.inet_ntoa(_ask(asker, _SIOCGIFADDR, name)[4:8])
                (flags,) = struct.unpack_from("=H", _ask(asker, _SIOCGIFFLAGS, name))
                (mtu,) = struct.unpack_from("=i", _ask(asker, _SIOCGIFMTU, name))
            except OSError:  # it has no address, or has just gone
                continue
            up = flags & _IFF_UP != 0 and flags & _IFF_RUNNING != 0
            found.append(Interface(name, address, mtu, up, flags & _IFF_LOOPBACK != 0))
    return found


def _ask(asker: socket.socket, question: int, name: str) -> bytes:
    """What the kernel writes behind the name in a struct ifreq."""
    request = name.encode().ljust(_REQUEST_BYTES, b"\0")
    return bytes(fcntl.ioctl(asker, question, request))[_NAME_BYTES:]

"""Small facts about IPv4 addresses and routes that the kernel knows."""

import ipaddress
import socket

from csaud.errors import ConfigError

_IP_MTU = 14  # linux/in.h; the socket module does not name it
_ANY_PORT = 9

# IPv4 20, UDP 8, BTH 12, DETH 8, iCRC 4: what a packet carries around the path MTU, bytes
PACKET_OVERHEAD = 52
_SMALLEST_PATH_MTU, _LARGEST_PATH_MTU = 256, 4096
_PATH_MTU_UNIT = 32  # keeps elements of any type whole


def resolve(name: str, source: str) -> str:
    """The IPv4 address of a host name or dotted address; `source` is named in errors.

    Raises:
        ConfigError: there is none.
    """
    try:
        return str(socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{source}={name!r}: no IPv4 address is known for it ({error})") from None


def to_int(ipv4: str) -> int:
    """A dotted address as a number in host byte order."""
    return int(ipaddress.IPv4Address(ipv4))


def is_loopback(ipv4: str) -> bool:
    """Whether the address is in 127.0.0.0/8."""
    return ipaddress.IPv4Address(ipv4).is_loopback


def is_unspecified(ipv4: str) -> bool:
    """Whether it is 0.0.0.0, which stands for all addresses of a machine and is none itself."""
    return ipaddress.IPv4Address(ipv4).is_unspecified


def link_mtu(local: str, remote: str) -> int:
    """MTU in bytes of the route from `local` to `remote`.

    Raises:
        ConfigError: there is no such route, or `local` is no address of this machine.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((local, 0))
        except OSError as error:
            raise ConfigError(f"{local} is not an address of this machine ({error.strerror})") from None
        try:
            probe.connect((remote, _ANY_PORT))  # sends nothing; it looks the route up
        except OSError as error:
            raise ConfigError(f"there is no route from {local} to {remote} ({error.strerror})") from None
        return probe.getsockopt(socket.IPPROTO_IP, _IP_MTU)


def largest_path_mtu(link: int) -> int:
    """The largest path MTU whose packets fit a link of MTU `link`.

    It need not be one of RDMA's (1024, 2048...): those are for devices that cut messages, and here a packet
    is a message of its own. A port's own path MTU holds besides.

    Raises:
        ConfigError: not even the smallest fits.
    """
    room = link - PACKET_OVERHEAD
    if room < _SMALLEST_PATH_MTU:
        raise ConfigError(f"the link's MTU of {link} bytes is too small for packets")
    return min(_LARGEST_PATH_MTU, room // _PATH_MTU_UNIT * _PATH_MTU_UNIT)

"""Small facts about IP addresses and routes that the kernel knows.

Addresses are texts: dotted (IPv4), or as RFC 5952 has them (IPv6).
"""

import ipaddress
import socket

from csaud.errors import ConfigError

_IP_MTU, _IPV6_MTU = 14, 24  # linux/in.h, linux/in6.h; the socket module does not name them
_ANY_PORT = 9

# IPv4 20, UDP 8, BTH 12, DETH 8, iCRC 4: what a packet carries around the path MTU, bytes
PACKET_OVERHEAD = 52
_IPV6_BEYOND_IPV4 = 20  # bytes of its header
_SMALLEST_PATH_MTU, _LARGEST_PATH_MTU = 256, 4096
_PATH_MTU_UNIT = 32  # keeps elements of any type whole


def resolve(name: str, source: str) -> str:
    """The address of a host name, its IPv4 one where it has both, or of an address as a text, IPv6's also in
    brackets; `source` is named in errors.

    Raises:
        ConfigError: there is none, or it is good on one link only.
    """
    bare = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            found = str(socket.getaddrinfo(bare, None, family, socket.SOCK_STREAM)[0][4][0])
        except (OSError, UnicodeError) as error:
            why = error
            continue
        parsed = ipaddress.ip_address(found)
        if parsed.is_link_local and family == socket.AF_INET6:
            raise ConfigError(f"{source}={name!r}: an address of one link (fe80::/10) names no host of a job")
        return str(parsed)
    raise ConfigError(f"{source}={name!r}: no IP address is known for it ({why})") from None


def is_ipv6(address: str) -> bool:
    """Whether an address is IPv6's."""
    return ":" in address


def family_of(address: str) -> socket.AddressFamily:
    """The family of sockets that are for an address."""
    return socket.AF_INET6 if is_ipv6(address) else socket.AF_INET


def with_port(address: str, port: int) -> str:
    """ "address:port", an IPv6 address in brackets."""
    return f"[{address}]:{port}" if is_ipv6(address) else f"{address}:{port}"


def split_port(text: str) -> tuple[str, str]:
    """What `with_port` put together: address and port, as texts; an empty address where it is not that."""
    address, _, port = text.rpartition(":")
    return (address[1:-1] if address.startswith("[") and address.endswith("]") else address), port


def packet_overhead(address: str) -> int:
    """Bytes that packets from an address carry around the path MTU."""
    return PACKET_OVERHEAD + (_IPV6_BEYOND_IPV4 if is_ipv6(address) else 0)


def to_int(ipv4: str) -> int:
    """A dotted address as a number in host byte order."""
    return int(ipaddress.IPv4Address(ipv4))


def is_loopback(address: str) -> bool:
    """Whether the address is in 127.0.0.0/8, or ::1."""
    return ipaddress.ip_address(address).is_loopback


def is_own_name(name: str, address: str) -> bool:
    """Whether `name` is that of this host alone by its `address`: installers let a host's own name be a
    loopback address (127.0.1.1), while other hosts know a real one. localhost is the same everywhere."""
    return is_loopback(address) and not _is_literal(name) and "localhost" not in name.lower()


def _is_literal(name: str) -> bool:
    try:
        socket.getaddrinfo(name.strip("[]"), None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return True


def is_unspecified(address: str) -> bool:
    """Whether it is 0.0.0.0 or ::, which stand for all addresses of a machine and are none themselves."""
    return ipaddress.ip_address(address).is_unspecified


def link_mtu(local: str, remote: str) -> int:
    """MTU in bytes of the route from `local` to `remote`.

    Raises:
        ConfigError: there is no such route, or `local` is no address of this machine.
    """
    with socket.socket(family_of(local), socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((local, 0))
        except OSError as error:
            raise ConfigError(f"{local} is not an address of this machine ({error.strerror})") from None
        try:
            probe.connect((remote, _ANY_PORT))  # sends nothing; it looks the route up
        except OSError as error:
            raise ConfigError(f"there is no route from {local} to {remote} ({error.strerror})") from None
        if is_ipv6(local):
            return probe.getsockopt(socket.IPPROTO_IPV6, _IPV6_MTU)
        return probe.getsockopt(socket.IPPROTO_IP, _IP_MTU)


def largest_path_mtu(link: int, overhead: int = PACKET_OVERHEAD) -> int:
    """The largest path MTU whose packets, with so many bytes around it, fit a link of MTU `link`.

    It need not be one of RDMA's (1024, 2048...): those are for devices that cut messages, and here a packet
    is a message of its own. A port's own path MTU holds besides.

    Raises:
        ConfigError: not even the smallest fits.
    """
    room = link - overhead
    if room < _SMALLEST_PATH_MTU:
        raise ConfigError(f"the link's MTU of {link} bytes is too small for packets")
    return min(_LARGEST_PATH_MTU, room // _PATH_MTU_UNIT * _PATH_MTU_UNIT)

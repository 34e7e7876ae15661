"""The RDMA devices of this machine, as libibverbs tells of them."""

import dataclasses
import ipaddress
from typing import Any

from csaud import _core
from csaud.network.addresses import is_ipv6

_KINDS = ("InfiniBand", "RoCE v1", "RoCE v2")  # enum ibv_gid_type
_ROCE_V2 = _KINDS[2]


@dataclasses.dataclass(frozen=True, slots=True)
class Gid:
    """One entry of a port's table.

    Attributes:
        index: its place in the table.
        kind: "InfiniBand", "RoCE v1" or "RoCE v2".
        address: the IPv6 address that it is, or the dotted IPv4 one that is mapped in it.
        interface: the network interface that it is of, "" where the kernel does not say.
    """

    index: int
    kind: str
    address: str
    interface: str

    @property
    def usable(self) -> bool:
        """Whether our packets, RoCEv2 from an IPv4 or a routed IPv6 address, can come from it."""
        link_local = is_ipv6(self.address) and ipaddress.IPv6Address(self.address).is_link_local
        return self.kind == _ROCE_V2 and not link_local

    @property
    def packed(self) -> bytes:
        """Its 16 bytes."""
        mapped = self.address if is_ipv6(self.address) else f"::ffff:{self.address}"
        return ipaddress.IPv6Address(mapped).packed


@dataclasses.dataclass(frozen=True, slots=True)
class Port:
    """A port of a device. `mtu` and `max_mtu` are path MTUs in bytes, in force and at most."""

    number: int
    active: bool
    ethernet: bool
    mtu: int
    max_mtu: int
    gids: tuple[Gid, ...]

    @property
    def usable_gids(self) -> list[Gid]:
        """Those that packets can come from, IPv4 addresses first."""
        return sorted((gid for gid in self.gids if gid.usable), key=lambda gid: is_ipv6(gid.address))


@dataclasses.dataclass(frozen=True, slots=True)
class RdmaDevice:
    """A device. Where `error` says why it cannot be opened, it has no ports and no limits."""

    name: str
    error: str
    limits: dict[str, int]
    ports: tuple[Port, ...]


class NoVerbs(RuntimeError):
    """RDMA devices cannot be used at all: the message says what is missing."""


def find_devices() -> list[RdmaDevice]:
    """All devices, those that cannot be opened among them.

    Raises:
        NoVerbs: built without the header, or libibverbs is not there.
    """
    if not _core.HAVE_VERBS:
        raise NoVerbs("csaud was built without infiniband/verbs.h")
    try:
        records = _core.verbs_devices()
    except (RuntimeError, OSError) as error:
        raise NoVerbs(str(error)) from None
    return [_device(record) for record in records]


def _device(record: dict[str, Any]) -> RdmaDevice:
    name = record["name"]
    limits = {key: value for key, value in record.items() if isinstance(value, int)}
    ports = tuple(
        Port(
            number=port["number"],
            active=port["active"],
            ethernet=port["ethernet"],
            mtu=port["mtu"],
            max_mtu=port["max_mtu"],
            gids=tuple(_gid(*entry) for entry in port["gids"]),
        )
        for port in record["ports"]
    )
    return RdmaDevice(name, record["error"], limits, ports)


def _gid(index: int, kind: int, raw: bytes, interface: str) -> Gid:
    address = ipaddress.IPv6Address(raw)
    return Gid(index, _KINDS[kind], str(address.ipv4_mapped or address), interface)

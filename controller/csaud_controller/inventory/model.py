"""The fabric as it is wired: switches, hosts and the edges between them.

Read from YAML (written by hand), from the run directory (`fabric.json`, written by whoever started the
fabric, with the P4Runtime addresses filled in), or built by name (`builders`: "leaf-spine-4x4").
"""

from __future__ import annotations

import re
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from csaud_controller.base.graph import components
from csaud_controller.base.units import Duration, Rate
from csaud_controller.inventory.checks import check_fabric
from csaud_controller.inventory.ports import MAX_PORT, End

Role = Literal["leaf", "spine", "core", "edge", "aggregation"]
"""leaf and spine of two tiers; edge, aggregation and core of three."""
_OUTERMOST: tuple[Role, ...] = ("leaf", "edge")


def _unicast_mac(text: str) -> str:
    if int(text[:2], 16) & 1:
        raise ValueError(f"expected a unicast MAC address, got {text}")
    return text.lower()


# An interface is called <switch>-eth<port>; Linux allows 15 characters for it.
def _name(text: str) -> str:
    """Short enough for `<name>-eth126` to be an interface's."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,7}", text):
        raise ValueError(f"expected 1 to 8 letters, digits or _, a letter first, got {text!r}")
    return text


def _unicast_ip(address: IPv4Address) -> IPv4Address:
    if address.is_multicast or address.is_loopback or address.is_unspecified or address.is_reserved:
        raise ValueError(f"expected the address of a host, got {address}")
    return address


Name = Annotated[str, AfterValidator(_name)]
Mac = Annotated[
    str, StringConstraints(pattern=r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"), AfterValidator(_unicast_mac)
]
P4RuntimeAddress = Annotated[str, StringConstraints(pattern=r"^(unix:/.+|[^:/\s]+:\d+)$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkDefaults(_Strict):
    """What a link has when its edge does not say otherwise."""

    rate: Rate = Field(default=200_000_000, description="bits per second, 0 = not limited")
    delay: Duration = Field(default=0, description="one way, nanoseconds")
    buffer: int = Field(default=256, ge=1, le=1 << 20, description="packets per priority queue")


class ServerTls(_Strict):
    """What a switch's P4Runtime server shows and asks of its clients. Relative paths: beside the fabric
    file."""

    cert: Path
    key: Path
    cacert: Path | None = Field(default=None, description="who signed the clients' certificates")
    client_auth: bool = Field(default=False, description="clients without a certificate are refused")


class ClientTls(_Strict):
    """What a client of the switches shows and asks of them. Relative paths: beside the fabric file."""

    cacert: Path | None = Field(default=None, description="who signed the switches' certificates")
    cert: Path | None = Field(default=None, description="shown to switches that ask for one")
    key: Path | None = None
    server_name: str | None = Field(
        default=None, description="name in the switches' certificates; default: localhost for unix sockets"
    )

    @model_validator(mode="after")
    def _check(self) -> ClientTls:
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert and key belong together: expected both or neither")
        return self


class SwitchSpec(_Strict):
    role: Role = "leaf"
    device_id: int = Field(ge=1, le=(1 << 63) - 1)
    p4runtime: P4RuntimeAddress | None = Field(default=None, description="filled in when the switch runs")
    tls: ServerTls | None = Field(default=None, description="of this switch, instead of the fabric's")


class HostSpec(_Strict):
    ip: Annotated[IPv4Address, AfterValidator(_unicast_ip)]
    mac: Mac


class Edge(_Strict):
    """One full-duplex link between port `a_port` of `a` and port `b_port` of `b`; a host's only port is 0."""

    a: Name
    a_port: int = Field(ge=0, le=MAX_PORT)
    b: Name
    b_port: int = Field(ge=0, le=MAX_PORT)
    rate: Rate | None = None
    delay: Duration | None = None
    buffer: int | None = Field(default=None, ge=1, le=1 << 20)

    @property
    def ends(self) -> tuple[End, End]:
        return End(self.a, self.a_port), End(self.b, self.b_port)

    def __str__(self) -> str:
        return f"{self.a}:{self.a_port}-{self.b}:{self.b_port}"


class Fabric(_Strict):
    """The whole fabric; validated: names, ports, addresses and device ids are unique, all is connected."""

    name: str = Field(min_length=1)
    links_via: Literal["veth", "memory"] = "veth"
    mtu: int = Field(default=4200, ge=576, le=9216, description="bytes of an IP packet")
    link: LinkDefaults = LinkDefaults()
    tls: ServerTls | None = Field(default=None, description="P4Runtime of all switches is served over TLS")
    tls_client: ClientTls | None = Field(default=None, description="how clients reach such switches")
    switches: dict[Name, SwitchSpec] = Field(min_length=1)
    hosts: dict[Name, HostSpec] = Field(default_factory=dict)
    edges: list[Edge] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Fabric:
        check_fabric(self)
        return self

    @cached_property
    def peers(self) -> dict[str, dict[int, End]]:
        """For each switch and host: its ports, in order, and what each is wired to."""
        wired: dict[str, dict[int, End]] = {name: {} for name in (*self.switches, *self.hosts)}
        for edge in self.edges:
            a, b = edge.ends
            wired[a.node][a.port] = b
            wired[b.node][b.port] = a
        return {name: dict(sorted(ports.items())) for name, ports in wired.items()}

    @cached_property
    def edge_at(self) -> dict[End, Edge]:
        """The edge that each end belongs to."""
        return {end: edge for edge in self.edges for end in edge.ends}

    @cached_property
    def switch_ends(self) -> list[tuple[End, End]]:
        """The two ends of each edge between two switches."""
        return [edge.ends for edge in self.switch_edges()]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The place of each switch in the inventory, from 1."""
        return {name: place for place, name in enumerate(self.switches, 1)}

    @cached_property
    def rate_at(self) -> dict[End, int]:
        """The rate of the link at each end, bits per second; 0: not limited."""
        return {end: self.link.rate if edge.rate is None else edge.rate for end, edge in self.edge_at.items()}

    @cached_property
    def edge_switches(self) -> frozenset[str]:
        """Switches that carry no traffic between others: leaf and edge, if all hosts meet without."""
        leaves = frozenset(name for name, spec in self.switches.items() if spec.role in _OUTERMOST)
        graph = {name: self.neighbours[name] & self.switches.keys() for name in self.switches}
        cores = components({name: graph[name] for name in self.switches if name not in leaves})
        reached = {
            name: {i for i, core in enumerate(cores) if name in core or not core.isdisjoint(graph[name])}
            for name in self.switches
            if self.host_ports(name)
        }
        for one, by_one in reached.items():
            for other, by_other in reached.items():
                if one != other and other not in graph[one] and not by_one & by_other:
                    return frozenset()
        return leaves

    def uplinks(self, switch: str) -> list[int]:
        """The ports of `switch` that lead to other switches (on a leaf: to the spines), ascending."""
        return [port for port, peer in self.peers[switch].items() if peer.node in self.switches]

    def host_ports(self, switch: str) -> list[int]:
        """The ports of `switch` that lead to hosts, ascending."""
        return [port for port, peer in self.peers[switch].items() if peer.node in self.hosts]

    def attachment(self, host: str) -> End:
        """The switch and the port on it that `host` is wired to."""
        return self.peers[host][0]

    def switch_edges(self) -> list[Edge]:
        """The edges between two switches: the fabric's own links."""
        return [edge for edge in self.edges if edge.a in self.switches and edge.b in self.switches]

    def edges_between(self, a: str, b: str) -> list[Edge]:
        """All edges that join the two named nodes, in either direction."""
        return [edge for edge in self.edges if {edge.a, edge.b} == {a, b}]

    def link_of(self, edge: Edge) -> LinkDefaults:
        """Rate, delay and buffer of an edge, defaults filled in."""
        if edge.rate is None and edge.delay is None and edge.buffer is None:
            return self.link
        return LinkDefaults.model_construct(  # of what has been checked
            rate=self.link.rate if edge.rate is None else edge.rate,
            delay=self.link.delay if edge.delay is None else edge.delay,
            buffer=self.link.buffer if edge.buffer is None else edge.buffer,
        )

    @cached_property
    def neighbours(self) -> dict[str, frozenset[str]]:
        """For each switch and host: what it is wired to."""
        return {name: frozenset(peer.node for peer in ports.values()) for name, ports in self.peers.items()}

    def with_addresses(self, addresses: dict[str, str]) -> Fabric:
        """A copy in which the named switches have these P4Runtime addresses."""
        switches = {
            name: spec.model_copy(update={"p4runtime": addresses.get(name, spec.p4runtime)})
            for name, spec in self.switches.items()
        }
        return self.model_copy(update={"switches": switches})

    def with_files_in(self, folder: Path) -> Fabric:
        """A copy in which relative paths of certificates and keys start at `folder`."""

        def absolute(part: _Strict | None) -> _Strict | None:
            return part and part.model_copy(
                update={key: folder / value for key, value in part if isinstance(value, Path)}
            )

        switches = {
            name: spec.model_copy(update={"tls": absolute(spec.tls)}) for name, spec in self.switches.items()
        }
        tls = {"tls": absolute(self.tls), "tls_client": absolute(self.tls_client)}
        return self.model_copy(update={"switches": switches, **tls})

    def to_json(self) -> str:
        """The text of fabric.json; load_fabric reads it back to an equal Fabric."""
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"

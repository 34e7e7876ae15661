"""The fabric as it is wired: switches, hosts and the edges between them.

Read from YAML (written by hand), from the run directory (`fabric.json`, written by whoever started the
fabric, with the P4Runtime addresses filled in), or built by name (`builders`: "leaf-spine-4x4").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, model_validator

from csaud_controller.base.graph import components
from csaud_controller.base.yamlfile import FieldError, FieldErrors
from csaud_controller.inventory.checks import mistakes
from csaud_controller.inventory.ports import End
from csaud_controller.inventory.specs import (
    ClientTls,
    Edge,
    HostSpec,
    LinkDefaults,
    Name,
    Nic,
    Role,
    ServerTls,
    Strict,
    SwitchSpec,
)
from csaud_controller.inventory.wiring import numbered

_OUTERMOST: tuple[Role, ...] = ("leaf", "edge")
_Addressed = TypeVar("_Addressed", HostSpec, Nic)


class Fabric(Strict):
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

    @model_validator(mode="before")
    @classmethod
    def _numbered(cls, value: Any) -> Any:
        return numbered(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _check(self) -> Fabric:
        if found := mistakes(self.model_dump(mode="json", exclude_none=True)):
            raise FieldErrors(found)
        return self

    @classmethod
    def further_mistakes(cls, value: Any) -> list[FieldError]:
        """Of a document whose fields are wrong already: what is wrong about those that are not."""
        return mistakes(numbered(value), whole=False) if isinstance(value, Mapping) else []

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
    def switch_peers(self) -> dict[str, dict[int, str]]:
        """For each switch: its ports that lead to other switches, in order, and to which."""
        return {
            name: {port: peer.node for port, peer in self.peers[name].items() if peer.node in self.switches}
            for name in self.switches
        }

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
        """The number of each switch: its `group`, or the next that is free, in their order from 1."""
        taken = {spec.group for spec in self.switches.values()}
        free = (number for number in count(1) if number not in taken)
        return {name: spec.group or next(free) for name, spec in self.switches.items()}

    @cached_property
    def rate_at(self) -> dict[End, int]:
        """The rate of the link at each end, bits per second; 0: not limited."""
        return {end: self._rate_of(edge) for end, edge in self.edge_at.items()}

    @cached_property
    def capacity_at(self) -> dict[str, dict[int, int]]:
        """For each switch: the rates of its ports, where one that is not limited counts as the fastest link
        of the fabric."""
        fastest = max(self.rate_at.values(), default=0) or 1
        return {
            name: {port: self.rate_at[End(name, port)] or fastest for port in self.peers[name]}
            for name in self.switches
        }

    @cached_property
    def share_at(self) -> dict[End, float]:
        """For both ends of each edge between switches: its rate as a share of the fastest one's between
        switches of the same two roles. Edges of hosts are left out: packets could take none instead."""
        rates = {ends: self.capacity_at[ends[0].node][ends[0].port] for ends in self.switch_ends}
        tier = {ends: frozenset(self.switches[end.node].role for end in ends) for ends in rates}
        fastest: dict[frozenset[Role], int] = {}
        for ends, rate in rates.items():
            fastest[tier[ends]] = max(rate, fastest.get(tier[ends], 0))
        return {end: rate / fastest[tier[ends]] for ends, rate in rates.items() for end in ends}

    @cached_property
    def _breakout_rates(self) -> dict[End, int]:
        return {
            End(name, port): each.rate
            for name, spec in self.switches.items()
            for each in spec.breakouts.values()
            for port in each.ports
        }

    def _rate_of(self, edge: Edge) -> int:
        """Its own, or the least of the default and what breakouts leave to its ends."""
        if edge.rate is not None:
            return edge.rate
        least = [rate for end in edge.ends if (rate := self._breakout_rates.get(end))]
        return min([*least, *([self.link.rate] if self.link.rate else [])], default=0)

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

    @cached_property
    def choices_below(self) -> dict[str, int]:
        """In how many ways packets may have come from their hosts as far as each switch: by any port that a
        switch with hosts has to the next tier, then by any that this one has to the next, and so on. 1: there
        was no choice. Where switches of a tier differ, the most."""
        choices = dict.fromkeys(self.switches, 1)
        tier = {name for name in self.switches if self.host_ports(name)}
        beyond = self.switches.keys() - tier
        while tier:
            above: set[str] = set()
            for name in tier:
                up = [peer.node for peer in self.peers[name].values() if peer.node in beyond]
                for switch in up:
                    choices[switch] = max(choices[switch], choices[name] * len(up))
                above.update(up)
            tier, beyond = above, beyond - above
        return choices

    def uplinks(self, switch: str) -> list[int]:
        """The ports of `switch` that lead to other switches (on a leaf: to the spines), ascending."""
        return [port for port, peer in self.peers[switch].items() if peer.node in self.switches]

    def host_ports(self, switch: str) -> list[int]:
        """The ports of `switch` that lead to hosts, ascending."""
        return [port for port, peer in self.peers[switch].items() if peer.node in self.hosts]

    def attachment(self, host: str) -> End:
        """The switch and the port on it that `host` is wired to, with its first NIC."""
        return self.peers[host][0]

    def nic_at(self, switch: str, port: int) -> Nic:
        """The NIC that a port to a host is wired to."""
        host, number = self.peers[switch][port]
        return self.hosts[host].all_nics[number]

    def nics(self) -> Iterator[tuple[End, Nic]]:
        """Every NIC of every host, with the port of a switch that it is wired to."""
        for name, host in self.hosts.items():
            for number, nic in enumerate(host.all_nics):
                yield self.peers[name][number], nic

    @cached_property
    def host_at(self) -> dict[str, str]:
        """The host of each address, as text."""
        return {
            str(address): name
            for name, host in self.hosts.items()
            for nic in host.all_nics
            for address in nic.addresses
        }

    def switch_edges(self) -> list[Edge]:
        """The edges between two switches: the fabric's own links."""
        return [edge for edge in self.edges if edge.a in self.switches and edge.b in self.switches]

    def edges_between(self, a: str, b: str) -> list[Edge]:
        """All edges that join the two named nodes, in either direction."""
        return [edge for edge in self.edges if {edge.a, edge.b} == {a, b}]

    def link_of(self, edge: Edge) -> LinkDefaults:
        """Rate, delay and buffer of an edge, defaults filled in."""
        if edge.rate is None and edge.delay is None and edge.buffer is None and not self._breakout_rates:
            return self.link
        return LinkDefaults.model_construct(  # of what has been checked
            rate=self._rate_of(edge),
            delay=self.link.delay if edge.delay is None else edge.delay,
            buffer=self.link.buffer if edge.buffer is None else edge.buffer,
        )

    @cached_property
    def neighbours(self) -> dict[str, frozenset[str]]:
        """For each switch and host: what it is wired to."""
        return {name: frozenset(peer.node for peer in ports.values()) for name, ports in self.peers.items()}

    def changed(self, **parts: Any) -> Fabric:
        """A copy with other parts, which are not checked again."""
        made = self.model_copy(update=parts)
        for name in {*made.__dict__} - {*type(self).model_fields}:  # computed of the parts before
            del made.__dict__[name]
        return made

    def with_ipv6(self) -> Fabric:
        """A copy in which each NIC has an IPv6 address: where it has none, 10.0.1.2 is fd00:a00:1::2, so that
        hosts that share a /24 share a /64."""

        def both(nic: _Addressed) -> _Addressed:
            return nic if nic.ip6 else nic.model_copy(update={"ip6": _beside(nic.ip)})

        hosts = {
            name: both(host).model_copy(update={"nics": tuple(map(both, host.nics))})
            for name, host in self.hosts.items()
        }
        return self.changed(hosts=hosts)

    def with_addresses(self, addresses: dict[str, str]) -> Fabric:
        """A copy in which the named switches have these P4Runtime addresses."""
        switches = {
            name: spec.model_copy(update={"p4runtime": addresses.get(name, spec.p4runtime)})
            for name, spec in self.switches.items()
        }
        return self.model_copy(update={"switches": switches})

    def with_files_in(self, folder: Path) -> Fabric:
        """A copy in which relative paths of certificates and keys start at `folder`."""

        def absolute(part: Strict | None) -> Strict | None:
            return part and part.model_copy(
                update={key: folder / value for key, value in part if isinstance(value, Path)}
            )

        switches = {
            name: spec.model_copy(
                update={
                    "tls": absolute(spec.tls),
                    "program": None if spec.program is None else folder / spec.program,
                }
            )
            for name, spec in self.switches.items()
        }
        tls = {"tls": absolute(self.tls), "tls_client": absolute(self.tls_client)}
        return self.model_copy(update={"switches": switches, **tls})

    def to_json(self) -> str:
        """The text of fabric.json; load_fabric reads it back to an equal Fabric."""
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"


def _beside(address: IPv4Address) -> IPv6Address:
    """The IPv6 address of a NIC that was given none."""
    a, b, c, d = address.packed
    return IPv6Address((0xFD00 << 112) | (a << 8 | b) << 96 | c << 80 | d)

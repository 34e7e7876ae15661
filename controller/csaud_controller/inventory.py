"""The fabric as it is wired: switches, hosts and the edges between them.

Read from YAML (written by hand), from the run directory (`fabric.json`, written by whoever started the
fabric, with the P4Runtime addresses filled in), or built by name ("leaf-spine-4x4").
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import networkx as nx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from csaud_controller.units import Duration, Rate
from csaud_controller.yamlfile import ConfigError, FieldError, load_model

CPU_PORT = 510
"""Port number of the P4 targets' packet-in/packet-out (their --cpu-port)."""
MAX_PORT = 127
"""Counters of the P4 program are indexed by port*4+kind for ports below 128."""


def _unicast_mac(text: str) -> str:
    if int(text[:2], 16) & 1:
        raise ValueError(f"expected a unicast MAC address, got {text}")
    return text.lower()


# An interface is called <switch>-eth<port>; Linux allows 15 characters for it.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,7}$")]
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


class SwitchSpec(_Strict):
    role: Literal["leaf", "spine", "core"] = "leaf"
    device_id: int = Field(ge=1, le=(1 << 63) - 1)
    p4runtime: P4RuntimeAddress | None = Field(default=None, description="filled in when the switch runs")


class HostSpec(_Strict):
    ip: IPv4Address
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


class End(NamedTuple):
    """One end of a link: a switch or host and its port."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


class Fabric(_Strict):
    """The whole fabric; validated: names, ports, addresses and device ids are unique, all is connected."""

    name: str = Field(min_length=1)
    links_via: Literal["veth", "memory"] = "veth"
    mtu: int = Field(default=4200, ge=576, le=9216, description="bytes of an IP packet")
    link: LinkDefaults = LinkDefaults()
    switches: dict[Name, SwitchSpec] = Field(min_length=1)
    hosts: dict[Name, HostSpec] = Field(default_factory=dict)
    edges: list[Edge] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Fabric:
        _check_names(self)
        _check_edges(self)
        _check_addresses(self)
        _check_connected(self)
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
    def edge_switches(self) -> frozenset[str]:
        """Switches that carry no traffic between others: the leaves, if all hosts are connected without."""
        leaves = frozenset(name for name, spec in self.switches.items() if spec.role == "leaf")
        graph = self.graph().subgraph(self.switches)
        cores = [set(part) for part in nx.connected_components(graph.subgraph(set(self.switches) - leaves))]
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
        return LinkDefaults(
            rate=self.link.rate if edge.rate is None else edge.rate,
            delay=self.link.delay if edge.delay is None else edge.delay,
            buffer=self.link.buffer if edge.buffer is None else edge.buffer,
        )

    def graph(self) -> nx.Graph:
        """Switches and hosts as nodes, joined where at least one edge joins them."""
        graph = nx.Graph()
        graph.add_nodes_from((*self.switches, *self.hosts))
        graph.add_edges_from((edge.a, edge.b) for edge in self.edges)
        return graph

    def with_addresses(self, addresses: dict[str, str]) -> Fabric:
        """A copy in which the named switches have these P4Runtime addresses."""
        switches = {
            name: spec.model_copy(update={"p4runtime": addresses.get(name, spec.p4runtime)})
            for name, spec in self.switches.items()
        }
        return self.model_copy(update={"switches": switches})

    def to_json(self) -> str:
        """The text of fabric.json; load_fabric reads it back to an equal Fabric."""
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"


def interface(node: str, port: int) -> str:
    """Name of the network interface of a port: "l1-eth3"."""
    return f"{node}-eth{port}"


def leaf_spine(leaves: int, spines: int, hosts_per_leaf: int = 2) -> Fabric:
    """Leaves l1.., spines s1.., hosts h1..; a leaf's first ports are uplinks (port j = spine j), then hosts.

    Host n of leaf k is 10.0.k.n with MAC 02:00:0a:00:kk:nn; ValueError when the sizes do not fit that plan.
    """
    if not 1 <= leaves <= MAX_PORT or spines < 0 or hosts_per_leaf < 0:
        raise ValueError(f"a leaf-spine fabric has 1 to {MAX_PORT} leaves, got {leaves}")
    if spines + hosts_per_leaf > MAX_PORT:
        raise ValueError(f"a leaf has {MAX_PORT} ports, got {spines} spines + {hosts_per_leaf} hosts")
    if spines == 0 and leaves > 1:
        raise ValueError("leaves without a spine are not connected: give at least 1 spine")
    switches = {f"l{k}": SwitchSpec(role="leaf", device_id=k) for k in range(1, leaves + 1)}
    switches |= {f"s{j}": SwitchSpec(role="spine", device_id=leaves + j) for j in range(1, spines + 1)}
    hosts: dict[str, HostSpec] = {}
    edges: list[Edge] = []
    for k in range(1, leaves + 1):
        edges += [Edge(a=f"l{k}", a_port=j, b=f"s{j}", b_port=k) for j in range(1, spines + 1)]
        for n in range(1, hosts_per_leaf + 1):
            name = f"h{len(hosts) + 1}"
            hosts[name] = HostSpec(ip=IPv4Address(f"10.0.{k}.{n}"), mac=f"02:00:0a:00:{k:02x}:{n:02x}")
            edges.append(Edge(a=f"l{k}", a_port=spines + n, b=name, b_port=0))
    name = f"leaf-spine-{leaves}x{spines}" + ("" if hosts_per_leaf == 2 else f"x{hosts_per_leaf}")
    return Fabric(name=name, switches=switches, hosts=hosts, edges=edges)


_BY_NAME = re.compile(r"leaf-spine-(\d+)x(\d+)(?:x(\d+))?")


def load_fabric(source: str | Path) -> Fabric:
    """A fabric by name (leaf-spine-LxS or -LxSxH: leaves, spines, hosts a leaf) or from a YAML or JSON file.

    ConfigError on any mistake; its text names the file, the line and the key.
    """
    if isinstance(source, str) and (found := _BY_NAME.fullmatch(source)):
        leaves, spines, hosts = int(found[1]), int(found[2]), int(found[3] or 2)
        try:
            return leaf_spine(leaves, spines, hosts)
        except ValueError as error:
            raise ConfigError(source, None, "", str(error)) from None
    path = Path(source)
    if not path.exists() and path.suffix not in (".yaml", ".yml", ".json"):
        raise ConfigError(
            str(source),
            None,
            "",
            "no such fabric: expected a name like leaf-spine-2x3 or leaf-spine-2x3x4"
            " (leaves x spines x hosts a leaf), or a YAML file",
        )
    return load_model(path, Fabric)


def _check_names(fabric: Fabric) -> None:
    for name in fabric.hosts:
        if name in fabric.switches:
            raise FieldError(("hosts", name), f"{name} is also a switch: expected a name of its own")


def _check_edges(fabric: Fabric) -> None:
    used: dict[End, int] = {}
    for index, edge in enumerate(fabric.edges):
        for side, end in zip("ab", edge.ends, strict=True):
            if end.node not in fabric.switches and end.node not in fabric.hosts:
                known = ", ".join((*fabric.switches, *fabric.hosts))
                raise FieldError(
                    ("edges", index, side), f"unknown node {end.node!r}; expected one of {known}"
                )
            key = ("edges", index, f"{side}_port")
            if end.node in fabric.hosts and end.port != 0:
                raise FieldError(key, f"a host has only port 0, got {end.port}")
            if end.node in fabric.switches and end.port == 0:
                raise FieldError(key, f"expected a switch port from 1 to {MAX_PORT}, got 0")
            if end in used:
                raise FieldError(
                    key, f"port {end} is already used by edges[{used[end]}]: expected a free port"
                )
            used[end] = index
        if edge.a in fabric.hosts and edge.b in fabric.hosts:
            raise FieldError(("edges", index), "an edge joins a switch to a switch or a host, not two hosts")
        if edge.a == edge.b:
            raise FieldError(("edges", index), f"an edge joins two nodes, got {edge.a} twice")
    for host in fabric.hosts:
        if End(host, 0) not in used:
            raise FieldError(("hosts", host), f"{host} is in no edge: expected one edge to a switch")


def _check_addresses(fabric: Fabric) -> None:
    rows = [
        ("switches", "device_id", {name: str(spec.device_id) for name, spec in fabric.switches.items()}),
        ("hosts", "ip", {name: str(spec.ip) for name, spec in fabric.hosts.items()}),
        ("hosts", "mac", {name: spec.mac for name, spec in fabric.hosts.items()}),
    ]
    for section, key, values in rows:
        counts = Counter(values.values())
        for name, value in reversed(values.items()):
            if counts[value] > 1:
                other = next(n for n, v in values.items() if v == value)
                raise FieldError(
                    (section, name, key), f"{value} is also that of {other}: expected a unique {key}"
                )


def _check_connected(fabric: Fabric) -> None:
    parts: list[set[str]] = list(nx.connected_components(fabric.graph()))
    if len(parts) > 1:
        lonely = min(sorted(parts, key=len)[0])
        section = "hosts" if lonely in fabric.hosts else "switches"
        raise FieldError(
            (section, lonely), f"{lonely} is not connected to the rest of the fabric by any edge"
        )

"""Shortest paths through the fabric: which ports of a switch lead on to each destination.

A destination is the switch that the hosts hang on. Each has one path group per switch, whose id depends on
the inventory alone: a link that fails changes the members of groups, never a route or an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

import networkx as nx

from csaud_controller.inventory import End, Fabric

FIRST_LOCAL_GROUP = 512
"""Group of a host at port p of its own switch is FIRST_LOCAL_GROUP + p; remote groups are 1, 2, .."""


@dataclass(frozen=True)
class LiveView:
    """What of the fabric can carry packets at present."""

    dead_links: frozenset[End] = frozenset()
    """The `a` ends of edges that are down."""
    dead_switches: frozenset[str] = frozenset()

    def seen_from(self, switch: str) -> LiveView:
        """A switch that is being programmed is itself taken to be alive."""
        return LiveView(self.dead_links, self.dead_switches - {switch})


ALL_UP = LiveView()


@dataclass(frozen=True)
class SwitchPaths:
    """One switch's routes: prefix to group id, and the ports of each group (none at all: unreachable)."""

    routes: dict[IPv4Network, int]
    groups: dict[int, tuple[int, ...]]


def prefixes(fabric: Fabric) -> dict[str, list[IPv4Network]]:
    """For each switch with hosts, the prefixes that lead to it: one /24 where no other switch has hosts in
    it, otherwise one /32 a host."""
    subnets: dict[str, set[IPv4Network]] = {}
    for name, host in fabric.hosts.items():
        leaf = fabric.attachment(name).node
        subnets.setdefault(leaf, set()).add(IPv4Network((int(host.ip), 24), strict=False))
    result: dict[str, list[IPv4Network]] = {}
    for leaf, own in subnets.items():
        others = set().union(*(nets for other, nets in subnets.items() if other != leaf))
        if len(own) == 1 and not own & others:
            result[leaf] = sorted(own)
        else:
            hosts = (fabric.hosts[fabric.peers[leaf][port].node] for port in fabric.host_ports(leaf))
            result[leaf] = sorted(IPv4Network(int(host.ip)) for host in hosts)
    return result


def remote_group(fabric: Fabric, destination: str) -> int:
    """Group id that leads to the hosts of another switch: its place in the inventory, from 1."""
    group = list(fabric.switches).index(destination) + 1
    if group >= FIRST_LOCAL_GROUP:
        raise ValueError(
            f"a fabric has at most {FIRST_LOCAL_GROUP - 1} switches, {destination} is number {group}"
        )
    return group


def next_ports(fabric: Fabric, destination: str, live: LiveView = ALL_UP) -> dict[str, tuple[int, ...]]:
    """For every other switch: its ports that begin a shortest live path to `destination`, ascending.

    Leaves carry no traffic between other switches where the fabric as built needs none of them to: a spine
    that lost its link to a leaf then has no path there, rather than one down through another leaf and up
    again.
    """
    transit = set(fabric.switches) - _edge_switches(fabric)
    graph = _live_graph(fabric, live)
    far: dict[str, int] = {destination: 0} if destination in graph else {}
    frontier = list(far)
    while frontier:
        reached = []
        for node in frontier:
            if node != destination and node not in transit:
                continue
            for peer in graph[node]:
                if peer not in far:
                    far[peer] = far[node] + 1
                    reached.append(peer)
        frontier = reached
    dead = {end for edge in fabric.edges if edge.ends[0] in live.dead_links for end in edge.ends}
    return {
        switch: tuple(
            port
            for port, peer in fabric.peers[switch].items()
            if switch in far
            and far.get(peer.node) == far[switch] - 1
            and (peer.node == destination or peer.node in transit)
            and End(switch, port) not in dead
        )
        for switch in fabric.switches
        if switch != destination
    }


def switch_paths(fabric: Fabric, live: LiveView = ALL_UP) -> dict[str, SwitchPaths]:
    """Routes and groups of every switch; each is computed as that switch, taken to be alive, must act."""
    destinations = prefixes(fabric)
    result = {name: SwitchPaths({}, {}) for name in fabric.switches}
    seen = {name: live.seen_from(name) for name in fabric.switches}
    views = set(seen.values())
    for destination, nets in destinations.items():
        group = remote_group(fabric, destination)
        ports = {view: next_ports(fabric, destination, view) for view in views}
        for switch in fabric.switches:
            if switch != destination:
                result[switch].groups[group] = ports[seen[switch]][switch]
                result[switch].routes.update(dict.fromkeys(nets, group))
        for port in fabric.host_ports(destination):
            host = fabric.hosts[fabric.peers[destination][port].node]
            result[destination].groups[FIRST_LOCAL_GROUP + port] = (port,)
            result[destination].routes[IPv4Network(int(host.ip))] = FIRST_LOCAL_GROUP + port
    return result


def host_paths(fabric: Fabric, src: str, dst: str, live: LiveView = ALL_UP) -> list[list[End]]:
    """All equal-cost paths between two hosts: the switches on each, with the port each sends out of."""
    last = fabric.attachment(dst)
    first = fabric.attachment(src).node
    ports = next_ports(fabric, last.node, live)
    paths: list[list[End]] = []

    def walk(switch: str, hops: list[End]) -> None:
        if switch == last.node:
            paths.append([*hops, last])
            return
        for port in ports[switch]:
            walk(fabric.peers[switch][port].node, [*hops, End(switch, port)])

    walk(first, [])
    return paths


def _live_graph(fabric: Fabric, live: LiveView) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(name for name in fabric.switches if name not in live.dead_switches)
    for edge in fabric.switch_edges():
        if edge.ends[0] not in live.dead_links and edge.a in graph and edge.b in graph:
            graph.add_edge(edge.a, edge.b)
    return graph


def _edge_switches(fabric: Fabric) -> set[str]:
    """The switches that carry no traffic between others: the leaves, if the fabric is connected without."""
    leaves = {name for name, spec in fabric.switches.items() if spec.role == "leaf"}
    inner = [name for name in fabric.switches if name not in leaves]
    graph = _live_graph(fabric, ALL_UP)
    core = graph.subgraph(inner)
    ends = [name for name in fabric.switches if fabric.host_ports(name)]
    for index, one in enumerate(ends):
        for other in ends[index + 1 :]:
            reachable = nx.has_path(graph.subgraph([*core, one, other]), one, other)
            if not reachable:
                return set()
    return leaves

"""Shortest paths through the fabric: which ports of a switch lead on to each destination.

A destination is the switch that the hosts hang on. Each has one path group per switch, whose id depends on
the inventory alone: a link that fails changes the members of groups, never a route or an id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from csaud_controller.base.graph import distances
from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.live import ALL_UP, LiveView

FIRST_LOCAL_GROUP = 0x8000
"""Group of a host at port p of its own switch is FIRST_LOCAL_GROUP + p; remote groups are 1, 2, .."""


_Neighbours = dict[str, dict[int, str]]
"""For each live switch: its ports that lead over a usable link to another live switch, and to which."""
_Choices = list[_Neighbours]
"""By preference: a switch takes the first in which it has a way that is as short as in the last. So each step
leads nearer in the last, whatever the next switch has heard of: nothing goes round in circles while drains
are on their way to the switches."""


Prefix = IPv4Network | IPv6Network


def prefixes(fabric: Fabric) -> dict[str, list[Prefix]]:
    """For each switch with hosts, the prefixes that lead to it: one /24, and one /64 where hosts have IPv6
    addresses, if no other switch has hosts in it; otherwise one /32 or /128 a host."""
    over_ipv4 = ((at.node, nic.ip) for at, nic in fabric.nics())
    over_ipv6 = ((at.node, nic.ip6) for at, nic in fabric.nics() if nic.ip6 is not None)
    result = {leaf: [*nets] for leaf, nets in _subnets(over_ipv4, 24).items()}
    for leaf, nets in _subnets(over_ipv6, 64).items():
        result[leaf] += nets
    return result


def _subnets(found: Iterable[tuple[str, IPv4Address | IPv6Address]], length: int) -> dict[str, list[Prefix]]:
    """The prefixes of one family, of the addresses of hosts by their switch."""
    addresses: dict[str, list[IPv4Address | IPv6Address]] = {}
    for leaf, address in found:
        addresses.setdefault(leaf, []).append(address)
    subnets = {
        leaf: {ip_network((address, length), strict=False) for address in own}
        for leaf, own in addresses.items()
    }
    shared = Counter(net for nets in subnets.values() for net in nets)

    def own(leaf: str) -> list[Prefix]:
        nets = [*subnets[leaf]]
        if len(nets) == 1 and shared[nets[0]] == 1:
            return nets
        return [ip_network(address) for address in sorted(addresses[leaf], key=int)]

    return {leaf: own(leaf) for leaf in addresses}


def remote_group(fabric: Fabric, destination: str) -> int:
    """Group id that leads to the hosts of another switch: its place in the inventory, from 1."""
    group = fabric.place_of[destination]
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
    return _preferred_ports(fabric, destination, _choices(fabric, live))


def _preferred_ports(fabric: Fabric, destination: str, choices: _Choices) -> dict[str, tuple[int, ...]]:
    if len(choices) == 1:
        return _next_ports(fabric, destination, choices[0])
    shortest = distances_to(fabric, destination, choices[-1])
    found = _next_ports(fabric, destination, choices[0], shortest)
    for neighbours in choices[1:]:
        if not all(found.values()):
            others = _next_ports(fabric, destination, neighbours, shortest)
            found = {switch: ports or others[switch] for switch, ports in found.items()}
    return found


def _next_ports(
    fabric: Fabric,
    destination: str,
    neighbours: _Neighbours,
    shortest: Mapping[str, int] | None = None,
) -> dict[str, tuple[int, ...]]:
    """None for a switch that has no way as short as `shortest`."""
    far = distances_to(fabric, destination, neighbours)
    edge_switches = fabric.edge_switches
    nearer = {
        peer: distance for peer, distance in far.items() if peer == destination or peer not in edge_switches
    }
    found: dict[str, tuple[int, ...]] = {}
    for switch in fabric.switches:
        if switch != destination:
            distance = far.get(switch, 0)
            wanted = distance if shortest is None else shortest.get(switch, 0)
            ports = neighbours[switch].items() if 0 < distance <= wanted else ()
            found[switch] = tuple(port for port, peer in ports if nearer.get(peer) == distance - 1)
    return found


def in_need(fabric: Fabric, destination: str, live: LiveView) -> set[str]:
    """Switches that would need drained links on their way to `destination`."""
    dead = live.dead_links | live.closed
    whole = _neighbours(fabric, live, dead)
    shortest = distances_to(fabric, destination, whole)
    spared = _next_ports(fabric, destination, _neighbours(fabric, live, dead | live.drained), shortest)
    return {switch for switch, ports in spared.items() if not ports and switch in shortest}


def distances_to(
    fabric: Fabric, destination: str, neighbours: Mapping[str, Mapping[int, str]]
) -> dict[str, int]:
    """Links from each switch to the destination, through switches that carry traffic between others."""
    if destination not in neighbours:
        return {}
    carries = {name for name in neighbours if name not in fabric.edge_switches or name == destination}
    within = distances(
        {name: neighbours[name].values() for name in neighbours if name in carries}, destination
    )
    far = dict(within)
    for switch, ports in neighbours.items():
        nearest = min((within[peer] for peer in ports.values() if peer in within), default=None)
        if switch not in within and nearest is not None:
            far[switch] = nearest + 1
    return far


def switch_routes(fabric: Fabric) -> dict[str, dict[Prefix, int]]:
    """For each switch: prefix to group id, whatever links do."""
    routes: dict[str, dict[Prefix, int]] = {name: {} for name in fabric.switches}
    for destination, nets in prefixes(fabric).items():
        group = remote_group(fabric, destination)
        for switch in fabric.switches:
            if switch != destination:
                routes[switch].update(dict.fromkeys(nets, group))
        for port in fabric.host_ports(destination):
            for address in fabric.nic_at(destination, port).addresses:
                routes[destination][ip_network(address)] = FIRST_LOCAL_GROUP + port
    return routes


NextPorts = dict[str, dict[str, tuple[int, ...]]]
"""By destination and switch: what `next_ports` tells."""


def all_next_ports(fabric: Fabric, live: LiveView = ALL_UP) -> NextPorts:
    """`next_ports` to every switch with hosts."""
    choices = _choices(fabric, live)
    return {
        name: _preferred_ports(fabric, name, choices) for name in fabric.switches if fabric.host_ports(name)
    }


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


def _choices(fabric: Fabric, live: LiveView) -> _Choices:
    return [_neighbours(fabric, live, without) for without in live.preferences]


def _neighbours(fabric: Fabric, live: LiveView, without: frozenset[End]) -> _Neighbours:
    """For each live switch: its ports that lead to another live switch, and to which, but for the links
    `without`."""
    result: _Neighbours = {name: {} for name in fabric.switches if name not in live.dead_switches}
    for a, b in fabric.switch_ends:
        if a not in without and a.node in result and b.node in result:
            result[a.node][a.port] = b.node
            result[b.node][b.port] = a.node
    return {name: dict(sorted(ports.items())) for name, ports in result.items()}

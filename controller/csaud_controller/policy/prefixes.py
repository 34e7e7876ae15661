"""Source and destination prefixes as `spray.policy` has room for them: it matches the switch that packets go
to (its path group), and nothing of where they come from."""

from __future__ import annotations

from ipaddress import IPv4Network

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.paths.equal_cost import next_ports
from csaud_controller.policy.places import Location


def switches_in(fabric: Fabric, prefix: IPv4Network, loc: Location = ()) -> list[str]:
    """The switches all of whose hosts have addresses in a prefix. FieldError when it holds a part of a
    switch's hosts, or nobody: the table has no room for that."""
    within: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for at, nic in fabric.nics():
        name = fabric.peers[at.node][at.port].node
        (within if nic.ip in prefix else others).setdefault(at.node, []).append(f"{name} ({nic.ip})")
    if not within:
        raise FieldError(loc, f"no host has an address in {prefix}")
    for switch in within.keys() & others.keys():
        raise FieldError(
            loc,
            f"spray.policy matches all hosts of a switch (field group), and {prefix} has"
            f" {within[switch][0]} of {switch}, but not {others[switch][0]}",
        )
    return [name for name in fabric.switches if name in within]


def check_sources(fabric: Fabric, prefix: IPv4Network, loc: Location) -> None:
    """FieldError when switches other than those of the sources choose among paths for their packets, too."""
    sources = switches_in(fabric, prefix, loc)
    choosing: set[str] = set()
    for destination in fabric.switches:
        if fabric.host_ports(destination):
            choosing |= _beyond(fabric, sources, destination)
    if choosing:
        names = [name for name in fabric.switches if name in choosing]
        raise FieldError(
            loc,
            f"spray.policy has no field for source addresses, and {', '.join(names)} would need one: they"
            f" choose among paths for what comes from {prefix}, too",
        )


def _beyond(fabric: Fabric, sources: list[str], destination: str) -> set[str]:
    """Switches on shortest paths from the sources, without these, that have several ways on."""
    ports = next_ports(fabric, destination)
    waiting, seen = [name for name in sources if name != destination], set(sources)
    found = set()
    while waiting:
        switch = waiting.pop()
        if switch not in sources and len(ports.get(switch, ())) > 1:
            found.add(switch)
        for port in ports.get(switch, ()):
            peer = fabric.peers[switch][port].node
            if peer not in seen:
                seen.add(peer)
                waiting.append(peer)
    return found

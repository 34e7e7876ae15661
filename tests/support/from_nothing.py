"""Groups of every switch, each computed from nothing: what the controller, which keeps them while links come
and go, is held against."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.equal_cost import (
    FIRST_LOCAL_GROUP,
    NextPorts,
    all_next_ports,
    remote_group,
    switch_routes,
)
from csaud_controller.paths.live import ALL_UP, LiveView


@dataclass(frozen=True)
class SwitchPaths:
    """One switch's routes: prefix to group id, and the ports of each group (none at all: unreachable)."""

    routes: dict[IPv4Network, int]
    groups: dict[int, tuple[int, ...]]


def switch_groups(fabric: Fabric, live: LiveView, found: NextPorts) -> dict[str, dict[int, tuple[int, ...]]]:
    """For each switch: the ports of each group; computed as that switch, taken to be alive, must act.
    `found`: for `live` itself."""
    views = {live: found}
    result: dict[str, dict[int, tuple[int, ...]]] = {}
    for switch in fabric.switches:
        view = live.seen_from(switch)
        if view not in views:
            views[view] = all_next_ports(fabric, view)
        result[switch] = {
            remote_group(fabric, destination): ports[switch]
            for destination, ports in views[view].items()
            if destination != switch
        } | {
            FIRST_LOCAL_GROUP + port: () if End(switch, port) in live.closed else (port,)
            for port in fabric.host_ports(switch)
        }
    return result


def switch_paths(fabric: Fabric, live: LiveView = ALL_UP) -> dict[str, SwitchPaths]:
    """Routes and groups of every switch."""
    routes, groups = switch_routes(fabric), switch_groups(fabric, live, all_next_ports(fabric, live))
    return {name: SwitchPaths(routes[name], groups[name]) for name in fabric.switches}

"""Inventory + policy + faults + what is alive -> everything that a switch should hold."""

from __future__ import annotations

from collections.abc import Mapping

from csaud_controller.inventory import Fabric
from csaud_controller.links.probes import ETHER_TYPE
from csaud_controller.paths.equal_cost import SwitchPaths, prefixes, remote_group, switch_paths
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.faults import fault_entries
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import port_entries
from csaud_controller.policy.signals import BOUNCES
from csaud_controller.policy.spray import spray_entries
from csaud_controller.policy.weights import PortWeights, Weights, bucket_entries, derived_weights, weights_of
from csaud_controller.program.digests import ALARMS
from csaud_controller.program.entities import (
    FIRST_CHOICE,
    SECOND_CHOICE,
    Entry,
    Group,
    GroupMember,
    Item,
    Member,
    TableState,
    UseGroup,
    call,
    entry,
    table_state,
)

_CHOICES = (("spray.paths", FIRST_CHOICE), ("spray.alternative", SECOND_CHOICE))


def desired_states(fabric: Fabric, intent: Intent, live: LiveView = ALL_UP) -> dict[str, TableState]:
    """Everything that every switch should hold."""
    paths, spraying = switch_paths(fabric, live), intent.policy.spraying
    carries = (
        {name: derived_weights(fabric, name, live) for name in prefixes(fabric)}
        if spraying.uses("weighted")
        else {}
    )
    return {
        name: table_state(
            [
                BOUNCES,
                ALARMS,
                entry("punt.ether_type", {"ether_type": ETHER_TYPE}, call("punt.to_cpu")),
                *spray_entries(fabric, spraying, name),
                *port_entries(fabric, intent.policy, name),
                *fault_entries(fabric, intent.faults, name),
                *_path_items(fabric, name, paths[name], spraying.uses("least-queue")),
                *_bucket_entries(fabric, intent.policy.weights, name, paths[name], carries),
            ]
        )
        for name in fabric.switches
    }


def _path_items(fabric: Fabric, switch: str, paths: SwitchPaths, second_choice: bool) -> list[Item]:
    """A member a port, whose id is the port; a group a destination. A destination without a live path has a
    route but no group, so that its packets are counted as having no path. Where a second choice is asked for,
    the same once more: a packet can look up a table only once."""
    items: list[Item] = []
    for table, selector in _CHOICES[: 2 if second_choice else 1]:
        items += [Member(port, call("spray.forward", port=port), selector) for port in fabric.peers[switch]]
        for group, ports in paths.groups.items():
            if ports:
                members = tuple(GroupMember(port, 1, port) for port in ports)
                items.append(Group(group, members, selector))
                items.append(entry(table, {"group": group}, UseGroup(group)))
    for prefix, group in paths.routes.items():
        match = {"dst": (int(prefix.network_address), prefix.prefixlen)}
        items.append(entry("route.ipv4_lpm", match, call("route.set_group", group=group)))
    return items


def _bucket_entries(
    fabric: Fabric,
    weights: Weights,
    switch: str,
    paths: SwitchPaths,
    carries: Mapping[str, Mapping[str, PortWeights]],
) -> list[Entry]:
    """Buckets of the groups whose ports differ in weight. `carries`: what each switch's ports can carry, by
    destination."""
    entries: list[Entry] = []
    for destination, by_switch in carries.items():
        group = remote_group(fabric, destination)
        ports = paths.groups.get(group, ())
        if destination != switch and len(ports) > 1:
            derived = by_switch.get(switch, {})
            entries += bucket_entries(group, weights_of(weights, switch, destination, ports, derived))
    return entries

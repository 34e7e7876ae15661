"""Inventory + policy + faults + what is alive -> everything that a switch should hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from ipaddress import IPv4Network

from csaud_controller.inventory import End, Fabric
from csaud_controller.links.examination import address
from csaud_controller.links.probes import ETHER_TYPE
from csaud_controller.paths.equal_cost import (
    FIRST_LOCAL_GROUP,
    all_next_ports,
    remote_group,
    switch_groups,
    switch_routes,
)
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.edge import probe_entries
from csaud_controller.policy.faults import fault_entries
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import port_entries
from csaud_controller.policy.signals import BOUNCES
from csaud_controller.policy.spray import spray_entries
from csaud_controller.policy.weights import PortWeights, bucket_entries, derived_weights, weights_of
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
    return DesiredStates(fabric).of(intent, live)


class DesiredStates:
    """Those of one fabric. What a change leaves as it was is not made again: the state of a switch is then
    the same object."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._routes = switch_routes(fabric)
        self._intent: Intent | None = None
        self._lasting: dict[str, TableState] = {}
        """What does not depend on links."""
        self._made: dict[str, tuple[_Paths, TableState]] = {}

    def of(self, intent: Intent, live: LiveView = ALL_UP) -> dict[str, TableState]:
        """What every switch should hold now."""
        fabric = self._fabric
        if intent != self._intent:
            self._lasting = {name: self._what_lasts(intent, name) for name in fabric.switches}
            self._intent, self._made = intent, {}
        found, spraying = all_next_ports(fabric, live), intent.policy.spraying
        groups = switch_groups(fabric, live, found)
        examined: dict[str, list[tuple[End, bool]]] = {}
        for edge in (fabric.edge_at[end] for end in sorted(live.examined)):
            for end, other in (edge.ends, edge.ends[::-1]):
                examined.setdefault(end.node, []).append((end, True))
                examined.setdefault(other.node, []).append((end, False))
        carries = (
            {name: derived_weights(fabric, name, live, ports) for name, ports in found.items()}
            if spraying.uses("weighted")
            else {}
        )
        return {
            name: self._state(
                intent,
                name,
                groups[name] | {_group_of(end): (end.port,) for end, out in examined.get(name, ()) if out},
                _weights(fabric, intent, name, groups[name], carries),
                examined.get(name, []),
            )
            for name in fabric.switches
        }

    def _state(
        self, intent: Intent, name: str, groups: _Groups, weights: _Weights, examined: _Examined
    ) -> TableState:
        if name in self._made and self._made[name][0] == (groups, weights, examined):
            return self._made[name][1]
        lasting = self._lasting[name]
        now = table_state(
            [
                *_group_items(groups, intent.policy.spraying.uses("least-queue")),
                *(each for group, shares in weights.items() for each in bucket_entries(group, shares)),
                *(_examining(self._fabric, end, out) for end, out in examined),
            ]
        )
        state = replace(lasting, entries={**lasting.entries, **now.entries}, groups=now.groups)
        self._made[name] = (groups, weights, examined), state
        return state

    def _what_lasts(self, intent: Intent, name: str) -> TableState:
        fabric, spraying = self._fabric, intent.policy.spraying
        return table_state(
            [
                BOUNCES,
                ALARMS,
                *probe_entries(fabric, name, ETHER_TYPE),
                *spray_entries(fabric, spraying, name),
                *port_entries(fabric, intent.policy, name),
                *fault_entries(fabric, intent.faults, name),
                *_members(fabric, name, spraying.uses("least-queue")),
                *_route_entries(self._routes[name]),
            ]
        )


_Groups = dict[int, tuple[int, ...]]
_Weights = dict[int, list[int]]
"""Of the groups whose ports differ in weight."""
_Examined = list[tuple[End, bool]]
"""Ends whose addresses a switch knows: whether they are its own, or end here."""
_Paths = tuple[_Groups, _Weights, _Examined]


def _group_of(end: End) -> int:
    return FIRST_LOCAL_GROUP + end.port


def _examining(fabric: Fabric, end: End, out: bool) -> Entry:
    """A route for packets that go out of a port, or that have come from there."""
    action = call("route.set_group", group=_group_of(end)) if out else call("route.no_route")
    return entry("route.ipv4_lpm", {"dst": (address(fabric, end), 32)}, action)


def _members(fabric: Fabric, switch: str, second_choice: bool) -> list[Member]:
    """A member a port, whose id is the port. Where a second choice is asked for, the same once more: a packet
    can look up a table only once."""
    return [
        Member(port, call("spray.forward", port=port), selector)
        for _, selector in _CHOICES[: 2 if second_choice else 1]
        for port in fabric.peers[switch]
    ]


def _group_items(groups: _Groups, second_choice: bool) -> list[Item]:
    """A group a destination. A destination without a live path has a route but no group, so that its packets
    are counted as having no path."""
    return [
        item
        for table, selector in _CHOICES[: 2 if second_choice else 1]
        for group, ports in groups.items()
        if ports
        for item in _group(table, selector, group, ports)
    ]


@lru_cache(maxsize=1 << 16)
def _group(table: str, selector: str, group: int, ports: tuple[int, ...]) -> tuple[Group, Entry]:
    """The group, and the entry that leads to it. Switches have many in common, and most outlast an event."""
    members = tuple(GroupMember(port, 1, port) for port in ports)
    return Group(group, members, selector), entry(table, {"group": group}, UseGroup(group))


def _route_entries(routes: Mapping[IPv4Network, int]) -> list[Entry]:
    return [
        entry(
            "route.ipv4_lpm",
            {"dst": (int(prefix.network_address), prefix.prefixlen)},
            call("route.set_group", group=group),
        )
        for prefix, group in routes.items()
    ]


def _weights(
    fabric: Fabric,
    intent: Intent,
    switch: str,
    groups: _Groups,
    carries: Mapping[str, Mapping[str, PortWeights]],
) -> _Weights:
    """`carries`: what each switch's ports can carry, by destination."""
    found: _Weights = {}
    for destination, by_switch in carries.items():
        group = remote_group(fabric, destination)
        ports = groups.get(group, ())
        if destination != switch and len(ports) > 1:
            shares = weights_of(intent.policy.weights, switch, destination, ports, by_switch.get(switch, {}))
            if len(set(shares)) > 1:
                found[group] = shares
    return found

"""Inventory + policy + faults + what is alive -> everything that a switch should hold."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from csaud_controller.base.stretches import at_once
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.examination import address
from csaud_controller.links.probes import ETHER_TYPE
from csaud_controller.paths.equal_cost import (
    FIRST_LOCAL_GROUP,
    Prefix,
    remote_group,
    switch_routes,
)
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.paths.routing import Routing
from csaud_controller.policy.capacities import Capacities
from csaud_controller.policy.edge import probe_entries
from csaud_controller.policy.faults import Faults, fault_entries
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy, port_entries
from csaud_controller.policy.signals import BOUNCES
from csaud_controller.policy.spray import spray_entries
from csaud_controller.policy.weights import bucket_entries, weights_of
from csaud_controller.program.digests import ALARMS
from csaud_controller.program.entities import (
    FIRST_CHOICE,
    SECOND_CHOICE,
    Entry,
    EntryKey,
    Group,
    GroupMember,
    Member,
    SelectorKey,
    TableState,
    UseGroup,
    call,
    entry,
    table_state,
)
from csaud_controller.program.layers import Layered

_CHOICES = (("spray.paths", FIRST_CHOICE), ("spray.alternative", SECOND_CHOICE))


def desired_states(fabric: Fabric, intent: Intent, live: LiveView = ALL_UP) -> dict[str, TableState]:
    """Everything that every switch should hold."""
    return DesiredStates(fabric).of(intent, live)


class DesiredStates:
    """Those of one fabric. What a change leaves as it was is not made again: the state of a switch is then
    the same object, and a link that goes or comes back costs what it changes, not what there is."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._routes = switch_routes(fabric)
        self._groups = {name: remote_group(fabric, name) for name in fabric.switches}
        self._asked: tuple[Policy, Faults] | None = None
        self._lasting: dict[str, TableState] = {}
        """What does not depend on links."""
        self._routing = Routing.of(fabric)
        self._capacities: Capacities | None = None
        """None: nothing asks for weights."""
        self._as_alive: dict[str, Routing] = {}
        """By switch that is not: the routing as it must act."""
        self._unsure: set[str] = set()
        """Switches that are dead, or were until now."""
        self._made: dict[str, _Made] = {}

    def fork(self) -> DesiredStates:
        """Another one that knows as much: what it is asked does not move this one."""
        made = copy(self)
        made._lasting, made._as_alive, made._made = {**self._lasting}, {**self._as_alive}, {**self._made}
        return made

    def of(self, intent: Intent, live: LiveView = ALL_UP) -> dict[str, TableState]:
        """What every switch should hold now."""
        return at_once(self.steps(intent, live))

    def steps(self, intent: Intent, live: LiveView) -> Generator[None, None, dict[str, TableState]]:
        """The same in steps, each a part of one switch. All have to be taken, and nothing else asked for
        meanwhile, but on a fork of one's own."""
        fabric, asked = self._fabric, (intent.policy, intent.faults)
        if asked != self._asked:
            lasting = {}
            for name in fabric.switches:
                lasting[name] = self._what_lasts(intent, name)
                yield
            self._lasting, self._asked, self._made = lasting, asked, {}
        changed = self._follow(live, intent.policy.spraying.uses("weighted"))
        examined: dict[str, list[tuple[End, bool]]] = {}
        for edge in (fabric.edge_at[end] for end in sorted(live.examined)):
            for end, other in (edge.ends, edge.ends[::-1]):
                examined.setdefault(end.node, []).append((end, True))
                examined.setdefault(other.node, []).append((end, False))
        states = {}
        for name in fabric.switches:
            states[name] = self._state(intent, name, changed.get(name, ()), examined.get(name, []))
            yield
        return states

    def _follow(self, live: LiveView, weighted: bool) -> dict[str, set[str]]:
        """Take routing and capacities to this view; the destinations, by switch, whose group is not known to
        be as it was."""
        routing = self._routing.after(live)
        pairs = [*routing.differing(self._routing)]
        capacities = None
        if weighted and self._capacities is None:
            capacities, self._made = Capacities.of(self._fabric, routing), {}
        elif weighted and self._capacities is not None:
            capacities = self._capacities.after(routing)
            pairs += capacities.differing(self._capacities)
        self._routing, self._capacities = routing, capacities
        dead, before = live.dead_switches & self._fabric.switches.keys(), self._as_alive
        self._as_alive = {name: before.get(name, routing).after(live.seen_from(name)) for name in dead}
        self._unsure = {*before, *dead}
        changed: dict[str, set[str]] = {}
        for destination, switch in pairs:
            changed.setdefault(switch, set()).add(destination)
        return changed

    def _state(
        self, intent: Intent, name: str, destinations: Collection[str], examined: _Examined
    ) -> TableState:
        """`destinations`: those whose group may be another one than before."""
        closed, before = self._closed_at(name), self._made.get(name)
        if before is None or name in self._unsure or (before.closed, before.examined) != (closed, examined):
            made = self._anew(intent, name, examined)
            if before is not None and made.state == before.state:
                made = made._replace(state=before.state)
            self._made[name] = made
            return made.state
        paths = dict(self._path(intent, name, each) for each in destinations)
        others = {group: path for group, path in paths.items() if path != before.paths[group]}
        if not others:
            return before.state
        second_choice = intent.policy.spraying.uses("least-queue")
        entries, groups = {**before.moving}, {**before.state.groups}
        for group, path in others.items():
            of_groups, of_entries = _of_path(group, *before.paths[group], second_choice)
            for key in of_groups:
                del groups[key]
            for entry_key in of_entries:
                del entries[entry_key]
            of_groups, of_entries = _of_path(group, *path, second_choice)
            groups |= of_groups
            entries |= of_entries
        state = self._with_lasting(name, entries, groups)
        self._made[name] = _Made({**before.paths, **others}, closed, examined, entries, state)
        return state

    def _anew(self, intent: Intent, name: str, examined: _Examined) -> _Made:
        closed, second_choice = self._closed_at(name), intent.policy.spraying.uses("least-queue")
        paths = dict(self._path(intent, name, each) for each in self._routing.ports if each != name)
        lead = {port for port in self._fabric.host_ports(name) if End(name, port) not in closed}
        lead |= {end.port for end, out in examined if out}
        local = {FIRST_LOCAL_GROUP + port: _Path((port,)) for port in sorted(lead)}
        found = [_of_path(group, *path, second_choice) for group, path in (paths | local).items()]
        groups = {key: each for of_groups, _ in found for key, each in of_groups.items()}
        entries = {key: each for _, of_entries in found for key, each in of_entries.items()}
        entries |= {each.key: each for each in (_examining(self._fabric, *one) for one in examined)}
        state = self._with_lasting(name, entries, groups)
        return _Made(paths, closed, examined, entries, state)

    def _closed_at(self, name: str) -> frozenset[End]:
        """Ends at this switch: what others are closed for it is the routing's matter."""
        return frozenset(end for end in self._routing.live.closed if end.node == name)

    def _with_lasting(
        self, name: str, entries: Mapping[EntryKey, Entry], groups: Mapping[SelectorKey, Group]
    ) -> TableState:
        lasting = self._lasting[name]
        return replace(lasting, entries=Layered(lasting.entries, entries), groups=groups)

    def _path(self, intent: Intent, switch: str, destination: str) -> tuple[int, _Path]:
        """The group of a switch that leads to a destination, and what it is."""
        ports = self._as_alive.get(switch, self._routing).ports[destination][switch]
        shares: tuple[int, ...] = ()
        if self._capacities is not None and len(ports) > 1:
            carried = self._capacities.carried[destination].get(switch, {})
            shares = tuple(weights_of(intent.policy.weights, switch, destination, ports, carried))
        return self._groups[destination], _Path(ports, shares)

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


class _Path(NamedTuple):
    """A group's ports, and their weights where it has any."""

    ports: tuple[int, ...]
    shares: tuple[int, ...] = ()


_Examined = list[tuple[End, bool]]
"""Ends whose addresses a switch knows: whether they are its own, or end here."""


class _Made(NamedTuple):
    """The state of a switch, and what it was made of."""

    paths: dict[int, _Path]
    """By group."""
    closed: frozenset[End]
    """At this switch."""
    examined: _Examined
    moving: dict[EntryKey, Entry]
    """Entries that depend on links."""
    state: TableState


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


@lru_cache(maxsize=1 << 16)
def _of_path(
    group: int, ports: tuple[int, ...], shares: tuple[int, ...], second_choice: bool
) -> tuple[dict[SelectorKey, Group], dict[EntryKey, Entry]]:
    """A group, the entry that leads to it, and the entries of its weights. Switches have many in common. A
    destination without a live path has a route but no group, so that its packets are counted as having no
    path."""
    groups: list[Group] = []
    entries = bucket_entries(group, shares)
    if ports:
        members = tuple(GroupMember(port, 1, port) for port in ports)
        for table, selector in _CHOICES[: 2 if second_choice else 1]:
            groups.append(Group(group, members, selector))
            entries.append(entry(table, {"group": group}, UseGroup(group)))
    return {each.key: each for each in groups}, {each.key: each for each in entries}


_ROUTES = {4: ("route.ipv4_lpm", "route.set_group"), 6: ("route.ipv6_lpm", "route.set_group6")}


def _route_entries(routes: Mapping[Prefix, int]) -> list[Entry]:
    found = []
    for prefix, group in routes.items():
        table, action = _ROUTES[prefix.version]
        match = {"dst": (int(prefix.network_address), prefix.prefixlen)}
        found.append(entry(table, match, call(action, group=group)))
    return found

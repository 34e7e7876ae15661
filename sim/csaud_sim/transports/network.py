"""Hosts of a baseline on a plain network that is wired as the inventory says: what `csaud_sim.network` is for
CSA-UD."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from csaud.network.addresses import largest_path_mtu
from csaud_controller.base.seeds import derive
from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.equal_cost import all_next_ports
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.faults import FaultRule, Faults, fault_seed, faulty_ports
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy, ecn_of, limits_of
from csaud_controller.policy.places import ports_of
from csaud_controller.program.packets import KINDS

from csaud_sim._core import PlainSimulation
from csaud_sim.link_events import LinkStates
from csaud_sim.network import Followed
from csaud_sim.transports.model import Transport
from csaud_sim.work import WorkNetwork

if TYPE_CHECKING:
    from csaud_sim import _core

_LONGEST_MESSAGE = 512 * 8192


class PlainNetwork(WorkNetwork):
    """Hosts in the inventory's order, under one virtual clock in nanoseconds.

    Args:
        intent: the policy's limits and marks are those of ports, where the transport's parameters say nothing
            else; faults lose packets as in the P4 program.
        base_rtt_ns: of a full packet and its acknowledgement on the longest path of the idle fabric.
        one_way_rates: bit/s, of ports of switches that send slower than their links.
        failover: a switch leaves a port that is down at once; otherwise when its routes do.
    """

    def __init__(
        self,
        transport: Transport,
        inventory: Fabric,
        intent: Intent,
        *,
        base_rtt_ns: int,
        pipeline_ns: int = 0,
        seed: int = 1,
        one_way_rates: Mapping[End, int] = MappingProxyType({}),
        trace: int | None = None,
        engine: str | None = None,
        failover: bool = False,
    ) -> None:
        self.inventory = inventory
        self.path_mtu = largest_path_mtu(inventory.mtu)
        self._native = PlainSimulation(
            transport.name,
            dict(transport.given),
            pipeline_ns=pipeline_ns,
            trace=trace,
            engine=engine,
            failover=failover,
        )
        super().__init__(self._native)
        self._ports = lay_out(
            self._native,
            inventory,
            intent,
            seed,
            lambda at, link: self._native.add_host(
                at, **link, base_rtt_ns=base_rtt_ns, seed=derive(seed, "host", at)
            ),
        )
        self._numbers = {name: number for number, name in enumerate(inventory.switches)}
        self._intent, self._further = intent, tuple[FaultRule, ...]()
        self._rates = {**inventory.rate_at, **one_way_rates}
        self._states = LinkStates(inventory)
        for end, rate in one_way_rates.items():
            number = self._numbers[end.node]
            self._native.set_rate(number, self._ports[end], rate)
            _set_room(self._native, number, self._ports[end], inventory, intent.policy, end, rate)

    @property
    def native(self) -> PlainSimulation:
        """The native simulation."""
        return self._native

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Take all links between two switches down, or up; no switch takes notice without `failover`."""
        for edge in self.inventory.edges_between(a, b):
            for end in edge.ends:
                self._native.set_up(self._numbers[end.node], self._ports[end], up)
        self._states.set(a, b, up)

    def slow(self, at: End, rate: int | None) -> None:
        """Let a port send at this rate until further notice, bit/s; None: at its own again. Room and marks
        stay as they are."""
        rate = self._rates[at] if rate is None else rate
        self._native.set_rate(self._numbers[at.node], self._ports[at], rate)

    def lose(self, rules: Sequence[FaultRule]) -> None:
        """Lose packets by these rules, after the intent's, in place of those that were said before."""
        for rule in self._further:
            for switch, ports in ports_of(self.inventory, rule.where).items():
                for port, kind in itertools.product(ports, rule.kinds):
                    at = self._numbers[switch], self._ports[End(switch, port)]
                    self._native.set_fault(*at, KINDS[kind], threshold=0, seed=0, signalled=False)
        self._further = tuple(rules)
        faults = Faults(rules=(*self._intent.faults.rules, *rules))
        _set_faults(self._native, self.inventory, faults, self._ports)

    def converge(self) -> None:
        """Routes follow the links as they are: of every switch, at once."""
        _set_routes(self._native, self.inventory, self._ports, self._states.live)

    @property
    def max_message_bytes(self) -> int:
        """Longest message."""
        return _LONGEST_MESSAGE

    def stats(self, rank: int) -> dict[str, int]:
        """Counters of a host's transport."""
        return self._native.stats(rank)

    @property
    def followed(self) -> Followed:
        """Of messages and links; nothing else is followed here."""
        names = list(self.inventory.switches)
        ends = {(end.node, port): end.port for end, port in self._ports.items()}
        links: Any = dict(self._native.links())
        links["switch"] = [names[number] for number in links["switch"].tolist()]
        places = zip(links["switch"], links["port"].tolist(), strict=True)
        links["port"] = np.array([ends[place] for place in places], np.uint32)
        return Followed({}, np.empty(0, np.int64), self._native.messages(), links)  # type: ignore[typeddict-item]

    def totals(self) -> dict[str, float]:
        """Of hosts and switches: totals of an experiment, those that mean something here."""
        hosts = [self.stats(rank) for rank in range(self._native.hosts)]
        switches = [self._native.switch_figures(number) for number in range(len(self.inventory.switches))]
        data = KINDS["data"]
        taken = {
            "injected": float(sum(switch["injected"][data] for switch in switches)),
            "congestion_dropped": float(sum(switch["dropped"][data] for switch in switches)),
            "trimmed": float(sum(switch["cut"] for switch in switches)),
            "no_path": float(sum(switch["no_path"][data] for switch in switches)),
            "link_lost": float(self._native.data_lost),
        }
        return {
            "hops": float(self.hops),
            **{name: float(sum(host[name] for host in hosts)) for name in hosts[0]},
            **taken,
            "lost": sum(taken.values()),
            "pauses": float(sum(switch["pauses"] for switch in switches)),
        }


class Link(TypedDict):
    """Of a host, or between switches."""

    rate_bps: int
    delay_ns: int


def lay_out(
    native: _core.PlainNetwork,
    inventory: Fabric,
    intent: Intent,
    seed: int,
    add_host: Callable[[int, Link], int],
) -> Mapping[End, int]:
    """Switches, links, routes, room and faults as inventory and intent have them.

    Args:
        seed: of choices among paths.
        add_host: attaches the next host, in the inventory's order, to a switch by number; returns the port.

    Returns:
        The number of each port of a switch; switches are numbered in the inventory's order.
    """
    numbers = {name: native.add_switch(derive(seed, "spray", name)) for name in inventory.switches}
    ports: dict[End, int] = {}
    for edge in inventory.switch_edges():
        a, b = edge.ends
        ports[a], ports[b] = native.add_link(
            numbers[a.node], numbers[b.node], **_link(inventory, edge.ends[0])
        )
    for host in inventory.hosts:
        at = inventory.attachment(host)
        ports[at] = add_host(numbers[at.node], _link(inventory, at))
    _set_routes(native, inventory, ports, ALL_UP)
    for end, port in ports.items():
        _set_room(native, numbers[end.node], port, inventory, intent.policy, end, inventory.rate_at[end])
    _set_faults(native, inventory, intent.faults, ports)
    return ports


def _set_routes(
    native: _core.PlainNetwork, inventory: Fabric, ports: Mapping[End, int], live: LiveView
) -> None:
    numbers = {name: number for number, name in enumerate(inventory.switches)}
    for destination, by_switch in all_next_ports(inventory, live).items():
        for switch, found in by_switch.items():
            native.set_route(
                numbers[switch], numbers[destination], [ports[End(switch, port)] for port in found]
            )


def _set_faults(
    native: _core.PlainNetwork, inventory: Fabric, faults: Faults, ports: Mapping[End, int]
) -> None:
    for number, switch in enumerate(inventory.switches):
        for faulty, kind, rule in faulty_ports(inventory, faults, switch):
            native.set_fault(
                number,
                ports[End(switch, faulty)],
                KINDS[kind],
                threshold=rule.threshold,
                seed=fault_seed(rule, switch, faulty),
                signalled=rule.signalled,
            )


def _link(inventory: Fabric, end: End) -> Link:
    link = inventory.link_of(inventory.edge_at[end])
    return {"rate_bps": link.rate, "delay_ns": link.delay}


def _set_room(
    native: _core.PlainNetwork,
    number: int,
    port: int,
    inventory: Fabric,
    policy: Policy,
    end: End,
    rate: int,
) -> None:
    limits = limits_of(inventory, policy, end.node, end.port)
    marks = ecn_of(inventory, policy, end.node, end.port)
    native.set_room(
        number,
        port,
        data=limits.trim_at,
        control=limits.drop_at,
        marks=None if marks is None else (marks.low, marks.high),
        rate_bps=rate,
        mark_seed=derive(policy.seed, "ecn", end.node, end.port),
    )

"""Weights of paths: how many of a group's 64 buckets each port gets, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.paths.equal_cost import next_ports
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.places import Location, check_switch
from csaud_controller.program.entities import Entry, call, entry

BUCKETS = 64
"""Of a group, looked up by the low six bits of its turn: a share of traffic is a multiple of 1/64."""

EVERYWHERE = "all"
"""Weights for all destinations that have none of their own."""

PortWeights = dict[int, int]
"""Weight by port: only their ratios matter, and 0 keeps a port unused."""
Weights = dict[str, dict[str, PortWeights]]
"""Switch, then destination (a switch with hosts, or `all`), then port."""


def check_weights(fabric: Fabric, weights: Weights, loc: Location = ("weights",)) -> None:
    """FieldError when they name a switch, destination or port that is not there, or leave one out."""
    with_hosts = [name for name in fabric.switches if fabric.host_ports(name)]
    for switch, by_destination in weights.items():
        check_switch(fabric, switch, (*loc, switch))
        for destination, by_port in by_destination.items():
            at = (*loc, switch, destination)
            if destination != EVERYWHERE and (destination not in with_hosts or destination == switch):
                known = ", ".join((EVERYWHERE, *(name for name in with_hosts if name != switch)))
                raise FieldError(at, f"unknown destination {destination!r}; expected one of {known}")
            expected = (
                fabric.uplinks(switch)
                if destination == EVERYWHERE
                else list(next_ports(fabric, destination)[switch])
            )
            if sorted(by_port) != expected:
                ports = " ".join(f"{port}=W" for port in expected) or "no port at all"
                raise FieldError(at, f"expected a weight for each of its ports there ({ports})")
            if not any(by_port.values()):
                raise FieldError(at, "expected at least one weight above 0")


def weights_of(
    weights: Weights,
    switch: str,
    destination: str,
    ports: Sequence[int],
    derived: PortWeights,
) -> list[int]:
    """The weights that hold for these (live) ports of a switch, in their order: those set for the
    destination, else those set for all, else `derived`. All equal where none of them is above 0."""
    set_here = weights.get(switch, {})
    by_port = set_here.get(destination) or set_here.get(EVERYWHERE) or derived
    chosen = [by_port.get(port, 0) for port in ports]
    return reduced(chosen) if any(chosen) else [1] * len(ports)


def derived_weights(
    fabric: Fabric,
    destination: str,
    live: LiveView = ALL_UP,
    ports: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, PortWeights]:
    """For every other switch, its ports to `destination` (`ports`: those of `next_ports`, if they are known)
    by what they can carry there, bits per second: the link's rate, or less where the switches behind it can
    carry less. An unlimited link counts as the fastest one of the fabric."""
    ports = next_ports(fabric, destination, live) if ports is None else ports
    result: dict[str, PortWeights] = {}

    def find(switch: str) -> None:
        for port in ports[switch]:
            beyond = fabric.peers[switch][port].node
            if beyond != destination and beyond not in result:
                find(beyond)
        result[switch] = through(fabric, destination, switch, ports[switch], result)

    for switch in ports:
        if switch not in result:
            find(switch)
    return {switch: result[switch] for switch in ports}


def through(
    fabric: Fabric, destination: str, switch: str, ports: Sequence[int], found: Mapping[str, PortWeights]
) -> PortWeights:
    """What each of these ports of a switch can carry to the destination, where `found` is so of all switches
    that they lead to. What the destination itself can carry is not the network's."""
    rates, peers = fabric.capacity_at[switch], fabric.peers[switch]
    return {
        port: rates[port]
        if (peer := peers[port].node) == destination
        else min(rates[port], sum(found[peer].values()))
        for port in ports
    }


def interleaved(weights: Sequence[int]) -> list[int]:
    """The index (0, 1, ...) of each bucket, shares proportional to the weights and evenly mixed: smooth
    weighted round robin. ValueError when no weight is above 0."""
    shares = _shares(weights)
    credit = [0] * len(shares)
    order = []
    for _ in range(BUCKETS):
        credit = [have + share for have, share in zip(credit, shares, strict=True)]
        best = max(range(len(credit)), key=credit.__getitem__)
        credit[best] -= BUCKETS
        order.append(best)
    return order


def _shares(weights: Sequence[int]) -> list[int]:
    """Buckets of each weight, BUCKETS in all: rounded down, and what is left to the largest remainders."""
    total = sum(weights)
    if total <= 0:
        raise ValueError(f"expected at least one weight above 0, got {list(weights)}")
    shares = [weight * BUCKETS // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(weights[i] * BUCKETS % total), i))
    for index in by_remainder[: BUCKETS - sum(shares)]:
        shares[index] += 1
    return shares


def reduced(weights: Sequence[int]) -> list[int]:
    """The same ratios in the smallest numbers."""
    divisor = gcd(*weights) or 1
    return [weight // divisor for weight in weights]


def bucket_entries(group: int, weights: Sequence[int]) -> list[Entry]:
    """Entries of `spray.buckets` for a group whose members have these weights, in their order. None where all
    are equal: without an entry the turn itself is the index, which is the same and costs nothing."""
    if len(set(weights)) <= 1:
        return []
    return [
        entry("spray.buckets", {"group": group, "bucket": bucket}, call("spray.set_index", index=index))
        for bucket, index in enumerate(interleaved(weights))
    ]


def effective_weights(
    fabric: Fabric, weights: Weights, switch: str, destination: str, live: LiveView = ALL_UP
) -> Mapping[int, int]:
    """Weight by live port, as it holds now."""
    by_port = derived_weights(fabric, destination, live).get(switch, {})
    ports = list(by_port)
    return dict(zip(ports, weights_of(weights, switch, destination, ports, by_port), strict=True))

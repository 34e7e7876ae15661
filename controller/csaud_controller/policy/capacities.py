"""What the ports of every switch can carry to each destination, kept while links come and go: what
`weights.derived_weights` computes for one destination from nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

from csaud_controller.inventory import Fabric
from csaud_controller.paths.routing import Routing, differences
from csaud_controller.policy.weights import PortWeights, derived_weights, through

Carried = Mapping[str, PortWeights]
"""By switch."""


class Capacities:
    """With this routing. A value, as that is."""

    def __init__(self, fabric: Fabric, routing: Routing, carried: Mapping[str, Carried]) -> None:
        self._fabric, self._routing = fabric, routing
        self.carried = carried
        """By destination: of every other switch, bits per second by port."""

    @classmethod
    def of(cls, fabric: Fabric, routing: Routing) -> Capacities:
        """Computed from nothing."""
        found = {
            destination: derived_weights(fabric, destination, ports=ports)
            for destination, ports in routing.ports.items()
        }
        return cls(fabric, routing, found)

    def after(self, routing: Routing) -> Capacities:
        """The same with another routing."""
        differing: dict[str, set[str]] = {}
        for destination, switch in routing.differing(self._routing):
            differing.setdefault(destination, set()).add(switch)
        made = Capacities(self._fabric, routing, self.carried)
        if differing:
            made.carried = {
                destination: made._following(destination, carried, differing[destination])
                if destination in differing
                else carried
                for destination, carried in self.carried.items()
            }
        return made

    def differing(self, before: Capacities) -> Iterator[tuple[str, str]]:
        """Destinations, and switches whose ports carry more or less there than before."""
        return differences(self.carried, before.carried)

    def _following(self, destination: str, carried: Carried, differing: set[str]) -> Carried:
        """From these switches on, the nearest to the destination first: what one of them can carry only
        matters to switches that are farther away."""
        far, ports = self._routing.far[destination], self._routing.ports[destination]
        found = {**carried}
        waiting = [(far.get(switch, 0), switch) for switch in differing]
        heapify(waiting)
        seen = set(differing)
        while waiting:
            distance, switch = heappop(waiting)
            before, now = found[switch], through(self._fabric, destination, switch, ports[switch], found)
            if now == before:
                continue
            found[switch] = now
            if sum(now.values()) == sum(before.values()):
                continue
            for end in self._fabric.peers[switch].values():
                if end.node not in seen and end.port in ports.get(end.node, ()):
                    seen.add(end.node)
                    heappush(waiting, (distance + 1, end.node))
        return found

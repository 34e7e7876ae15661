"""Which ports of every switch lead to each destination, kept while links come and go: what `equal_cost`
computes for one destination from nothing.

A value: what follows from it after an event shares all that the event leaves as it was, as the same objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from csaud_controller.inventory import Fabric
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.paths.reach import Far, Reach

Ports = Mapping[str, tuple[int, ...]]
"""By switch."""


def differences(
    now: Mapping[str, Mapping[str, object]], before: Mapping[str, Mapping[str, object]]
) -> Iterator[tuple[str, str]]:
    """Destinations, and switches of which something else is said there than before. What is the very same
    object is not looked into."""
    for destination, found in now.items():
        earlier = before[destination]
        if found is not earlier:
            for switch, mine in found.items():
                if mine is not earlier[switch] and mine != earlier[switch]:
                    yield destination, switch


class Routing:
    """While `live` is what can carry packets."""

    def __init__(
        self, fabric: Fabric, live: LiveView, choices: tuple[Reach, ...], ports: Mapping[str, Ports]
    ) -> None:
        self._fabric, self.live, self._choices = fabric, live, choices
        self.ports = ports
        """By destination: of every other switch."""

    @classmethod
    def of(cls, fabric: Fabric, live: LiveView = ALL_UP) -> Routing:
        """Computed from nothing."""
        reach = Reach.of(fabric)
        made = cls(fabric, ALL_UP, (reach,) * 3, {})
        made.ports = {
            destination: {
                switch: made._ports(switch, destination)
                for switch in fabric.switches
                if switch != destination
            }
            for destination in reach.far
        }
        return made.after(live)

    @property
    def far(self) -> Mapping[str, Far]:
        """By destination, how far switches are from it."""
        return self._choices[-1].far

    def after(self, live: LiveView) -> Routing:
        """The same where this can carry packets."""
        wanted = live.choices
        known = {(reach.without, reach.dead): reach for reach in self._choices}
        for before, without in zip(self._choices, wanted, strict=True):
            key = without, live.dead_switches
            if key not in known:
                known[key] = before.after(*key)
        choices = tuple(known[without, live.dead_switches] for without in wanted)
        made = Routing(self._fabric, live, choices, self.ports)
        made.ports = made._following(self)
        return made

    def differing(self, before: Routing) -> Iterator[tuple[str, str]]:
        """Destinations, and switches whose ports to them are others than before."""
        return differences(self.ports, before.ports)

    def _following(self, before: Routing) -> dict[str, Ports]:
        """Ports can only be others where a switch has gained or lost a link, and for destinations from which
        some switch is farther or nearer."""
        pairs = {
            (now, then): None
            for now, then in zip(self._choices, before._choices, strict=True)
            if now is not then
        }
        ends = [
            name
            for name in self._fabric.switches
            if any(now.neighbours[name] is not then.neighbours[name] for now, then in pairs)
        ]
        found = {}
        for destination, ports in before.ports.items():
            moved = any(now.far[destination] is not then.far[destination] for now, then in pairs)
            others = {
                switch: mine
                for switch in (ports if moved else ends)
                if switch != destination and (mine := self._ports(switch, destination)) != ports[switch]
            }
            found[destination] = {**ports, **others} if others else ports
        return found

    def _ports(self, switch: str, destination: str) -> tuple[int, ...]:
        """Those of the first choice in which the way is as short as in the last."""
        shortest = self._choices[-1].far[destination].get(switch, 0)
        for reach in dict.fromkeys(self._choices):
            near = reach.far[destination].get(switch, 0) == shortest
            if near and (found := reach.ports(switch, destination)):
                return found
        return ()

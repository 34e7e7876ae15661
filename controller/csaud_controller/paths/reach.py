"""How far every switch is from each destination over the links of one choice, kept while links come and go.

A value: what follows from it after an event shares all that the event leaves as it was, as the same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.equal_cost import distances_to

Far = Mapping[str, int]
"""Links from each switch; those without a way are left out."""


class Reach:
    """Over all links but those `without` (by their `a` ends) and those of switches that are `dead`."""

    def __init__(
        self,
        fabric: Fabric,
        without: frozenset[End],
        dead: frozenset[str],
        neighbours: Mapping[str, Mapping[int, str]],
        far: Mapping[str, Far],
    ) -> None:
        self._fabric, self.without, self.dead = fabric, without, dead
        self.neighbours = neighbours
        """By switch: its ports that lead over these links to another, ascending, and to which."""
        self.far = far
        """By destination."""

    @classmethod
    def of(cls, fabric: Fabric, without: frozenset[End] = frozenset()) -> Reach:
        """Computed from nothing, all switches alive."""
        made = cls(fabric, without, frozenset(), {}, {})
        made.neighbours = {name: made._neighbours_of(name) for name in fabric.switches}
        made.far = {
            name: distances_to(fabric, name, made.neighbours)
            for name in fabric.switches
            if fabric.host_ports(name)
        }
        return made

    def after(self, without: frozenset[End], dead: frozenset[str]) -> Reach:
        """The same with other links and switches out. Only destinations that some switch is then nearer to,
        or farther from, are searched anew: distances are right exactly if each switch is one link farther
        than the nearest of its neighbours, and that can only have changed at the ends of links that did."""
        edge_at, peers = self._fabric.edge_at, self._fabric.switch_peers
        links = {edge_at[end].ends for end in without ^ self.without if end.port in peers.get(end.node, {})}
        links |= {edge_at[End(name, port)].ends for name in dead ^ self.dead for port in peers[name]}
        changed = {
            end.node
            for ends in links
            if _carries(ends, without, dead) != _carries(ends, self.without, self.dead)
            for end in ends
        }
        made = Reach(self._fabric, without, dead, self.neighbours, self.far)
        if changed:
            made.neighbours = {**self.neighbours, **{name: made._neighbours_of(name) for name in changed}}
            made.far = {
                destination: far
                if made._holds(destination, far, changed)
                else distances_to(self._fabric, destination, made.neighbours)
                for destination, far in self.far.items()
            }
        return made

    def ports(self, switch: str, destination: str) -> tuple[int, ...]:
        """Its ports that lead nearer, ascending."""
        far = self.far[destination]
        if not (distance := far.get(switch, 0)):
            return ()
        passed = self._fabric.edge_switches
        return tuple(
            port
            for port, peer in self.neighbours[switch].items()
            if far.get(peer) == distance - 1 and (peer == destination or peer not in passed)
        )

    def _neighbours_of(self, switch: str) -> dict[int, str]:
        if switch in self.dead:
            return {}
        edge_at, without, dead = self._fabric.edge_at, self.without, self.dead
        return {
            port: peer
            for port, peer in self._fabric.switch_peers[switch].items()
            if peer not in dead and edge_at[End(switch, port)].ends[0] not in without
        }

    def _holds(self, destination: str, far: Far, switches: Iterable[str]) -> bool:
        """Whether these are as far as their neighbours say."""
        passed = self._fabric.edge_switches
        for switch in switches:
            if switch != destination:
                nearest = min(
                    (
                        far[peer]
                        for peer in self.neighbours[switch].values()
                        if peer in far and (peer == destination or peer not in passed)
                    ),
                    default=None,
                )
                if far.get(switch) != (None if nearest is None else nearest + 1):
                    return False
        return True


def _carries(ends: tuple[End, End], without: frozenset[End], dead: frozenset[str]) -> bool:
    return ends[0] not in without and dead.isdisjoint((ends[0].node, ends[1].node))

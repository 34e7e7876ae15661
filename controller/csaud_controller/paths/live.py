"""What of the fabric can carry packets at present, and what should not as long as there is another way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from csaud_controller.inventory import Edge, End, Fabric


@dataclass(frozen=True)
class LiveView:
    """What of the fabric can carry packets at present. Links are named by the `a` end of their edge.

    Links that are drained or doubted carry nothing but what has no other way: a switch that is left with
    nothing else keeps them, so that packets that are on their way to it when a link is drained still arrive,
    whatever the order in which switches hear of it.
    """

    dead_links: frozenset[End] = frozenset()
    dead_switches: frozenset[str] = frozenset()
    drained: frozenset[End] = frozenset()
    """Taken out by an operator."""
    doubted: frozenset[End] = frozenset()
    """Taken out by the controller, as they fail again and again or lose packets. Used before drained ones."""
    closed: frozenset[End] = frozenset()
    """Links, drained by force, that carry nothing even where there is no other way; and ports of drained
    hosts, by the switch's end."""
    examined: frozenset[End] = frozenset()
    """Links that packets of the controller's own are sent over, one by one."""

    def seen_from(self, switch: str) -> LiveView:
        """A switch that is being programmed is itself taken to be alive."""
        if switch not in self.dead_switches:
            return self
        return replace(self, dead_switches=self.dead_switches - {switch})

    def carries(self, edge: Edge) -> bool:
        """Whether a link and both its switches are alive."""
        return edge.ends[0] not in self.dead_links and not {edge.a, edge.b} & self.dead_switches

    @property
    def choices(self) -> tuple[frozenset[End], frozenset[End], frozenset[End]]:
        """The links to do without, from as many as possible to as few as possible; some may be the same."""
        dead = self.dead_links | self.closed
        drained = dead | self.drained
        return drained | self.doubted, drained, dead

    @property
    def preferences(self) -> list[frozenset[End]]:
        """The same, each once."""
        return [*dict.fromkeys(self.choices)]


ALL_UP = LiveView()


def live_view(fabric: Fabric, status: dict[str, Any]) -> LiveView:
    """The live view of a `status` answer, whose links are in the fabric's order."""

    def ends(key: str) -> frozenset[End]:
        pairs = zip(fabric.switch_edges(), status["links"], strict=True)
        return frozenset(edge.ends[0] for edge, link in pairs if link.get(key))

    dead = frozenset(name for name, switch in status["switches"].items() if not switch["alive"])
    down = frozenset(
        edge.ends[0]
        for edge, link in zip(fabric.switch_edges(), status["links"], strict=True)
        if not link["up"]
    )
    return LiveView(down, dead, ends("drained"), ends("doubted"), ends("closed"))

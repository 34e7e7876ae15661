"""What of the fabric can carry packets at present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from csaud_controller.inventory import End, Fabric


@dataclass(frozen=True)
class LiveView:
    """What of the fabric can carry packets at present."""

    dead_links: frozenset[End] = frozenset()
    """The `a` ends of edges that are down."""
    dead_switches: frozenset[str] = frozenset()

    def seen_from(self, switch: str) -> LiveView:
        """A switch that is being programmed is itself taken to be alive."""
        if switch not in self.dead_switches:
            return self
        return LiveView(self.dead_links, self.dead_switches - {switch})


ALL_UP = LiveView()


def live_view(fabric: Fabric, status: dict[str, Any]) -> LiveView:
    """The live view of a `status` answer, whose links are in the fabric's order."""
    dead_links = frozenset(
        edge.ends[0]
        for edge, link in zip(fabric.switch_edges(), status["links"], strict=True)
        if not link["up"]
    )
    dead = frozenset(name for name, switch in status["switches"].items() if not switch["alive"])
    return LiveView(dead_links, dead)

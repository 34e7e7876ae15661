"""What carries packets at present, out of what the controller tells of itself."""

from __future__ import annotations

from typing import Any

from csaud_controller.inventory import Fabric
from csaud_controller.paths import LiveView


def live_view(fabric: Fabric, status: dict[str, Any]) -> LiveView:
    """The live view of a `status` answer, whose links are in the fabric's order."""
    dead_links = frozenset(
        edge.ends[0]
        for edge, link in zip(fabric.switch_edges(), status["links"], strict=True)
        if not link["up"]
    )
    dead = frozenset(name for name, switch in status["switches"].items() if not switch["alive"])
    return LiveView(dead_links, dead)

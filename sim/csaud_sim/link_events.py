"""What happens to links of a simulated fabric, of P4 switches or plain ones, and when its tables follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from csaud_controller.base.units import format_duration
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.links.monitor import LinkMonitor
from csaud_controller.paths.live import LiveView
from csaud_topologies.fabric.link_events import Failing, LinkEvents
from csaud_topologies.scenario.events import LinkEvent
from pydantic import model_validator

PROBE_INTERVAL_NS = 150_000_000
"""The controller's."""
CONVERGENCE_NS = LinkMonitor.misses * PROBE_INTERVAL_NS
"""From when a link goes down or comes back until its probes have told the controller."""
LONGEST_TIME = 1_000_000 * 10**9
"""ns. Clocks have 63 bits, and add several of them."""


class SimulatedEvent(LinkEvent):
    """What may happen in an experiment, which has no steps."""

    @model_validator(mode="after")
    def _fits(self) -> SimulatedEvent:
        if self.at_step is not None:
            raise FieldError(("at_step",), "an experiment has no steps: expected after")
        if self.when + (self.every or 0) * (self.times or 0) > LONGEST_TIME:
            raise FieldError(("after",), f"expected to be over within {format_duration(LONGEST_TIME)}")
        return self


class LinkStates:
    """Which links between switches are down."""

    def __init__(self, inventory: Fabric) -> None:
        self._inventory = inventory
        self._down: set[frozenset[str]] = set()

    def set(self, a: str, b: str, up: bool) -> None:
        """All links between two switches."""
        (self._down.discard if up else self._down.add)(frozenset((a, b)))

    @property
    def live(self) -> LiveView:
        """What the controller's probes would find."""
        edges = self._inventory.switch_edges()
        return LiveView(frozenset(e.ends[0] for e in edges if frozenset((e.a, e.b)) in self._down))


class Converging(Failing, Protocol):
    """A fabric whose tables follow its links when they are told to."""

    def converge(self) -> None:
        """Tables follow the links as they are."""


def agenda(
    fabric: Converging, events: Iterable[SimulatedEvent], convergence_ns: int, seed: int
) -> list[tuple[int, Callable[[], None]]]:
    """Times, ascending, and what is done then: tables follow each failure and return so long after it, by the
    links as they are at that time. `seed` is of losses."""
    due: list[tuple[int, Callable[[], None]]] = []
    links = LinkEvents(fabric, seed)
    for event in events:
        due.append((event.when, partial(links.happen, event)))
        if event.do in ("down", "up"):
            due.append((event.when + convergence_ns, fabric.converge))
    return sorted(due, key=lambda each: each[0])

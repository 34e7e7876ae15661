"""What happens to links of a simulated fabric, of P4 switches or plain ones, and when its tables follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Literal, Protocol

from csaud_controller.base.units import Duration, Rate, at_least, format_duration
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.monitor import LinkMonitor
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.faults import FaultRule
from csaud_topologies.scenario.events import LinkEvent
from pydantic import Field, model_validator

PROBE_INTERVAL_NS = 150_000_000
"""The controller's."""
CONVERGENCE_NS = LinkMonitor.misses * PROBE_INTERVAL_NS
"""From when a link goes down or comes back until its probes have told the controller."""
LONGEST_TIME = 1_000_000 * 10**9
"""ns. Clocks have 63 bits, and add several of them."""
_MOST_FLAPS = 100_000


class SimulatedEvent(LinkEvent):
    """What may happen in virtual time: a link may also flap, be slow or lose packets, until it is `up`, which
    makes it whole."""

    do: Literal["down", "up", "flap", "slow", "lose"]  # type: ignore[assignment]
    every: Annotated[Duration, at_least(2)] | None = Field(
        default=None, description="flap: from one failure to the next; it is down for half of that"
    )
    times: int | None = Field(default=None, ge=1, le=_MOST_FLAPS, description="flap: how often it fails")
    rate: Rate | None = Field(default=None, ge=1_000_000, description="slow: of both directions from then on")
    loss: float | None = Field(
        default=None, gt=0, le=1, description="lose: share of the packets, both ways, without a word"
    )

    @model_validator(mode="after")
    def _fits(self) -> SimulatedEvent:
        for key, do in _OF_ONE.items():
            given = getattr(self, key) is not None
            if given and self.do != do:
                raise FieldError((key,), f"of do: {do} alone, here it is {self.do}")
            if self.do == do and not given:
                raise FieldError((key,), f"missing: do: {do} needs it")
        if self.at_step is not None:
            raise FieldError(("at_step",), "an experiment has no steps: expected after")
        if self.when + (self.every or 0) * (self.times or 0) > LONGEST_TIME:
            raise FieldError(("after",), f"expected to be over within {format_duration(LONGEST_TIME)}")
        return self

    def each(self) -> list[SimulatedEvent]:
        """One by one: a link that flaps goes down and comes up."""
        if self.every is None:
            return [self]
        begin = self.when
        return [
            self.model_copy(
                update={"after": begin + at, "do": do, "every": None, "times": None},
            )
            for turn in range(self.times or 0)
            for at, do in ((turn * self.every, "down"), (turn * self.every + self.every // 2, "up"))
        ]


_OF_ONE = {"every": "flap", "times": "flap", "rate": "slow", "loss": "lose"}


def in_order(events: Sequence[SimulatedEvent]) -> list[tuple[int, SimulatedEvent]]:
    """One by one as they happen, each with its place in `events`."""
    single = [(index, one) for index, event in enumerate(events) for one in event.each()]
    return sorted(single, key=lambda each: each[1].when)


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


class Failing(Protocol):
    """A fabric whose links can fail."""

    @property
    def inventory(self) -> Fabric:
        """What is wired to what."""

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Take all links between two switches down, or up."""

    def slow(self, at: End, rate: int | None) -> None:
        """Let a port send at this rate, bit/s; None: at that of its own."""

    def lose(self, rules: Sequence[FaultRule]) -> None:
        """From now on by these rules, after those of the fabric."""

    def converge(self) -> None:
        """Tables follow the links as they are."""


class LinkEvents:
    """Lets events happen to a fabric.

    Args:
        seed: of losses.
    """

    def __init__(self, fabric: Failing, seed: int = 1) -> None:
        self._fabric, self._seed = fabric, seed
        self._losses: dict[frozenset[str], list[FaultRule]] = {}
        self._slowed: set[frozenset[str]] = set()

    def happen(self, event: LinkEvent) -> None:
        """To all links between the two switches, now."""
        a, b = event.nodes
        link, fabric = frozenset((a, b)), self._fabric
        ends = [end for edge in fabric.inventory.edges_between(a, b) for end in edge.ends]
        if isinstance(event, SimulatedEvent) and event.do == "slow":
            self._slowed.add(link)
            self._slow(ends, event.rate)
        elif isinstance(event, SimulatedEvent) and event.do == "lose":
            self._losses[link] = [
                FaultRule(where=f"{end.node}:{end.port}", probability=event.loss or 0, seed=self._seed)
                for end in ends
            ]
            self._lose()
        else:
            fabric.set_link(a, b, event.do == "up")
            if event.do == "up" and link in self._slowed:
                self._slowed.discard(link)
                self._slow(ends, None)
            if event.do == "up" and link in self._losses:
                del self._losses[link]
                self._lose()

    def agenda(
        self, events: Iterable[SimulatedEvent], convergence_ns: int
    ) -> list[tuple[int, Callable[[], None]]]:
        """Times, ascending, and what is done then: tables follow each failure and return so long after it, by
        the links as they are at that time."""
        due: list[tuple[int, Callable[[], None]]] = []
        for event in events:
            due.append((event.when, partial(self.happen, event)))
            if event.do in ("down", "up"):
                due.append((event.when + convergence_ns, self._fabric.converge))
        return sorted(due, key=lambda each: each[0])

    def _slow(self, ends: Sequence[End], rate: int | None) -> None:
        for end in ends:
            self._fabric.slow(end, rate)

    def _lose(self) -> None:
        self._fabric.lose([rule for rules in self._losses.values() for rule in rules])

"""What happens to links while something runs: the key `events` of scenarios, and of simulated experiments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from csaud_controller.base.units import Duration, Rate, at_least, format_duration, format_rate
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.inventory.specs import NAME
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_MOST_FLAPS = 100_000
_NAME = f"^{NAME}$"
NodeName = Annotated[str, Field(pattern=_NAME)]


def _link(value: Any) -> Any:
    """A link as it is printed, l1-s1, or as a list of two nodes, which may have a - in their names; or
    "uplink"."""
    if value == "uplink":
        return value
    names = value.split("-") if isinstance(value, str) else value
    if isinstance(names, list | tuple) and len(names) == 2 and all(_is_name(name) for name in names):
        return tuple(names)
    raise ValueError(f"expected a link as l1-s1 or [l1, s1], or uplink, got {value!r}")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(_NAME, value) is not None


def _with_unit(value: Any) -> Any:
    """Elsewhere a bare number is nanoseconds; of a job's events nobody means those."""
    if isinstance(value, int) and not isinstance(value, bool) and value:
        raise ValueError(f"expected a duration with its unit, such as {value}s, got {value}")
    return value


class LinkEvent(BaseModel):
    """A link that fails, flaps, gets slow or loses packets when the job has finished a step, or some time
    after its start; until it is `up`, which makes it whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_step: int | None = Field(
        default=None, ge=0, description="how many steps all ranks have finished; 0: before the first"
    )
    after: Annotated[Duration, BeforeValidator(_with_unit)] | None = Field(
        default=None, description="time from the job's start, with its unit, instead of a step"
    )
    link: Annotated[tuple[NodeName, NodeName] | Literal["uplink"], BeforeValidator(_link)] = Field(
        description="l1-s1, or the two in a list; uplink: the first one of the first host's switch, anywhere"
    )
    do: Literal["down", "up", "flap", "slow", "lose"]
    every: Annotated[Duration, at_least(2)] | None = Field(
        default=None, description="flap: from one failure to the next; it is down for half of that"
    )
    times: int | None = Field(default=None, ge=1, le=_MOST_FLAPS, description="flap: how often it fails")
    rate: Rate | None = Field(default=None, ge=1_000_000, description="slow: of both directions from then on")
    loss: float | None = Field(
        default=None, gt=0, le=1, description="lose: share of the packets, both ways, without a word"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.at_step is None) == (self.after is None):
            raise ValueError("expected at_step or after, one of them")
        for key, do in _OF_ONE.items():
            given = getattr(self, key) is not None
            if given and self.do != do:
                raise FieldError((key,), f"of do: {do} alone, here it is {self.do}")
            if self.do == do and not given:
                raise FieldError((key,), f"missing: do: {do} needs it")
        if self.do == "flap" and self.after is None:
            raise FieldError(("at_step",), "a link flaps by time: expected after")
        return self

    @property
    def name(self) -> str:
        return self.link if isinstance(self.link, str) else "-".join(self.link)

    @property
    def nodes(self) -> tuple[str, str]:
        """The two that it joins; AttributeError before it was resolved."""
        if isinstance(self.link, str):
            raise AttributeError(f"{self.link!r} is not the name of a link yet: see `resolved`")
        return self.link

    @property
    def key(self) -> Literal["after", "at_step"]:
        """What says when it is."""
        return "after" if self.at_step is None else "at_step"

    @property
    def when(self) -> int:
        """The value of that."""
        return (self.after if self.at_step is None else self.at_step) or 0

    @property
    def what(self) -> str:
        """For those who look on: link l1-s1 slow 50Mbit."""
        much = "" if self.rate is None else f" {format_rate(self.rate)}"
        much += "" if self.loss is None else f" {self.loss:g}"
        return f"link {self.name} {self.do}{much}"

    def each(self) -> list[Self]:
        """One by one: a link that flaps goes down and comes up."""
        if self.every is None:
            return [self]
        turns = [turn * self.every for turn in range(self.times or 0)]
        moments = [(at, do) for turn in turns for at, do in ((turn, "down"), (turn + self.every // 2, "up"))]
        once = {"every": None, "times": None}
        return [self.model_copy(update={**once, "after": self.when + at, "do": do}) for at, do in moments]

    def resolved(self, fabric: Fabric) -> Self:
        """The same with the names of two nodes; FieldError when the fabric has no such link."""
        if not isinstance(self.link, str):
            return self
        switch = fabric.attachment(next(iter(fabric.hosts))).node if fabric.hosts else ""
        ports = fabric.uplinks(switch) if switch else []
        if not ports:
            raise FieldError(("link",), f"{fabric.name} has no uplink; expected two nodes that are joined")
        return self.model_copy(update={"link": (switch, fabric.peers[switch][ports[0]].node)})


_OF_ONE = {"every": "flap", "times": "flap", "rate": "slow", "loss": "lose"}
_Event = TypeVar("_Event", bound=LinkEvent)


def in_order(events: Sequence[_Event]) -> list[tuple[int, _Event]]:
    """One by one as they happen, each with its place in `events`. Nobody knows how those of steps and
    those of times follow each other: as in `events`."""
    single = [(index, one) for index, event in enumerate(events) for one in event.each()]
    timed = iter(sorted((each for each in single if each[1].key == "after"), key=lambda each: each[1].when))
    return [next(timed) if each[1].key == "after" else each for each in single]


def mistakes_of(events: Sequence[LinkEvent], steps: int) -> list[FieldError]:
    """Unless they are in order, happen while the workload runs, and each changes something; of `events`."""
    found = [
        FieldError((index, "at_step"), f"expected less than the workload's {steps} steps")
        for index, event in enumerate(events)
        if event.at_step is not None and event.at_step >= steps
    ]
    return [*disordered(events), *found, *unchanging(events)]


def disordered(events: Sequence[LinkEvent]) -> list[FieldError]:
    """A mistake for each that comes before one that is above it."""
    found = []
    last = {"at_step": 0, "after": 0}
    for index, event in enumerate(events):
        value, before = event.when, last[event.key]
        if value < before:
            told = (value, before) if event.key == "at_step" else map(format_duration, (value, before))
            what = "steps" if event.key == "at_step" else "times"
            found.append(
                FieldError((index, event.key), "expected {} in order, got {} after {}".format(what, *told))
            )
        last[event.key] = value
    return found


def unchanging(events: Sequence[LinkEvent]) -> list[FieldError]:
    """A mistake for each, as they happen, that takes down what is down, or up what is whole."""
    found = []
    was: dict[frozenset[str], LinkEvent] = {}  # by "uplink", too, which is a name of its own
    for index, event in in_order(events):
        link = frozenset([event.link] if isinstance(event.link, str) else event.link)
        before = was.get(link)
        down = before is not None and before.do == "down"
        if before is None if event.do == "up" else down:
            state = "down already" if down else "not down"
            found.append(FieldError((index, "do"), f"{event.name} is {state} at this point"))
        elif before is not None and before.key != event.key:
            found.append(
                FieldError((index, event.key), f"{event.name} went down by {before.key}: which comes first?")
            )
        if event.do == "up":
            was.pop(link, None)
        else:
            was[link] = event
    return found


def resolved(events: Sequence[_Event], fabric: Fabric) -> list[_Event]:
    """The same with the links that this fabric has; FieldError, of the key `events`, where it has none."""
    found = []
    for index, event in enumerate(events):
        try:
            found.append(event.resolved(fabric))
        except FieldError as error:
            raise FieldError(("events", index, *error.loc), str(error)) from None
    return found


def check_links(events: Sequence[LinkEvent], fabric: Fabric) -> None:
    """FieldError, of the key `events`, for a link that the fabric does not have."""
    for index, event in enumerate(events):
        if not isinstance(event.link, str) and not fabric.edges_between(*event.link):
            known = ", ".join(f"{edge.a}-{edge.b}" for edge in fabric.switch_edges())
            message = f"{fabric.name} has no link {event.name}; expected one of {known}"
            raise FieldError(("events", index, "link"), message)
        if event.do in ("slow", "lose") and not set(event.nodes) <= fabric.switches.keys():
            raise FieldError(("events", index, "link"), f"do: {event.do} is of a link between two switches")

"""What a scenario does to the fabric while the job runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from csaud_controller.base.units import format_duration

from csaud_topologies.fabric.link_events import Failing, LinkEvents
from csaud_topologies.record.model import EventRecord
from csaud_topologies.scenario.events import LinkEvent, in_order


class EventSchedule:
    """Fires each event when every rank has finished its step (steps count from 1, as progress shows them), or
    when its time after the job's start has come.

    Args:
        seed: of losses.
    """

    def __init__(
        self,
        events: Sequence[LinkEvent],
        fabric: Failing,
        seed: int,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._by_step = [event for event in events if event.at_step is not None]
        self._by_time = [event for _, event in in_order(events) if event.after is not None]
        self._links = LinkEvents(fabric, seed)
        self._say = say
        self._clock = clock
        self._begun: float | None = None
        self._finished = 0
        self.fired: list[EventRecord] = []

    @property
    def failed_links(self) -> set[frozenset[str]]:
        """Links that were down at some time so far."""
        return self._links.failed

    def make_whole(self) -> None:
        """Links that an event has made slow or lossy are as they were; those that are down stay so."""
        self._links.make_whole()

    def begin(self) -> None:
        """The job has begun: times count from now."""
        self._begun = self._clock()
        self.advance(0)
        self.tick()

    def advance(self, finished_steps: int) -> None:
        """Fire what is due now that all ranks have finished so many steps."""
        self._finished = finished_steps
        while self._by_step and (self._by_step[0].at_step or 0) <= finished_steps:
            when = f"after step {finished_steps}" if finished_steps else "before step 1"
            self._fire(self._by_step.pop(0), when)

    def tick(self) -> None:
        """Fire what is due by the time that has passed; nothing before the job has begun."""
        while self._begun is not None and self._by_time:
            after = self._by_time[0].after or 0
            if self._clock() - self._begun < after / 1e9:
                return
            self._fire(self._by_time.pop(0), f"after {format_duration(after)}")

    def _fire(self, event: LinkEvent, when: str) -> None:
        self._links.happen(event)
        at_s = 0.0 if self._begun is None else self._clock() - self._begun
        self.fired.append(EventRecord(at_s=at_s, step=self._finished, what=event.what))
        self._say(f"{when}: {event.what}")

"""What a scenario does to the fabric while the job runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from csaud_topologies.record.model import EventRecord
from csaud_topologies.scenario.model import LinkEvent

SetLink = Callable[[str, str, bool], None]
"""Takes all links between two nodes down (False) or up."""


class EventSchedule:
    """Fires each event when every rank has finished its step; steps count from 1, as progress shows them."""

    def __init__(self, events: Sequence[LinkEvent], set_link: SetLink, say: Callable[[str], None]) -> None:
        self._due = list(events)
        self._set_link = set_link
        self._say = say
        self._start = time.monotonic()
        self.fired: list[EventRecord] = []
        self.failed_links: set[frozenset[str]] = set()
        """Links that were down at some time so far."""

    def restart_clock(self) -> None:
        """Times of events count from now: the job has begun."""
        self._start = time.monotonic()

    def advance(self, finished_steps: int) -> None:
        """Fire what is due now that all ranks have finished so many steps."""
        while self._due and self._due[0].at_step <= finished_steps:
            event = self._due.pop(0)
            a, b = event.nodes
            self._set_link(a, b, event.do == "up")
            self.failed_links.add(frozenset((a, b)))
            what = f"link {event.name} {event.do}"
            self.fired.append(
                EventRecord(at_s=time.monotonic() - self._start, step=finished_steps, what=what)
            )
            when = f"after step {finished_steps}" if finished_steps else "before step 1"
            self._say(f"{when}: {what}")

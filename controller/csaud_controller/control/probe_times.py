"""What link probes take from the controller to the controller: through both switches, their sessions and the
link between."""

from __future__ import annotations

from collections import deque

from csaud_controller.inventory import End
from csaud_controller.links.probes import Probe

_KEPT = 32


class ProbeTimes:
    """Of the last probes of each port. Times are ns of one clock."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[int, int]] = {}
        """By switch: the last round in which it sent probes, and when."""
        self._took: dict[End, deque[int]] = {}

    def sent(self, switch: str, round_: int, now: int) -> None:
        """A switch was given its probes of a round."""
        self._sent[switch] = round_, now

    def came(self, probe: Probe, now: int) -> None:
        """It has come back; one of an earlier round says nothing."""
        round_, sent_at = self._sent.get(probe.origin.node, (0, 0))
        if round_ == probe.round:
            self._took.setdefault(probe.origin, deque(maxlen=_KEPT)).append(now - sent_at)

    def shortest_us(self, origin: End) -> int | None:
        """Of the probes that left by this port: no packet takes longer from end to end of the link, where no
        queue holds it."""
        return min(times) // 1000 if (times := self._took.get(origin)) else None

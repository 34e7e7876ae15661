"""When to compute anew while events come in. No clock and no I/O: `now` is passed in, in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Gathering:
    """One computation for many events.

    After a pause it is due at once: a single event waits for nothing. What comes while it runs, and for as
    long again, is gathered for the next one. So a burst costs two computations however many events it has,
    and computing never takes more than half of the time.
    """

    free_at: int = 0
    """Not due before."""
    due: int | None = None
    """When what has come in is to be computed; None: nothing has."""

    def event(self, now: int) -> int | None:
        """Something has changed. When to compute, if nothing was waiting for that yet."""
        if self.due is not None:
            return None
        self.due = max(now, self.free_at)
        return self.due

    def computed(self, began: int, now: int) -> None:
        """A computation took from `began` until `now`; what came in before it is in it."""
        self.due = None
        self.free_at = now + (now - began)

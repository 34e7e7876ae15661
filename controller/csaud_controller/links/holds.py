"""How long links stay out that are well as long as nothing uses them: an examination finds a slow link as
good as any, and one that loses packets under load alone. No clock: `now` is passed in, in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Link = TypeVar("Link")

LONGEST = 3_600_000_000_000
"""ns."""
WELL = 8
"""A link that was used for so many times as long as it had been out begins anew."""


@dataclass
class _Hold:
    pause: int
    began: int
    tried: int | None = None
    """Since when it is used again."""


class Holds(Generic[Link]):
    """A link stays out twice as long each time that it is found bad again, unless it was well meanwhile."""

    def __init__(self) -> None:
        self._holds: dict[Link, _Hold] = {}

    def take(self, link: Link, now: int, first: int) -> int:
        """It is left out; returns for how many nanoseconds at least, `first` when that begins anew."""
        before, pause = self._holds.get(link), first
        if before is not None and (before.tried is None or now - before.tried < WELL * before.pause):
            pause = max(first, min(2 * before.pause, LONGEST))
        self._holds[link] = _Hold(pause, now)
        return pause

    def waits(self, link: Link, now: int) -> bool:
        """Whether it is too early to use a link again."""
        hold = self._holds.get(link)
        return hold is not None and hold.tried is None and now - hold.began < hold.pause

    def use(self, link: Link, now: int) -> None:
        """It is used again."""
        if (hold := self._holds.get(link)) is not None:
            hold.tried = now

    def forget(self) -> None:
        """What is out is used again, and none of it counts any more."""
        self._holds.clear()

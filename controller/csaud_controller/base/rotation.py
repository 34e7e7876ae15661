"""How often each of many who share one event loop is looked through: as often as is asked for, or as seldom
as keeps that within a share of a processor.
"""

from __future__ import annotations

from collections import deque

_SHARE = 0.08
"""Of a processor. A tenth is what is promised; what a turn costs is only known by the last ones."""
_REMEMBERED = 4


class Rotation:
    """Of all who share one. What computes beside a turn is counted in what it took, so that the least of the
    last few tells its cost, and no turn puts the next one off for more than twice as long as the last did."""

    def __init__(self, share: float = _SHARE) -> None:
        self._share = share
        self._took: dict[str, deque[float]] = {}
        self._period_s: dict[str, float] = {}

    def took(self, name: str, computed_s: float) -> None:
        """A turn of this one took so much processor time."""
        self._took.setdefault(name, deque(maxlen=_REMEMBERED)).append(computed_s)

    def leave(self, name: str) -> None:
        """It has no more turns."""
        self._took.pop(name, None)
        self._period_s.pop(name, None)

    def period_s(self, name: str, wanted_s: float) -> float:
        """From its turn to its next: what is wanted, or as long as all turns take at that share."""
        within = sum(map(min, self._took.values())) / self._share
        self._period_s[name] = max(wanted_s, min(within, 2 * self._period_s.get(name, wanted_s)))
        return self._period_s[name]

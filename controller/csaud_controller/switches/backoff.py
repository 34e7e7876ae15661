"""How long to wait before a session is opened again. No clock: how long the last one lasted is passed in."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Backoff:
    """Pauses that double from `first_s` to `most_s` as long as sessions end sooner than they were waited for;
    each up to a half longer, by chance, so that many switches do not come back at the same moment."""

    first_s: float
    most_s: float
    chance: random.Random = field(default_factory=random.Random)
    _next_s: float = 0.0

    def pause(self, lasted_s: float) -> float:
        """Seconds to wait after a session that lasted so long."""
        if not self._next_s or lasted_s > self._next_s:
            self._next_s = self.first_s
        pause = self._next_s
        self._next_s = min(2 * self._next_s, self.most_s)
        return min(pause * (1 + self.chance.random() / 2), self.most_s)

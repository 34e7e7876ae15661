"""What takes its time in an event loop and cannot be cut: some at once, the rest one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class Pace:
    """Of all who share one. The first `at_once` after a pause go on at once, others `apart_s` apart."""

    def __init__(
        self,
        at_once: int = 8,
        apart_s: float = 0.02,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._ahead_s, self._apart_s = (at_once - 1) * apart_s, apart_s
        self._clock, self._sleep = clock, sleep
        self._next = clock()
        """When the next one would go on, if there were none at once."""
        self._turn = asyncio.Lock()

    async def turn(self) -> None:
        """Wait for one's own, in the order in which they came."""
        async with self._turn:
            if (wait_s := self._next - self._ahead_s - self._clock()) > 0:
                await self._sleep(wait_s)
            self._next = max(self._next, self._clock()) + self._apart_s

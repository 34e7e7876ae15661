"""Long computations in an event loop: one at a time, and a few milliseconds at a stretch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")


def at_once(steps: Generator[None, None, T]) -> T:
    """What the generator returns or raises, where nobody waits."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: T = end.value
            return made


class Stretches:
    """Of all who share one: between two stretches the loop does whatever else is due.

    `longest_s`: a stretch; it ends with the first step that is over later.
    """

    def __init__(self, longest_s: float = 0.004, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_s, self._clock = longest_s, clock
        self._computing = asyncio.Lock()

    async def compute(self, steps: Generator[None, None, T]) -> T:
        """What the generator returns or raises; it yields after every step."""
        async with self._computing:
            while True:
                until = self._clock() + self._longest_s
                try:
                    next(steps)
                    while self._clock() < until:
                        next(steps)
                except StopIteration as end:
                    made: T = end.value
                    return made
                await asyncio.sleep(0)

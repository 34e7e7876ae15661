"""Policies that end: their ends are looked for again and again, since the clock may be set at any time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.desired.history import HistoryError
from csaud_controller.desired.keeper import NotKeptError
from csaud_controller.policy.intent import Intent

LOG = logging.getLogger("csaud.controller")

_LOOK_AT_CLOCK_S = 0.5
_CLOCK_IS_SET_S = 2.0
"""A jump of the clock, by at least so much, is no mere correction."""
_TRY_AGAIN_S = 5.0


def since_boot() -> float:
    """Seconds, those asleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


async def end_policies(
    intent: Callable[[], Intent],
    change: Callable[[Callable[[Intent], Intent]], Awaitable[int]],
    clock: Callable[[], float],
    steady: Callable[[], float],
) -> None:
    """Until cancelled: `change` the intent when one of its policies has ended by the clock (seconds since the
    epoch), or when that was set against `steady`: an end that is so much time away stays so much away."""
    ahead = clock() - steady()
    while True:
        await asyncio.sleep(_LOOK_AT_CLOCK_S)
        set_by = clock() - steady() - ahead
        if abs(set_by) < _CLOCK_IS_SET_S:
            set_by = 0.0

        def as_of_now(of: Intent, set_by: float = set_by) -> Intent:
            return of.moved(set_by).at(clock())

        if as_of_now(now := intent()) is not now:
            try:
                await change(as_of_now)
            except (FieldError, NotKeptError, HistoryError) as error:
                LOG.error("a policy has ended, and what was before it cannot be in force: %s", error)
                await asyncio.sleep(_TRY_AGAIN_S)
                continue
        ahead += set_by

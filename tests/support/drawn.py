"""Schedules that hypothesis draws, in batches that can be repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.support.marks import thorough

Schedule = TypeVar("Schedule")


def batches(schedules: int, of: int) -> pytest.MarkDecorator:
    """The number of each batch of that many of so many schedules; all but the first are thorough."""
    return pytest.mark.parametrize("batch", [0, *map(thorough, range(1, schedules // of))])


def drawn(
    batch: int, count: int, strategy: st.SearchStrategy[Schedule], check: Callable[[Schedule], None]
) -> None:
    """Check `count` schedules, whose seed is the batch; the first that fails is shrunk and raised."""

    @seed(batch)
    @settings(
        max_examples=count,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(strategy)
    def each(schedule: Schedule) -> None:
        check(schedule)

    each()

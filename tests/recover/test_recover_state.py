"""The state that workers are given: all of it or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from csaud.errors import PeerUnreachable
from csaud.recover.state import Arrays
from csaud.testing import assert_bit_equal

from tests.hostlib.group_ranks import everywhere


class Dies:
    """A group whose rank 0 gives one array, and dies in the next one, of which a part has come."""

    rank = 1

    def __init__(self) -> None:
        self._came = 0

    def broadcast(self, array: Any, source: int) -> None:
        self._came += 1
        if self._came == 2:
            array[:1] = 1.0
            raise PeerUnreachable(source)
        array[:] = 1.0


def test_a_worker_that_was_given_half_of_a_state_keeps_its_own() -> None:
    arrays = [np.full(5, 2.0), np.full(3, 2.0)]
    with pytest.raises(PeerUnreachable):
        Arrays(arrays).hand_over(Dies(), 0, True)  # type: ignore[arg-type]
    for array in arrays:
        assert_bit_equal(array, np.full(array.size, 2.0))


def test_all_that_are_behind_are_given_the_sources_state() -> None:
    def work(group: Any) -> list[np.ndarray]:
        arrays = [np.full(5, group.rank), np.full((2, 3), group.rank + 0.5)]
        Arrays(arrays).hand_over(group, 1, group.rank != 1)
        return arrays

    for first, second in everywhere(3, work):
        assert_bit_equal(first, np.full(5, 1))
        assert_bit_equal(second, np.full((2, 3), 1.5))

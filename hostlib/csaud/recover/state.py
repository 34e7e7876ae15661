"""What ranks that come later are given: the job's state."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from csaud.groups.group import Group

Array = npt.NDArray[Any]


class State(Protocol):
    """The job's state at one rank."""

    def hand_over(self, group: Group, source: int, behind: bool) -> None:
        """Give the state of rank `source` to ranks that are behind; all ranks call this.

        Args:
            behind: this rank is one of them.
        """


class Arrays:
    """Arrays that are changed in place, of the same shapes on all ranks."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = list(arrays)

    def hand_over(self, group: Group, source: int, behind: bool) -> None:
        mine = group.rank == source or not behind  # those that are not behind have the same
        came = self._arrays if mine else [np.empty_like(array) for array in self._arrays]
        for array in came:
            group.broadcast(array, source)
        if not mine:  # of a source that dies before, nothing is taken
            for array, given in zip(self._arrays, came, strict=True):
                array[...] = given

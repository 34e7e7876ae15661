"""What ranks that come later are given: the job's state."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy.typing as npt

from csaud.groups.group import Group

Array = npt.NDArray[Any]


class State(Protocol):
    """The job's state at one rank."""

    def hand_over(self, group: Group, source: int) -> None:
        """Make it that of rank `source`; all ranks call this."""


class Arrays:
    """Arrays that are changed in place, of the same shapes on all ranks."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = list(arrays)

    def hand_over(self, group: Group, source: int) -> None:
        for array in self._arrays:
            group.broadcast(array, source)

"""What ranks can agree on."""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Agreement(NamedTuple):
    """The same at every rank that gets it.

    Attributes:
        value: the ranks' values combined.
        failed: ranks of the communicator that took no part.
    """

    value: int
    failed: tuple[int, ...]


OPERATIONS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "and": lambda values: functools.reduce(operator.and_, values),
    "or": lambda values: functools.reduce(operator.or_, values),
    "min": min,
    "max": max,
}

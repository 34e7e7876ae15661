"""Gradients of microbatches as they are computed, added up in the order of the tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.recover.tree import Node, merged

Array = npt.NDArray[Any]
Buckets = Sequence[Array]


class Sums:
    """What one rank has of a stage's gradients: a list of buckets a node of the tree.

    Args:
        microbatches: of the tree.
        in_order: nodes are put together only where the tree says so; otherwise all go into one sum.
    """

    def __init__(self, microbatches: int, in_order: bool) -> None:
        self._microbatches, self._in_order = microbatches, in_order
        self._sums: dict[Node, Buckets] = {}

    def clear(self) -> None:
        """Nothing was computed."""
        self._sums.clear()

    def add(self, number: int, gradient: Buckets) -> None:
        """The gradient of a microbatch, which is kept (and changed)."""
        if self._in_order:
            self._sums[number, number + 1] = gradient
            self._sums = merged(self._sums, self._microbatches, _add)
        else:
            (node, sum_), *_ = [*self._sums.items(), ((0, 0), None)]
            self._sums = {node: gradient if sum_ is None else _add(sum_, gradient)}

    def of(self, bucket: int) -> list[Array]:
        """A bucket's sums, in the order of their nodes."""
        return [self._sums[node][bucket] for node in sorted(self._sums)]


def _add(one: Buckets, other: Buckets) -> Buckets:
    for into, array in zip(one, other, strict=True):
        np.add(into, array, out=into)
    return one

"""Gradients of microbatches as they are computed, added up in the order of the tree."""

from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.recover.tree import Node, merged

Array = npt.NDArray[Any]

_SHORT = 2  # bytes of an element, of which sums have more

_ANY: Node = (0, 0)  # of a sum in no particular order


def type_of_sums(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """In which gradients of this type are added up: many of a short one's may be more than it has."""
    return np.dtype(np.float32) if dtype.itemsize <= _SHORT else dtype


class Sums:
    """What one rank has of a stage's gradients: for each bucket an array a node of the tree.

    Args:
        microbatches: of the tree.
        in_order: nodes are put together only where the tree says so; otherwise all go into one sum.
    """

    def __init__(self, microbatches: int, buckets: int, in_order: bool) -> None:
        self._microbatches, self._in_order = microbatches, in_order
        self._sums: list[dict[Node, Array]] = [{} for _ in range(buckets)]
        self._added: list[set[int]] = [set() for _ in range(buckets)]

    def clear(self) -> None:
        """Nothing was computed."""
        self._sums = [{} for _ in self._sums]
        self._added = [set() for _ in self._added]

    def add(self, number: int, bucket: int, gradient: Array) -> None:
        """A bucket of a microbatch's gradient, which is kept (and changed); once each: it comes again, with
        the same bits, where the microbatch was left in an error and is computed again."""
        if number in self._added[bucket]:
            return
        self._added[bucket].add(number)
        sums = self._sums[bucket]
        gradient = gradient.astype(type_of_sums(gradient.dtype), copy=False)
        if self._in_order:
            sums[number, number + 1] = gradient
            self._sums[bucket] = merged(sums, self._microbatches, _add)
        else:
            sums[_ANY] = _add(sums[_ANY], gradient) if sums else gradient

    def of(self, bucket: int) -> list[Array]:
        """A bucket's sums, in the order of their nodes."""
        sums = self._sums[bucket]
        return [sums[node] for node in sorted(sums)]


def _add(one: Array, other: Array) -> Array:
    return np.add(one, other, out=one)

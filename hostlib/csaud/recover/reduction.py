"""Buckets' sums over all ranks, several under way at once.

In order: each rank sends its sums of nodes of the tree, cut into a chunk a rank, to the chunks' owners, who
add them up as the tree says and give the result to all. Where a rank's microbatches are one node, these are
as many bytes as those of a ring all-reduce; a rank whose microbatches make k nodes sends k times as much in
the first half. Otherwise: an all-reduce of the ranks' sums, in the order of its algorithm.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from csaud.groups.group import Group
from csaud.groups.handle import Handle
from csaud.recover.sums import type_of_sums
from csaud.recover.tree import Node, cover, total

Array = npt.NDArray[Any]


class _Bucket(NamedTuple):
    """One under way.

    Attributes:
        buffers: what must live until it has ended; of a sum in no order, itself.
    """

    number: int
    out: Array
    handle: Handle
    buffers: tuple[Array, ...]


class Reductions:
    """Those of one epoch and one plan. All ranks start the same buckets in the same order.

    Args:
        first, second: two groups of the same ranks, for the halves: each has an order of its own.
        held: microbatches that each rank adds.
        watch: called with "reduce" and "gather" when a half is under way.
    """

    def __init__(
        self, first: Group, second: Group, microbatches: int, held: Sequence[frozenset[int]], in_order: bool,
        watch: Callable[[str], object],
    ) -> None:  # fmt: skip
        self._first, self._second = first, second
        self._microbatches, self._in_order, self._watch = microbatches, in_order, watch
        self._nodes: list[list[Node]] = [cover(numbers, microbatches) for numbers in held]
        self._halves: deque[_Bucket] = deque()
        self._wholes: deque[_Bucket] = deque()

    def start(self, number: int, sums: Sequence[Array], out: Array) -> None:
        """Begin with a bucket, whose mean over the microbatches comes into `out`.

        Args:
            sums: this rank's: of its nodes, in order; or one of all that it has, or none.
        """
        dtype = type_of_sums(out.dtype)
        if not self._in_order:
            summed = out if dtype == out.dtype else np.empty(out.size, dtype)
            np.copyto(summed, sums[0]) if sums else summed.fill(0)
            handle = self._first.all_reduce(summed, wait=False)
            self._wholes.append(_Bucket(number, out, handle, (summed,)))
            self._watch("reduce")
            return
        group = self._first
        chunks = _chunks(out.size, group.size)
        cut = [part[chunk] for chunk in chunks for part in sums]
        leaving = sums[0] if len(sums) == 1 else np.concatenate(cut) if cut else np.empty(0, dtype)
        length = _length(chunks[group.rank])
        came = np.empty(length * sum(map(len, self._nodes)), dtype)
        handle = group.all_to_all_v(
            leaving,
            [len(sums) * _length(chunk) for chunk in chunks],
            [len(nodes) * length for nodes in self._nodes],
            out=came, wait=False,
        )  # fmt: skip
        self._halves.append(_Bucket(number, out, handle, (leaving, came)))
        self._watch("reduce")

    def move_on(self) -> None:
        """Begin with the second half of buckets whose first one has ended."""
        while self._halves and self._halves[0].handle.ended_well:
            self._gather(self._halves.popleft())

    def finish(self) -> Iterator[int]:
        """Wait for all that were started; their numbers, as each is complete."""
        while self._halves:
            self._halves[0].handle.wait()
            self._gather(self._halves.popleft())
        while self._wholes:
            bucket = self._wholes[0]
            bucket.handle.wait()
            self._wholes.popleft()
            if not self._in_order:
                self._divide(bucket.buffers[0], bucket.out)
            yield bucket.number

    def landed(self) -> Iterator[int]:
        """After a failure: those that were complete here before it."""
        for bucket in self._wholes:
            if bucket.handle.ended_well:
                if not self._in_order:
                    self._divide(bucket.buffers[0], bucket.out)
                yield bucket.number
        self._wholes.clear()

    def _gather(self, bucket: _Bucket) -> None:
        out, group = bucket.out, self._second
        chunks = _chunks(out.size, group.size)
        mine = out[chunks[group.rank]]
        nodes = [node for of in self._nodes for node in of]
        came = bucket.buffers[1].reshape(len(nodes), mine.size)
        self._divide(total(dict(zip(nodes, came, strict=True)), (0, self._microbatches), _add), mine)
        handle = group.all_gather_v(mine, [_length(chunk) for chunk in chunks], out=out, wait=False)
        self._wholes.append(_Bucket(bucket.number, out, handle, ()))
        self._watch("gather")

    def _divide(self, summed: Array, out: Array) -> None:
        count = summed.dtype.type(self._microbatches)
        if summed.dtype == out.dtype:
            np.divide(summed, count, out=out)
        else:
            out[...] = summed / count


def _chunks(size: int, parts: int) -> list[slice]:
    edges = [size * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def _length(chunk: slice) -> int:
    return int(chunk.stop - chunk.start)


def _add(one: Array, other: Array) -> Array:
    return np.add(one, other, out=one)

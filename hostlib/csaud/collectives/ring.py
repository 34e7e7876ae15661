"""Ring all-reduce: reduce-scatter, then all-gather, each of size - 1 steps.

The array is cut into `size` chunks (the sizes of numpy.array_split). In reduce-scatter step s, rank r sends
chunk (r - s) mod size to r + 1, receives chunk (r - s - 1) mod size from r - 1 and computes

    chunk = received + local        (in this operand order)

so chunk c is summed ((g_c + g_(c+1)) + g_(c+2)) + ... starting at rank c: the same bits on every rank and
in every run, and `reference_sum` gives the same bits in one process. In the all-gather, step size - 1 + s,
rank r sends chunk (r + 1 - s) mod size, finished, and receives chunk (r - s) mod size in its place.

A chunk longer than a message may be is cut into several, and each is reduced and passed on by itself, so a
long chunk travels the ring as a pipeline.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives.schedule import (
    MAX_STEPS,
    Buffer,
    Operation,
    Recv,
    Reduce,
    Region,
    Schedule,
    Send,
    messages,
    split,
)
from csaud.errors import ConfigError


class _Ring:
    """One rank's part of steps in each of which a chunk goes to the next rank and one comes from the last."""

    def __init__(self, rank: int, size: int, count: int, longest: int, steps: int) -> None:
        if steps > MAX_STEPS:
            raise ConfigError(
                f"a ring of {size} ranks takes {steps} steps, and at most {MAX_STEPS} can be numbered; "
                "all_reduce has halving_doubling"
            )
        self._chunks = [Region(Buffer.DATA, start, length) for start, length in split(count, size)]
        self._longest = longest
        self._right, self._left = (rank + 1) % size, (rank - 1) % size
        # producer[c][i]: the operation after which message i of chunk c can be sent on
        self._producer: list[list[tuple[int, ...]]] = [
            [() for _ in messages(chunk, longest)] for chunk in self._chunks
        ]
        self._operations: list[Operation] = []
        self._steps = steps
        self._step = 0
        self._scratch = 0

    def turn(self, sent: int, received: int, reduce: bool) -> None:
        """One step: chunk `sent` goes on, chunk `received` comes, to be added to ours or into its place."""
        step, chain = self._step, self._steps - 1 - self._step
        for index, region in enumerate(messages(self._chunks[sent], self._longest)):
            self._operations.append(
                Send(self._right, step, index, region, self._producer[sent][index], chain)
            )
        for index, local in enumerate(messages(self._chunks[received], self._longest)):
            arrived = local
            if reduce:
                arrived = Region(Buffer.SCRATCH, self._scratch, local.count)
                self._scratch += local.count
            self._operations.append(Recv(self._left, step, index, arrived, chain))
            if reduce:
                self._operations.append(Reduce(arrived, local, local, (len(self._operations) - 1,)))
            self._producer[received][index] = (len(self._operations) - 1,)
        self._step += 1

    def schedule(self) -> Schedule:
        return Schedule(tuple(self._operations), self._scratch, self._steps)


@lru_cache(maxsize=256)
def all_reduce(rank: int, size: int, count: int, longest: int) -> Schedule:
    """The schedule of `rank` of `size` for an array of `count` elements, messages of at most `longest`
    elements."""
    ring = _Ring(rank, size, count, longest, 2 * (size - 1))
    for step in range(size - 1):
        ring.turn((rank - step) % size, (rank - step - 1) % size, reduce=True)
    # Straight into the user's array: the finished chunk can come only after our own partial sum of it, which
    # was read from there, has reached the next rank; a late repetition of that one is a duplicate to
    # everybody.
    for step in range(size - 1):
        ring.turn((rank + 1 - step) % size, (rank - step) % size, reduce=False)
    return ring.schedule()


@lru_cache(maxsize=256)
def reduce_scatter(rank: int, size: int, count: int, longest: int) -> Schedule:
    """Chunk r of the sum ends at rank r, in its place; the rest of DATA is then of no meaning.

    Chunk c is summed from rank c + 1 on, with its own rank's share last.
    """
    ring = _Ring(rank, size, count, longest, size - 1)
    for step in range(size - 1):
        ring.turn((rank - step - 1) % size, (rank - step - 2) % size, reduce=True)
    return ring.schedule()


@lru_cache(maxsize=256)
def all_gather(rank: int, size: int, count: int, longest: int) -> Schedule:
    """Chunk r of DATA, `count` elements in all, goes from rank r to all others."""
    ring = _Ring(rank, size, count, longest, size - 1)
    for step in range(size - 1):
        ring.turn((rank - step) % size, (rank - step - 1) % size, reduce=False)
    return ring.schedule()


def reference_sum(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The ring's result in one process, bit by bit: `arrays[r]` is what rank r contributes, all of one shape.

    Returns a new array of that shape and dtype.
    """
    size = len(arrays)
    if size == 0:
        raise ValueError("a sum of no arrays")
    if len({(array.shape, array.dtype) for array in arrays}) != 1:
        raise ValueError("the arrays differ in shape or dtype")
    flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    result = np.empty_like(flat[0])
    for chunk, (start, length) in enumerate(split(flat[0].size, size)):
        part = slice(start, start + length)
        total = flat[chunk][part].copy()
        for distance in range(1, size):
            np.add(total, flat[(chunk + distance) % size][part], out=total)
        result[part] = total
    return result.reshape(arrays[0].shape)

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


@lru_cache(maxsize=256)
def all_reduce(rank: int, size: int, count: int, longest: int) -> Schedule:
    """The schedule of `rank` of `size` for an array of `count` elements, messages of at most `longest`
    elements."""
    if size == 1:
        return Schedule(operations=(), scratch=0, steps=0)
    chunks = [Region(Buffer.DATA, start, length) for start, length in split(count, size)]
    operations: list[Operation] = []
    # producer[c][i]: the operation after which message i of chunk c can be sent on
    producer: list[list[tuple[int, ...]]] = [[() for _ in messages(chunk, longest)] for chunk in chunks]
    right, left = (rank + 1) % size, (rank - 1) % size
    steps = 2 * (size - 1)
    scratch = 0

    for step in range(size - 1):
        chain = steps - 1 - step
        sent, received = (rank - step) % size, (rank - step - 1) % size
        for index, region in enumerate(messages(chunks[sent], longest)):
            operations.append(Send(right, step, index, region, producer[sent][index], chain))
        for index, local in enumerate(messages(chunks[received], longest)):
            arrived = Region(Buffer.SCRATCH, scratch, local.count)
            scratch += local.count
            operations.append(Recv(left, step, index, arrived, chain))
            operations.append(Reduce(arrived, local, local, (len(operations) - 1,)))
            producer[received][index] = (len(operations) - 1,)

    for turn in range(size - 1):
        step = size - 1 + turn
        chain = steps - 1 - step
        sent, received = (rank + 1 - turn) % size, (rank - turn) % size
        for index, region in enumerate(messages(chunks[sent], longest)):
            operations.append(Send(right, step, index, region, producer[sent][index], chain))
        # Straight into the user's array: the finished chunk can come only after our own partial sum of it,
        # which was read from there, has reached the next rank; a late repetition of that one is a duplicate
        # to everybody.
        for index, region in enumerate(messages(chunks[received], longest)):
            operations.append(Recv(left, step, index, region, chain))
            producer[received][index] = (len(operations) - 1,)
    return Schedule(tuple(operations), scratch, steps)


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

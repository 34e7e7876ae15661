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

from collections.abc import Iterable, Sequence
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


class Ring:
    """One rank's part of steps in each of which a chunk goes to the next rank and one comes from the last.

    Args:
        rank: its place in the ring.
        chunks: where each is in DATA, or in SOURCE; as many as ranks.
        steps: of the whole collective.
        members: the ranks of the ring, in its order; empty: all.
        follows: what goes before in the same collective; what it has written is sent as it becomes there.
    """

    def __init__(
        self, rank: int, size: int, chunks: Sequence[Region], longest: int, steps: int, *,
        members: Sequence[int] = (), follows: "Ring | None" = None,
    ) -> None:  # fmt: skip
        if steps > MAX_STEPS:
            raise ConfigError(
                f"a ring of {size} ranks takes {steps} steps, and at most {MAX_STEPS} can be numbered; "
                "all_reduce has halving_doubling"
            )
        self.operations: list[Operation] = follows.operations if follows else []
        self.scratch: int = follows.scratch if follows else 0
        self._rank, self._size = rank, size
        self._local = [list(messages(chunk, longest)) for chunk in chunks]
        self._right, self._left = (rank + 1) % size, (rank - 1) % size
        if members:
            self._right, self._left = members[self._right], members[self._left]
        self._has = [list(parts) for parts in self._local]  # where each chunk's latest value is
        # producer[c][i]: the operations after which message i of chunk c can be sent on
        self._producer: list[list[tuple[int, ...]]] = [
            [follows.writers(part) if follows else () for part in parts] for parts in self._local
        ]
        self._steps = steps
        self._step: int = follows._step if follows else 0

    def writers(self, region: Region) -> tuple[int, ...]:
        """The operations after which the elements of `region` have their latest values."""
        return tuple(
            op
            for parts, producers in zip(self._local, self._producer, strict=True)
            for part, after in zip(parts, producers, strict=True)
            if max(part.start, region.start) < min(part.start + part.count, region.start + region.count)
            for op in after
        )

    def send(self, chunk: int, to: int, fan_in: int = 1) -> None:
        """Chunk `chunk`, as far as it was summed, goes to rank `to` in this step."""
        for index, region in enumerate(self._has[chunk]):
            after = self._producer[chunk][index]
            self.operations.append(Send(to, self._step, index, region, after, fan_in))

    def turn(self, sent: int, received: int, *, into: Region | None = None) -> None:
        """One step of a reduction: chunk `sent` goes on, chunk `received` comes, and ours is added to it.

        Args:
            into: where the sum goes; None: where our own share is, or, of SOURCE, into scratch.
        """
        self.send(sent, self._right)
        count = self._local[received][0].count
        for index, local in enumerate(self._local[received]):
            arrived = Region(Buffer.SCRATCH, self.scratch, local.count)
            self.scratch += local.count
            self.operations.append(Recv(self._left, self._step, index, arrived))
            if into is not None:
                target = Region(into.buffer, into.start + index * count, local.count)
            else:
                target = arrived if local.buffer is Buffer.SOURCE else local
            after = (*self._producer[received][index], len(self.operations) - 1)
            self.operations.append(Reduce(arrived, local, target, after))
            self._has[received][index] = target
            self._producer[received][index] = (len(self.operations) - 1,)
        self._step += 1

    def pass_on(self, sent: int, received: int) -> None:
        """One step without a reduction: chunk `received` comes into its place."""
        self.send(sent, self._right)
        for index, local in enumerate(self._local[received]):
            self.operations.append(Recv(self._left, self._step, index, local))
            self._producer[received][index] = (len(self.operations) - 1,)
        self._step += 1

    def sum_chunks(self) -> None:
        """A turn for each other rank: the sum of chunk rank + 1 ends here."""
        for step in range(self._size - 1):
            self.turn((self._rank - step) % self._size, (self._rank - step - 1) % self._size)

    def spread_sums(self) -> None:
        """As many steps, in which the sums come to all ranks, chunk rank + 1 from here."""
        # Straight into the user's array: the finished chunk can come only after our own partial sum of it,
        # which was read from there, has reached the next rank; a late repetition of that one is a duplicate
        # to everybody.
        for step in range(self._size - 1):
            self.pass_on((self._rank + 1 - step) % self._size, (self._rank - step) % self._size)

    def schedule(self) -> Schedule:
        return Schedule(tuple(self.operations), self.scratch, self._steps)


def regions(counts: Iterable[int], buffer: Buffer = Buffer.DATA) -> list[Region]:
    """Regions of so many elements, one after the other."""
    found = []
    start = 0
    for count in counts:
        found.append(Region(buffer, start, count))
        start += count
    return found


def even(count: int, size: int) -> list[int]:
    """Elements of each rank's part; those of numpy.array_split."""
    return [length for _, length in split(count, size)]


def all_reduce_steps(size: int) -> int:
    """Steps of an all-reduce among `size` ranks."""
    return 2 * (size - 1)


@lru_cache(maxsize=256)
def all_reduce(rank: int, size: int, count: int, longest: int) -> Schedule:
    """The schedule of `rank` of `size` for an array of `count` elements, messages of at most `longest`
    elements."""
    ring = Ring(rank, size, regions(even(count, size)), longest, all_reduce_steps(size))
    ring.sum_chunks()
    ring.spread_sums()
    return ring.schedule()


def reduce(rank: int, size: int, count: int, longest: int, root: int = 0) -> Schedule:
    """The sum of all ranks' SOURCE, `count` elements, ends in DATA of `root`, which may be the same memory.

    As the first half of an all-reduce, with its bits; then every rank sends its chunk of the sum to `root`.
    """
    ring = Ring(rank, size, regions(even(count, size), Buffer.SOURCE), longest, size)
    data = regions(even(count, size))
    mine = (rank + 1) % size
    for step in range(size - 1):
        chunk = (rank - step - 1) % size
        ring.turn((rank - step) % size, chunk, into=data[chunk] if (rank, chunk) == (root, mine) else None)
    if rank != root:
        ring.send(mine, root, fan_in=size - 1)
        return ring.schedule()
    for src in range(size):
        if src != root:
            parts = messages(data[(src + 1) % size], longest)
            last = size - 1
            ring.operations += [Recv(src, last, i, part, fan_in=size - 1) for i, part in enumerate(parts)]
    return ring.schedule()


def reduce_scatter(rank: int, size: int, count: int, longest: int) -> Schedule:
    """Chunk r of the sum of SOURCE, `count` elements, ends at rank r, in DATA."""
    return reduce_scatter_v(rank, size, tuple(even(count, size)), longest)


@lru_cache(maxsize=256)
def reduce_scatter_v(rank: int, size: int, counts: tuple[int, ...], longest: int) -> Schedule:
    """The same of chunks of `counts[r]` elements. DATA may be the memory of this rank's chunk of SOURCE.

    Chunk c is summed from rank c + 1 on, with its own rank's share last.
    """
    ring = Ring(rank, size, regions(counts, Buffer.SOURCE), longest, size - 1)
    for step in range(size - 1):
        chunk = (rank - step - 2) % size
        into = Region(Buffer.DATA, 0, counts[rank]) if chunk == rank else None
        ring.turn((rank - step - 1) % size, chunk, into=into)
    return ring.schedule()


def all_gather(rank: int, size: int, count: int, longest: int) -> Schedule:
    """Chunk r of DATA, `count` elements in all, goes from rank r to all others."""
    return all_gather_v(rank, size, tuple(even(count, size)), longest)


@lru_cache(maxsize=256)
def all_gather_v(rank: int, size: int, counts: tuple[int, ...], longest: int) -> Schedule:
    """The same of chunks of `counts[r]` elements."""
    ring = Ring(rank, size, regions(counts), longest, size - 1)
    for step in range(size - 1):
        ring.pass_on((rank - step) % size, (rank - step - 1) % size)
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

"""All-reduce in 2 log2(size) steps: recursive halving, then recursive doubling.

For arrays so small that the ring's 2 (size - 1) steps cost more than their bytes. In halving, step by
step, pairs of ranks at half the distance exchange halves of what they still hold and add them, so that
each rank ends with one chunk of the sum; doubling sends the chunks back the same way. Where size is no
power of two, the first ranks fold in pairs before it and unfold after it. What the lower rank of a pair
holds is the first operand, so every chunk is summed in one order, at one rank, and has the same bits
everywhere. Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations
in MPICH", 2005.

Of an array of up to three packets, halves cost as much as the whole. Such arrays are exchanged whole, over
the same distances, in half the steps; every rank then adds the same operands in the same order, and gets the
same bits as by halves.
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

_WHOLE = 170
"""A message of this part of the longest one, which is 512 packets, is three packets."""


class _Builder:
    """Operations of one rank, step after step; what a step reads was finished by those before it."""

    def __init__(self, longest: int, steps: int) -> None:
        self.operations: list[Operation] = []
        self.steps = steps
        self.scratch = 0
        self._longest = longest
        self._step = 0
        self._done: tuple[int, ...] = ()  # what the next step's sends and additions wait for

    def exchange(
        self,
        peer: int,
        sent: Region | None,
        received: Region | None,
        *,
        reduce: bool,
        ours_first: bool = True,
    ) -> None:
        """One step with one peer; `received` is added to what is there, or takes its place."""
        for index, region in enumerate(messages(sent, self._longest) if sent else ()):
            self.operations.append(Send(peer, self._step, index, region, self._done, fan_in=1))
        finished = []
        for index, local in enumerate(messages(received, self._longest) if received else ()):
            arrived = local
            if reduce:
                arrived = self._room(local.count)
            self.operations.append(Recv(peer, self._step, index, arrived))
            if reduce:
                first, second = (local, arrived) if ours_first else (arrived, local)
                after = (*self._done, len(self.operations) - 1)
                self.operations.append(Reduce(first, second, local, after))
            finished.append(len(self.operations) - 1)
        self._done = tuple(finished) if reduce and finished else (*self._done, *finished)
        self._step += 1

    def exchange_whole(self, place: int, power: int, extra: int, data: Region) -> None:
        """A step for each distance: all of `data`, as summed so far, goes both ways and is added.

        Sums lie in scratch until the last one, since what is sent must stay as it is until it has arrived.
        """
        have = data
        distance = power // 2
        reads_data: tuple[int, ...] = ()
        while distance:
            peer = _rank_of(place ^ distance, extra)
            self.operations.append(Send(peer, self._step, 0, have, self._done, fan_in=1))
            if have is data:
                reads_data = (len(self.operations) - 1,)
            arrived = self._room(data.count)
            self.operations.append(Recv(peer, self._step, 0, arrived))
            after = (*self._done, len(self.operations) - 1)
            into = data if distance == 1 else self._room(data.count)
            first, second = (arrived, have) if place & distance else (have, arrived)
            last = reads_data if into is data else ()
            self.operations.append(Reduce(first, second, into, (*after, *last)))
            self._done = (len(self.operations) - 1,)
            have = into
            self._step += 1
            distance //= 2

    def _room(self, count: int) -> Region:
        room = Region(Buffer.SCRATCH, self.scratch, count)
        self.scratch += count
        return room

    def skip(self) -> None:
        """A step in which this rank has no part."""
        self._step += 1

    def schedule(self) -> Schedule:
        return Schedule(tuple(self.operations), self.scratch, self.steps)


@lru_cache(maxsize=256)
def all_reduce(rank: int, size: int, count: int, longest: int) -> Schedule:
    """The schedule of `rank` of `size` for `count` elements, messages of at most `longest` elements."""
    power = 1 << (size.bit_length() - 1)
    rounds = power.bit_length() - 1
    extra = size - power  # ranks beyond the power of two
    folds = 1 if extra else 0
    whole = count <= longest // _WHOLE
    between = rounds if whole else 2 * rounds
    build = _Builder(longest, between + 2 * folds)
    everything = Region(Buffer.DATA, 0, count)
    if rank < 2 * extra and rank % 2:
        build.exchange(rank - 1, everything, None, reduce=False)
        for _ in range(between):
            build.skip()
        build.exchange(rank - 1, None, everything, reduce=False)
        return build.schedule()
    if rank < 2 * extra:
        build.exchange(rank + 1, None, everything, reduce=True)
    elif folds:
        build.skip()
    place = rank // 2 if rank < 2 * extra else rank - extra
    if whole:
        build.exchange_whole(place, power, extra, everything)
    else:
        _halve_and_double(build, place, power, extra, count)
    if rank < 2 * extra:
        build.exchange(rank + 1, everything, None, reduce=False)
    return build.schedule()


def _halve_and_double(build: _Builder, place: int, power: int, extra: int, count: int) -> None:
    """`place` is this rank's among the `power` that take part."""
    starts = [start for start, _ in split(count, power)] + [count]

    def region(low: int, high: int) -> Region:
        return Region(Buffer.DATA, starts[low], starts[high] - starts[low])

    low, high = 0, power
    kept = []
    distance = power // 2
    while distance:
        middle = (low + high) // 2
        upper = bool(place & distance)
        mine, theirs = ((middle, high), (low, middle)) if upper else ((low, middle), (middle, high))
        build.exchange(
            _rank_of(place ^ distance, extra),
            region(*theirs),
            region(*mine),
            reduce=True,
            ours_first=not upper,
        )
        kept.append((distance, theirs, mine))
        low, high = mine
        distance //= 2
    for distance, theirs, mine in reversed(kept):
        peer = _rank_of(place ^ distance, extra)
        build.exchange(peer, region(*mine), region(*theirs), reduce=False)


def _rank_of(place: int, extra: int) -> int:
    return 2 * place if place < extra else place + extra


def reference_sum(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The result in one process, bit by bit: `arrays[r]` is what rank r contributes, all of one shape.

    Every element is summed in the same order: pairs of ranks that fold, then ranks at half the distance, at a
    quarter of it, and so on; the lower one's share first.
    """
    extra = len(arrays) - (1 << (len(arrays).bit_length() - 1))
    parts: list[npt.NDArray[Any]] = [np.add(arrays[2 * i], arrays[2 * i + 1]) for i in range(extra)]
    parts += [array.copy() for array in arrays[2 * extra :]]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [np.add(parts[i], parts[i + half]) for i in range(half)]
    return parts[0]

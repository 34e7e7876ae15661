"""Shards of a state that no rank has whole, and how they and what they make come from rank to rank.

Such is the state of an optimizer that is split over the ranks. The ranks that hold a shard all make its step,
so that the second copy costs no message; then all ranks are given the values (parameters) that came of it.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from csaud.groups.group import Group
from csaud.recover.placement import Move, Placement

Array = npt.NDArray[Any]


class Shards(Protocol):
    """What is sharded, at one rank; shards are numbered from 0, the same at all ranks.

    Attributes:
        count: how many there are.
        held: those whose state is here; where the job begins, all.
    """

    count: int
    held: set[int]

    def update(self) -> None:
        """Make this step, of all that are held."""

    def values(self, shard: int) -> Sequence[Array]:
        """What the steps of a shard change, in its own memory: of the same sizes at all ranks."""

    def pack(self, shard: int) -> Array:
        """Its state, in bytes."""

    def unpack(self, shard: int, state: Array) -> None:
        """Hold it, in this state."""

    def drop(self, shard: int) -> None:
        """Hold it no more."""


def bits(shards: Shards | None) -> int:
    """Those that are held, a bit each."""
    return sum(1 << shard for shard in shards.held) if shards else 0


def move(shards: Shards, group: Group, placement: Placement) -> None:
    """Make the copies that are missing; all ranks call this. Every rank has its copies when one returns."""
    rank, size = group.rank, group.size
    leaving = [(one.target, _copy(shards, one.shard)) for one in _by_target(placement) if one.source == rank]
    lengths = group.all_gather_v(np.array([state.size for _, state in leaving], np.int64))
    told = [iter(of) for of in lengths]
    came = [(one, int(next(told[one.source]))) for one in _by_target(placement)]
    mine = sorted((pair for pair in came if pair[0].target == rank), key=lambda pair: pair[0].source)
    room = np.empty(sum(length for _, length in mine), np.uint8)
    handle = group.all_to_all_v(
        np.concatenate([np.empty(0, np.uint8), *(state for _, state in leaving)]),
        [sum(state.size for target, state in leaving if target == other) for other in range(size)],
        [sum(length for one, length in mine if one.source == other) for other in range(size)],
        out=room, wait=False,
    )  # fmt: skip
    handle.wait()
    edges = [0, *itertools.accumulate(length for _, length in mine)]
    for (one, _), (start, stop) in zip(mine, itertools.pairwise(edges), strict=True):
        for array in shards.values(one.shard):  # the target may have those from before this step
            array.view(np.uint8)[:] = room[start : start + array.nbytes]
            start += array.nbytes
        shards.unpack(one.shard, room[start:stop])
    group.all_reduce(np.zeros(1, np.int64), wait=False).wait()


def drop_others(shards: Shards, rank: int, placement: Placement) -> None:
    """Hold only what this rank is to hold; after `move`."""
    for shard in [shard for shard in shards.held if rank not in placement.hosts[shard]]:
        shards.drop(shard)


def gather(shards: Shards, group: Group, placement: Placement, watch: Callable[[str], object]) -> None:
    """Give all ranks what came of the steps of all shards; all ranks call this.

    Args:
        watch: called with "spread" when that is under way.
    """
    parts: list[list[Array]] = [[] for _ in range(group.size)]
    for shard, teller in enumerate(placement.tellers):
        parts[teller] += [array.view(np.uint8) for array in shards.values(shard)]
    counts = [sum(array.size for array in own) for own in parts]
    out = np.empty(sum(counts), np.uint8)
    leaving = np.concatenate([out[:0], *parts[group.rank]])
    handle = group.all_gather_v(leaving, counts, out=out, wait=False)
    watch("spread")
    handle.wait()
    starts = [0, *itertools.accumulate(counts)]
    for teller, own in enumerate(parts):
        if teller != group.rank:
            edges = itertools.accumulate((array.size for array in own), initial=starts[teller])
            for array, (start, stop) in zip(own, itertools.pairwise(edges), strict=True):
                array[:] = out[start:stop]


def _copy(shards: Shards, shard: int) -> Array:
    return np.concatenate([*(array.view(np.uint8) for array in shards.values(shard)), shards.pack(shard)])


def _by_target(placement: Placement) -> list[Move]:
    return sorted(placement.moves, key=lambda one: (one.target, one.shard))

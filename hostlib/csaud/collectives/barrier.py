"""Dissemination barrier: in round k every rank tells the one 2^k further on that all it heard of have come.

ceil(log2(size)) rounds instead of the 2 (size - 1) steps of a token on the ring; that it talks to
log2(size) peers costs nothing here, since one queue pair reaches them all. Source: Hensgen, Finkel and
Manber, "Two algorithms for barrier synchronization", 1988.
"""

from functools import lru_cache

from csaud.collectives.schedule import Buffer, Operation, Recv, Region, Schedule, Send

_NOTHING = Region(Buffer.DATA, 0, 0)


@lru_cache(maxsize=256)
def barrier(rank: int, size: int, count: int = 0, longest: int = 1) -> Schedule:
    """The schedule of `rank` of `size`; `count` and `longest` are there for the registry and play no part."""
    del count, longest
    operations: list[Operation] = []
    rounds = (size - 1).bit_length()
    heard: tuple[int, ...] = ()
    for step in range(rounds):
        distance = 1 << step
        operations.append(Send((rank + distance) % size, step, 0, _NOTHING, heard))
        operations.append(Recv((rank - distance) % size, step, 0, _NOTHING))
        heard = (*heard, len(operations) - 1)
    return Schedule(tuple(operations), scratch=0, steps=rounds, barrier=True)

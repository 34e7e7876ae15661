"""Gather: every rank sends what it has to one of them, all at the same time.

Its fan-in, and that of the end of a reduction to one rank, is more than one: to the root comes what size - 1
links bring. Both ends say so, and the senders share what a queue has room for from the first packet on
(docs/protocol.md, incast).
"""

from collections.abc import Sequence

from csaud.collectives.ring import regions
from csaud.collectives.schedule import Buffer, Operation, Recv, Region, Schedule, Send, messages


def gather(rank: int, size: int, count: int, longest: int, root: int = 0) -> Schedule:
    """`count` elements of SOURCE of each rank end in rank order in DATA of `root`; its own are not sent."""
    return gather_v(rank, size, [count] * size, longest, root)


def gather_v(rank: int, size: int, counts: Sequence[int], longest: int, root: int = 0) -> Schedule:
    """The same of `counts[r]` elements of rank r."""
    operations: list[Operation] = []
    if rank == root:
        for src, region in enumerate(regions(counts)):
            if src != root:
                parts = messages(region, longest)
                operations += [Recv(src, 0, i, part, fan_in=size - 1) for i, part in enumerate(parts)]
    else:
        parts = messages(Region(Buffer.SOURCE, 0, counts[rank]), longest)
        operations += [Send(root, 0, i, part, fan_in=size - 1) for i, part in enumerate(parts)]
    return Schedule(tuple(operations), scratch=0, steps=1)

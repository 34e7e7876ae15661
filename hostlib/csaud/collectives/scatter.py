"""Scatter: one rank sends each of the others a part of its array.

The root's link is what limits it, so it sends to all of them in turn, message by message: none waits until
another one has everything.
"""

from collections.abc import Sequence
from itertools import zip_longest

from csaud.collectives.ring import regions
from csaud.collectives.schedule import Buffer, Operation, Recv, Region, Schedule, Send, messages


def scatter_v(rank: int, size: int, counts: Sequence[int], longest: int, root: int = 0) -> Schedule:
    """`counts[r]` elements of SOURCE of `root` for each rank r, in rank order, end in DATA of that rank; its
    own are not sent."""
    if rank != root:
        parts = messages(Region(Buffer.DATA, 0, counts[rank]), longest)
        receives = [Recv(root, 0, i, part, fan_in=1) for i, part in enumerate(parts)]
        return Schedule(tuple(receives), scratch=0, steps=1)
    source = regions(counts, Buffer.SOURCE)
    others = [(root + distance) % size for distance in range(1, size)]
    rounds = zip_longest(*(messages(source[dst], longest) for dst in others))
    operations: list[Operation] = [
        Send(dst, 0, index, part, fan_in=1)
        for index, parts in enumerate(rounds)
        for dst, part in zip(others, parts, strict=True)
        if part is not None
    ]
    return Schedule(tuple(operations), scratch=0, steps=1)

"""Gather: every rank sends what it has to one of them, all at the same time.

The one collective here whose fan-in is more than one: to the root comes what size - 1 links bring. Both ends
say so, and the senders share what a queue has room for from the first packet on (docs/protocol.md, incast).
"""

from csaud.collectives.schedule import Buffer, Operation, Recv, Region, Schedule, Send, messages


def gather(rank: int, size: int, count: int, longest: int, root: int = 0) -> Schedule:
    """`count` elements of SOURCE of each rank end in rank order in DATA of `root`; its own are not sent."""
    operations: list[Operation] = []
    if rank == root:
        for src in range(size):
            if src != root:
                parts = messages(Region(Buffer.DATA, src * count, count), longest)
                operations += [Recv(src, 0, i, part, fan_in=size - 1) for i, part in enumerate(parts)]
    else:
        parts = messages(Region(Buffer.SOURCE, 0, count), longest)
        operations += [Send(root, 0, i, part, fan_in=size - 1) for i, part in enumerate(parts)]
    return Schedule(tuple(operations), scratch=0, steps=1)

"""Broadcast along a binomial tree: in round k the ranks that have the data send it to as many others.

Messages are passed on one by one, so a long array goes down the tree as a pipeline.
"""

from functools import lru_cache

from csaud.collectives.schedule import Buffer, Operation, Recv, Region, Schedule, Send, messages


@lru_cache(maxsize=256)
def broadcast(rank: int, size: int, count: int, longest: int, root: int = 0) -> Schedule:
    """DATA, `count` elements, goes from `root` to all others."""
    rounds = (size - 1).bit_length()
    place = (rank - root) % size
    parts = list(messages(Region(Buffer.DATA, 0, count), longest))
    operations: list[Operation] = []
    have: list[tuple[int, ...]] = [() for _ in parts]
    first = place.bit_length()  # the round in which this rank sends first
    if place:
        source = (place - (1 << (first - 1)) + root) % size
        for index, part in enumerate(parts):
            operations.append(Recv(source, first - 1, index, part))
            have[index] = (len(operations) - 1,)
    for step in range(first, rounds):
        other = place + (1 << step)
        if other >= size:
            break
        for index, part in enumerate(parts):
            operations.append(Send((other + root) % size, step, index, part, have[index], fan_in=1))
    return Schedule(tuple(operations), scratch=0, steps=rounds)

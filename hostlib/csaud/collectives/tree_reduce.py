"""Reduce along a binomial tree: what is summed so far goes to a rank at half the distance, a quarter ...

For arrays so small that the ring's steps cost more than their bytes. Pairs and the order of operands are
those of halving and doubling (csaud.collectives.halving_doubling), so the root gets the bits that an
all-reduce by it gives. Of each pair the one on the root's side goes on.
"""

from functools import lru_cache

from csaud.collectives.schedule import Buffer, Operation, Recv, Reduce, Region, Schedule, Send, messages


@lru_cache(maxsize=256)
def reduce(rank: int, size: int, count: int, longest: int, root: int = 0) -> Schedule:
    """The sum of all ranks' SOURCE, `count` elements, ends in DATA of `root`, perhaps the same memory."""
    power = 1 << (size.bit_length() - 1)
    extra = size - power  # pairs that fold before the tree; ranks 2 i and 2 i + 1
    steps = (1 if extra else 0) + power.bit_length() - 1
    part = _Part(rank == root, steps, count, longest)
    if rank < 2 * extra:
        other = rank ^ 1
        if (root == other) or (root != rank and rank % 2):
            part.send(other)
            return part.schedule()
        part.receive(other, ours_first=rank < other, last=power == 1)
    elif extra:
        part.skip()

    def place_of(one: int) -> int:
        return one // 2 if one < 2 * extra else one - extra

    def rank_at(place: int) -> int:
        if place >= extra:
            return place + extra
        return root if root // 2 == place else 2 * place

    place, goal = place_of(rank), place_of(root)
    distance = power // 2
    while distance:
        other = place ^ distance
        if (place ^ goal) & distance:
            part.send(rank_at(other))
            break
        part.receive(rank_at(other), ours_first=place < other, last=distance == 1)
        distance //= 2
    return part.schedule()


class _Part:
    """One rank's operations, step after step; message by message, as a pipeline."""

    def __init__(self, is_root: bool, steps: int, count: int, longest: int) -> None:
        self._is_root, self._steps = is_root, steps
        self._step = 0
        self._scratch = 0
        self._operations: list[Operation] = []
        self._has = list(messages(Region(Buffer.SOURCE, 0, count), longest))
        self._data = list(messages(Region(Buffer.DATA, 0, count), longest))
        self._after: list[tuple[int, ...]] = [() for _ in self._has]

    def send(self, to: int) -> None:
        """What was summed so far goes to rank `to`; then this rank is done."""
        for index, (region, after) in enumerate(zip(self._has, self._after, strict=True)):
            self._operations.append(Send(to, self._step, index, region, after, fan_in=1))

    def receive(self, of: int, *, ours_first: bool, last: bool) -> None:
        """What rank `of` has summed comes and is added; at the root, and `last`, into DATA."""
        for index, have in enumerate(self._has):
            arrived = Region(Buffer.SCRATCH, self._scratch, have.count)
            self._scratch += have.count
            self._operations.append(Recv(of, self._step, index, arrived))
            after = (*self._after[index], len(self._operations) - 1)
            first, second = (have, arrived) if ours_first else (arrived, have)
            into = self._data[index] if last and self._is_root else arrived
            self._operations.append(Reduce(first, second, into, after))
            self._has[index] = into
            self._after[index] = (len(self._operations) - 1,)
        self._step += 1

    def skip(self) -> None:
        """A step in which this rank has no part."""
        self._step += 1

    def schedule(self) -> Schedule:
        return Schedule(tuple(self._operations), self._scratch, self._steps)

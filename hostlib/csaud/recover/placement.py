"""Which ranks hold a shard: each is at two of them, about as many at each rank; without I/O."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

COPIES = 2


class ShardLost(Exception):
    """No rank that is left holds a shard."""

    def __init__(self, shard: int) -> None:
        super().__init__(shard)
        self.shard = shard


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """A copy of a shard that is to be made."""

    shard: int
    source: int
    target: int


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """Where shards are to be.

    Attributes:
        hosts: the ranks of each shard, COPIES of them where there are so many.
        tellers: of each shard, the one of them that tells the others what came of a step.
        moves: copies that are not there yet; sources hold theirs until all are made.
    """

    hosts: tuple[tuple[int, ...], ...] = ()
    tellers: tuple[int, ...] = ()
    moves: tuple[Move, ...] = ()


NOWHERE = Placement()
"""Of no shards."""


def place(shards: int, held: Sequence[int]) -> Placement:
    """The same at each rank, from what all hold.

    Args:
        held: by rank, the shards that it holds, a bit each.

    Raises:
        ShardLost: one is held by nobody.
    """
    world = len(held)
    copies = min(COPIES, world)
    most = -(-copies * shards // world)
    load, tells = [0] * world, [0] * world
    together: Counter[tuple[int, int]] = Counter()  # what a rank leaves behind goes to many others then
    hosts: list[list[int]] = [[] for _ in range(shards)]

    def add(ranks: list[int], candidates: Iterable[int]) -> None:
        chosen = min(
            candidates, key=lambda rank: (load[rank], *(together[other, rank] for other in ranks), rank)
        )
        for other in ranks:
            together[other, chosen] += 1
            together[chosen, other] += 1
        ranks.append(chosen)
        load[chosen] += 1

    holders = [[rank for rank in range(world) if held[rank] >> shard & 1] for shard in range(shards)]
    for _ in range(copies):  # who holds one keeps it, unless that is more than its part
        for shard, ranks in enumerate(hosts):
            if not holders[shard]:
                raise ShardLost(shard)
            if able := [rank for rank in holders[shard] if load[rank] < most and rank not in ranks]:
                add(ranks, able)
    moves = []
    for shard, ranks in enumerate(hosts):
        source = next(rank for rank in [*ranks, *holders[shard]] if held[rank] >> shard & 1)
        while len(ranks) < copies:
            add(ranks, [rank for rank in range(world) if rank not in ranks])
            if not held[ranks[-1]] >> shard & 1:
                moves.append(Move(shard, source, ranks[-1]))
    tellers = []
    for ranks in hosts:
        tellers.append(min(ranks, key=lambda rank: (tells[rank], rank)))
        tells[tellers[-1]] += 1
    return Placement(tuple(map(tuple, hosts)), tuple(tellers), tuple(moves))

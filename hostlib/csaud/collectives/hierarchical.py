"""All-reduce of several ranks a host: inside the hosts first, so that less leaves them, in fewer steps.

With L ranks on each of H hosts the array is cut into L pieces. Inside a host a ring (csaud.collectives.ring)
sums each piece, after which its rank l has piece l + 1; the ranks that have one piece, one of each host, go
on with a ring of their own, of that piece's H chunks; then inside the hosts the sums come to all.

Of N bytes 2 N (H - 1) / H leave each host, in 2 (H - 1) steps, whatever the ranks' numbers. A ring of all
ranks has 2 (H L - 1) steps between hosts, and about as few bytes only where ranks on one host have numbers in
a row.

The order of summation, and so the bits, follow from who shares a host; they are the same on all ranks.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives import ring
from csaud.collectives.ring import Ring, even, regions
from csaud.collectives.schedule import Buffer, Region, Schedule, split
from csaud.errors import ConfigError

Hosts = tuple[tuple[int, ...], ...]
"""The ranks on each host."""


def is_even(hosts: Hosts) -> bool:
    """Whether each has as many ranks."""
    return len({len(members) for members in hosts}) == 1


@lru_cache(maxsize=256)
def all_reduce(rank: int, size: int, count: int, longest: int, hosts: Hosts = ()) -> Schedule:
    """The schedule of `rank` of `size` for `count` elements, messages of at most `longest` elements.

    Args:
        hosts: all ranks; empty: each on its own.

    Raises:
        ConfigError: some hosts have more ranks than others.
    """
    hosts = hosts or tuple((other,) for other in range(size))
    if not is_even(hosts):
        raise ConfigError(
            "all_reduce: algorithm 'hierarchical' wants as many ranks on each host, and there are "
            f"{', '.join(str(len(members)) for members in hosts)}"
        )
    number, host = next((at, members) for at, members in enumerate(hosts) if rank in members)
    place, local = host.index(rank), len(host)
    steps = 2 * (local - 1) + ring.all_reduce_steps(len(hosts))
    pieces = regions(even(count, local))
    inside = Ring(place, local, pieces, longest, steps, members=host)
    inside.sum_chunks()
    piece = pieces[(place + 1) % local]
    chunks = [Region(Buffer.DATA, piece.start + at, length) for at, length in split(piece.count, len(hosts))]
    column = [members[place] for members in hosts]
    between = Ring(number, len(hosts), chunks, longest, steps, members=column, follows=inside)
    between.sum_chunks()
    between.spread_sums()
    # What comes into a piece is its sum, which has in it what this rank has sent of that piece before.
    inside = Ring(place, local, pieces, longest, steps, members=host, follows=between)
    inside.spread_sums()
    return inside.schedule()


def reference_sum(arrays: Sequence[npt.NDArray[Any]], hosts: Hosts) -> npt.NDArray[Any]:
    """The result in one process, bit by bit: `arrays[r]` is what rank r contributes, all of one shape."""
    sums = [ring.reference_sum([arrays[rank] for rank in members]).reshape(-1) for members in hosts]
    pieces = [
        ring.reference_sum([one[start : start + length] for one in sums])
        for start, length in split(sums[0].size, len(hosts[0]))
    ]
    return np.concatenate(pieces).reshape(arrays[0].shape)

"""Collectives among the ranks of a group: of all ranks, or of some of them."""

import operator
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from csaud.errors import ConfigError
from csaud.groups.custom import Custom
from csaud.groups.direct import Direct
from csaud.groups.exchanging import Exchanging
from csaud.groups.job_state import LAST_NUMBER
from csaud.groups.moving import Moving
from csaud.groups.reducing import Reducing
from csaud.groups.sparse import Sparse


class Group(Reducing, Sparse, Moving, Exchanging, Direct, Custom):
    """Collectives among `size` ranks, which call the same ones in the same order.

    Each collective blocks until it has ended, or with `wait=False` returns a Handle at once. Several may be
    in flight, and calls may come from several threads as long as all ranks start them in one order. With
    `timeout` (seconds) a call has a limit of its own instead of the setting. After a collective failed, all
    further ones raise the same error.

    Arrays are those of numpy, or whatever has `__dlpack__` (such as torch's tensors) or the buffer protocol,
    in this machine's memory and of one of the element types in csaud.collectives.elements; they are not
    copied, unless they are not contiguous in C order. New arrays are numpy's; `out` is the caller's own.

    Attributes:
        rank, size: 0 <= rank < size.
        ranks: the members' ranks in the job.
    """

    def split(self, color: int, key: int = 0) -> Self | None:
        """Divide this group: the ranks that give the same color make a new one, in the order of (key, rank).

        A collective call; a negative color is no group, and gives None.
        """
        color, key = _word("color", color), _word("key", key)
        job = self._job
        with job.naming:
            mine = np.array([color, key, job.next_number], np.int64)
            told = self.all_gather(mine)
            number = _number(int(told[:, 2].max()))
            job.next_number = number + 1
        if color < 0:
            return None
        members = sorted((int(told[r, 1]), r) for r in range(self.size) if told[r, 0] == color)
        places = [rank for _, rank in members]
        return self._group(number, places)

    def new_group(self, ranks: Sequence[int]) -> Self:
        """A group of these ranks of this one, in this order: the first is its rank 0.

        Called by its members alone, with the same list, and by each in the same order as its other calls to
        those. They agree by messages from rank to rank.

        Raises:
            ConfigError: this rank is not among them, one is there twice or there is no such rank.
        """
        try:
            places = [self._checked_rank(rank) for rank in ranks]
        except TypeError:
            raise ConfigError(f"new_group: ranks {ranks!r}: expected a sequence of them") from None
        if len(set(places)) != len(places):
            raise ConfigError(f"new_group: a rank is twice in {places}")
        if self.rank not in places:
            raise ConfigError(f"new_group: rank {self.rank} is not in {places}; only members call it")
        job = self._job
        with job.naming:
            # Each tells the first one the number that it has free, and hears the highest of them.
            number = np.array([job.next_number], np.int64)
            first = places[0]
            if self.rank == first:
                theirs = [np.empty_like(number) for _ in places[1:]]
                for told, rank in zip(theirs, places[1:], strict=True):
                    self.recv(told, rank)
                number = np.max([number, *theirs], axis=0)
                for rank in places[1:]:
                    self.send(number, rank)
            else:
                self.send(number, first)
                self.recv(number, first)
            chosen = _number(int(number[0]))
            job.next_number = chosen + 1
        return self._group(chosen, places)

    def free(self) -> None:
        """This group is of no further use: what is kept for it is given back, and further calls raise
        ConfigError. A call of this rank alone; what runs goes on."""
        if self._number == 0:
            raise ConfigError("the group of all ranks is not freed; close() ends the job")
        self._freed = True
        with self._job.lock:
            self._job.prepared.forget(self._number)

    def _group(self, number: int, places: Sequence[int]) -> Self:
        group = Group(self._job, number, [self.ranks[r] for r in places], places.index(self.rank))
        return group  # type: ignore[return-value]


def _word(name: str, value: Any) -> int:
    """A number that all ranks are told; ConfigError where it is none of 64 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"split: {name} {value!r}: expected an integer") from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ConfigError(f"split: {name} {number}: expected an integer of 64 bits")
    return number


def _number(highest: int) -> int:
    """Of a new communicator: higher than any that a member has in use, and so new to every pair of them."""
    if highest > LAST_NUMBER:
        raise ConfigError(f"more than {LAST_NUMBER} communicators")
    return highest

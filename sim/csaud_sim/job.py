"""A job under virtual time: a program on every rank, over the host library's own collectives."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

from csaud_sim.network import SECOND, Network
from csaud_sim.ranks import VirtualCommunicator
from csaud_sim.strands import Strand, resume_ready

Work = Callable[[VirtualCommunicator], None]


class Stuck(RuntimeError):
    """A job has not ended, or the network did not get quiet, in the time it was given."""


class VirtualJob:
    """The ranks of a network, which run programs one after another. A run is a function of its seeds."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.ranks = [VirtualCommunicator(network, rank) for rank in range(len(network.seats))]
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._asked = 0

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Call `action` when it is `time`, ns, if a program runs then."""
        heapq.heappush(self._due, (time, self._asked, action))
        self._asked += 1

    def run(self, work: Work, limit_ns: int = 60 * SECOND) -> None:
        """Run `work` on every rank to its end; computing takes no time.

        Raises:
            Stuck: it took longer than `limit_ns`.
            CsaudError: a collective failed.
            Exception: whatever `work` raised on some rank.
        """
        deadline = self.network.now + limit_ns
        strands = [Strand(partial(rank.runs, work)) for rank in self.ranks]
        try:
            resume_ready(strands)
            while not all(strand.over for strand in strands):
                self._pass_time(deadline)
                resume_ready(strands)
        finally:
            for strand in strands:
                strand.abandon()

    def settle(self, limit_ns: int = 10 * SECOND) -> None:
        """Let everything end that is under way; raises Stuck where it does not within `limit_ns`."""
        if not self.network.settle(limit_ns):
            raise Stuck(f"the network did not get quiet within {limit_ns / SECOND:g} s")

    def total(self, counter: str) -> int:
        """Sum of one of the endpoints' counters over all ranks."""
        return sum(self.network.stats(rank)[counter] for rank in range(len(self.ranks)))

    def _pass_time(self, deadline: int) -> None:
        if self.network.now >= deadline:
            raise Stuck(f"the job is not done at {self.network.now / SECOND:g} s")
        self.network.run(min(deadline, self._due[0][0]) if self._due else deadline)
        while self._due and self._due[0][0] <= self.network.now:
            heapq.heappop(self._due)[2]()

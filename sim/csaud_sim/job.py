"""A job under virtual time: ranks on a fabric of P4 switches, running collectives by their schedules.

Endpoints, switches, P4 program and schedules are the real ones; only sockets, threads and clocks are left
out. A run is a function of its seeds.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy.typing as npt
from csaud._core import EndpointConfig
from csaud.collectives.executor import Collective, Execution, Prepared
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.registry import build
from csaud.collectives.timing import StepTimes
from csaud_softswitch._core import Fabric

from csaud_sim._core import Simulation

Array = npt.NDArray[Any]
SECOND = 1_000_000_000  # ns
QKEY = 0x1234567
FIRST_QPN = 0x100
PACKETS_PER_MESSAGE = 512


class Stuck(RuntimeError):
    """A collective has not ended in the time it was given."""


class Failed(RuntimeError):
    """A transfer ended badly; `status` as the endpoint says it, `rank` the one that it blames."""

    def __init__(self, at: int, status: str, rank: int) -> None:
        super().__init__(f"rank {at}: {status}, rank {rank}")
        self.at, self.status, self.rank = at, status, rank


@dataclass(frozen=True)
class Attachment:
    """Where a rank sits: its address, and the memory port of its leaf."""

    ip: str
    switch: str
    port: int


class Job:
    """Ranks on a fabric whose edges are memory ports.

    Args:
        fabric: programmed switches, not started.
        places: where each rank sits, in rank order.
        nic_rate_bps: rate of every host's NIC, 0 for no limit.
        settings: attributes of `EndpointConfig` other than its defaults.
    """

    def __init__(
        self, fabric: Fabric, places: Sequence[Attachment], nic_rate_bps: int = 0, **settings: Any
    ) -> None:
        self.network = Simulation(fabric)
        self.size = len(places)
        self._next_collective = 0
        self._prepared = [Prepared() for _ in places]
        addresses = [int(ipaddress.IPv4Address(place.ip)) for place in places]
        for rank, place in enumerate(places):
            config = EndpointConfig()
            config.rank, config.world, config.qkey = rank, self.size, QKEY
            config.local_ipv4, config.local_qpn = addresses[rank], FIRST_QPN + rank
            for name, value in settings.items():
                setattr(config, name, value)
            self.network.add_host(config, place.switch, place.port, nic_rate_bps=nic_rate_bps)
            self._longest_bytes = (config.path_mtu - 32) * PACKETS_PER_MESSAGE
        self.network.connect()

    def all_reduce(self, arrays: Sequence[Array], limit_ns: int = 60 * SECOND) -> None:
        """Sum the ranks' arrays (one-dimensional, of one size and dtype) in place by the ring.

        Raises:
            Stuck: it took longer than `limit_ns`.
            Failed: an endpoint gave up.
        """
        key = arrays[0].size, arrays[0].dtype
        runs = []
        for rank, array in enumerate(arrays):
            collective = self._prepared[rank].of(key, partial(self._collective, rank, array))
            runs.append(Execution(collective, self._next_collective, array))
        self._next_collective += 1
        for rank, run in enumerate(runs):
            self.network.start(rank, run.native)
        deadline = self.network.now + limit_ns
        self.network.run(deadline)
        for rank, run in enumerate(runs):
            if (failure := run.native.failure) is not None:
                raise Failed(rank, failure.status.name, failure.rank)
        if late := [rank for rank, run in enumerate(runs) if not run.ended]:
            raise Stuck(f"after {self.network.now} ns: ranks {late}")
        for run in runs:
            run.settle()

    def _collective(self, rank: int, array: Array, times: StepTimes) -> Collective:
        longest = self._longest_bytes // array.itemsize
        schedule = build("all_reduce.ring", rank, self.size, array.size, longest)
        return Collective(schedule, array.dtype, REDUCTIONS["sum"], ranks=range(self.size), times=times)

    def settle(self, limit_ns: int = 10 * SECOND) -> None:
        """Let everything end that is under way; raises Stuck where it does not within `limit_ns`."""
        deadline = self.network.now + limit_ns
        while not self.network.quiet:
            if self.network.now >= deadline:
                raise Stuck("the network does not become quiet")
            self.network.advance(min(deadline, self.network.now + SECOND // 100))

    def total(self, counter: str) -> int:
        """Sum of one of the endpoints' counters over all ranks."""
        return sum(self.network.stats(rank)[counter] for rank in range(self.size))

"""A job under virtual time: ranks on a fabric of P4 switches, running collectives by their schedules.

Endpoints, switches, P4 program and schedules are the real ones; only sockets, threads and clocks are left
out. A run is a function of its seeds.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from csaud._core import EndpointConfig
from csaud.collectives.executor import Execution, Name, name_of
from csaud.collectives.registry import build
from csaud.collectives.schedule import Recv, Send
from csaud.collectives.timing import Expected, Timings
from csaud.transport import hints_of
from csaud_softswitch._core import Fabric

from csaud_sim._core import VirtualFabric

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


class _Rank:
    """One rank as the executor sees it; waiting is the job's."""

    def __init__(self, network: VirtualFabric, rank: int) -> None:
        self._network = network
        self._rank = rank

    def post(
        self, op: Send | Recv, name: Name, buffer: Array, offset: int, length: int, expected: Expected
    ) -> int:
        is_send, peer = (True, op.dst) if isinstance(op, Send) else (False, op.src)
        hints = hints_of(op, name, expected)
        return self._network.post(
            is_send, self._rank, peer, name.comm, name.coll_seq, op.step, op.chunk,
            buffer, offset, length, hints,
        )  # fmt: skip

    def now(self) -> int:
        return self._network.now

    def pending(self) -> dict[int, tuple[int, int]]:
        return {}

    def wait(self, timeout: float) -> list[int]:
        raise NotImplementedError("under virtual time nobody waits; Job.run goes on instead")


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
        self.network = VirtualFabric(fabric)
        self.size = len(places)
        self._next_collective = 0
        self._timings = [Timings() for _ in places]
        addresses = [int(ipaddress.IPv4Address(place.ip)) for place in places]
        for rank, place in enumerate(places):
            config = EndpointConfig()
            config.rank, config.world, config.qkey = rank, self.size, QKEY
            config.local_ipv4, config.local_qpn = addresses[rank], FIRST_QPN + rank
            for name, value in settings.items():
                setattr(config, name, value)
            self.network.add_rank(config, place.switch, place.port, nic_rate_bps)
            self._longest_bytes = (config.path_mtu - 32) * PACKETS_PER_MESSAGE
        for rank in range(self.size):
            for peer, address in enumerate(addresses):
                if peer != rank:
                    self.network.set_peer(rank, peer, address, FIRST_QPN + peer)

    def all_reduce(self, arrays: Sequence[Array], limit_ns: int = 60 * SECOND) -> None:
        """Sum the ranks' arrays (one-dimensional, of one size and dtype) in place by the ring.

        Raises:
            Stuck: it took longer than `limit_ns`.
            Failed: an endpoint gave up.
        """
        longest = self._longest_bytes // arrays[0].itemsize
        runs = []
        for rank, array in enumerate(arrays):
            schedule = build("all_reduce.ring", rank, self.size, array.size, longest)
            name = name_of(0, self._next_collective, schedule)
            times = self._timings[rank].of((array.size, array.itemsize))
            runs.append(Execution(schedule, _Rank(self.network, rank), name, array, np.add, times))
        self._next_collective += 1
        for run in runs:
            run.start()
        deadline = self.network.now + limit_ns
        while not all(run.done for run in runs):
            completions = self.network.run(deadline)
            if not completions:
                raise Stuck(
                    f"after {self.network.now} ns: ranks {[r for r, x in enumerate(runs) if not x.done]}"
                )
            for rank, transfer, status, other, _, _ in completions:
                if status != "ok":
                    raise Failed(rank, status, other)
                runs[rank].finish(transfer)

    def settle(self, limit_ns: int = 10 * SECOND) -> None:
        """Let everything end that is under way; raises Stuck where it does not within `limit_ns`."""
        deadline = self.network.now + limit_ns
        while not self.network.quiet:
            if self.network.now >= deadline:
                raise Stuck("the network does not become quiet")
            self.network.run(min(deadline, self.network.now + SECOND // 100))

    def total(self, counter: str) -> int:
        """Sum of one of the endpoints' counters over all ranks."""
        return sum(self.network.stats(rank)[counter] for rank in range(self.size))

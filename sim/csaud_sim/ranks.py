"""A rank's program as it is on a host, in virtual time: the host library's own groups and schedules over
simulated endpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from csaud import _core
from csaud.errors import Aborted, CsaudError, PeerUnreachable, ProtocolError
from csaud.groups.group import Group
from csaud.groups.job_state import JobState

from csaud_sim.network import SECOND, Network
from csaud_sim.strands import Strand


class VirtualTransport:
    """What runs a rank's collectives (`csaud.collectives.executor.Runner`), in virtual time."""

    def __init__(self, network: Network, rank: int) -> None:
        self._network, self._rank = network, rank
        self.strand: Strand | None = None
        """The program that runs on this rank at present."""
        self.last_took = 0.0
        """Seconds from the start of the latest collective that was waited for to its end."""

    def start(self, execution: _core.Execution) -> None:
        """Post what waits for nothing."""
        self._network.start(self._rank, execution)

    def run(self, execution: _core.Execution, timeout: float) -> bool:
        """`start` and `wait` in one."""
        began = self._network.now
        self.start(execution)
        over = self.wait(execution, timeout)
        self.last_took = (self._network.now - began) / SECOND
        return over

    def wait(self, execution: _core.Execution, timeout: float) -> bool:
        """Wait for its end, however long that takes: the simulation has a limit of its own."""
        assert self.strand is not None  # who calls this is one
        self.strand.until(lambda: execution.ended or execution.failure is not None)
        if (failed := execution.failure) is not None:
            raise _error_of(failed)
        return True

    def wait_any(self, executions: Sequence[_core.Execution], timeout: float) -> bool:
        """As `wait`, for the end of one of them."""
        assert self.strand is not None
        self.strand.until(lambda: any(one.ended or one.failure is not None for one in executions))
        for execution in executions:
            if (failed := execution.failure) is not None:
                raise _error_of(failed)
        return True

    def pin(self, memory: npt.NDArray[np.uint8]) -> object:
        """There is no device to register it with."""
        return None

    def awaited(self, execution: _core.Execution) -> list[tuple[int, int]]:
        """Not told here."""
        return []

    def pending(self) -> dict[int, tuple[int, int]]:
        """Not told here."""
        return {}


class VirtualCommunicator(Group):
    """The group of all ranks; what workloads use of `csaud.Communicator`."""

    def __init__(self, network: Network, rank: int) -> None:
        self._network = network
        self.transport = VirtualTransport(network, rank)
        job = JobState(
            self.transport,
            network.max_message_bytes,
            None,
            network.seats[rank].settings.all_reduce,
            self._give_up,
            self._check,
        )
        super().__init__(job, 0, range(len(network.seats)), rank)
        self._ended: CsaudError | None = None

    def runs(self, work: Callable[[VirtualCommunicator], None], strand: Strand) -> None:
        """Run a program as `strand`."""
        self.transport.strand = strand
        work(self)

    def stats(self) -> dict[str, Any]:
        """This rank's packet counters by name."""
        return self._network.stats(self.rank)

    def flow_times(self) -> list[float]:
        """Seconds that each received message took."""
        return self._network.flow_times(self.rank)

    def quiesce(self) -> None:
        """Nothing to do: whoever runs the job lets everything end."""

    def close(self) -> None:
        """Nothing to do."""

    def _give_up(self, error: CsaudError) -> None:
        self._ended = error

    def _check(self) -> None:
        if self._ended is not None:
            raise self._ended


def _error_of(completion: _core.Completion) -> CsaudError:
    rank = completion.rank
    match completion.status:
        case _core.Status.peer_unreachable:
            return PeerUnreachable(rank, None)
        case _core.Status.aborted:
            return Aborted(f"rank {rank} gave up", rank)
        case _:
            return ProtocolError(f"rank {rank} sent what contradicts the collective")

"""What hosts of a simulated network are given to do, whatever their transport is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from csaud._core import Collective, Execution

from csaud_sim._core import length_only, without_reduction

if TYPE_CHECKING:
    from csaud_sim._core import _Work
    from csaud_sim.told import FlowColumns


Agenda = Iterable[tuple[int, Callable[[], Any]]]
"""Times, ascending, and what is done then."""


class WorkNetwork:
    """Hosts by number, ranks where they are a job, under one virtual clock in nanoseconds.

    Args:
        native: the simulation that has them.
    """

    def __init__(self, native: _Work) -> None:
        self._work = native

    @property
    def now(self) -> int:
        """Virtual time."""
        return self._work.now

    @property
    def hops(self) -> int:
        """Packets that switches received."""
        return self._work.hops

    def start(self, rank: int, execution: Execution, at: int | None = None) -> None:
        """Start a collective of a rank, now or at a time."""
        self._work.start(rank, execution, at)

    def follow(self, rank: int, execution: Execution, delay_ns: int) -> None:
        """The same, so long after all that the rank was given before are over."""
        self._work.follow(rank, execution, delay_ns)

    @staticmethod
    def length_only(nbytes: int) -> npt.NDArray[np.uint8]:
        """A buffer for a network without payloads."""
        return length_only(nbytes)

    @staticmethod
    def without_reduction(collective: Collective) -> Collective:
        """The same collective for such buffers: it computes nothing."""
        return without_reduction(collective)

    def add_flows(
        self,
        src: npt.NDArray[np.uint16],
        dst: npt.NDArray[np.uint16],
        nbytes: npt.NDArray[np.uint64],
        start_ns: npt.NDArray[np.int64],
        receive_delay_ns: int = 0,
    ) -> None:
        """Flows between hosts, one element each, which their receivers expect so long after they start."""
        self._work.add_flows(src, dst, nbytes, start_ns, receive_delay_ns=receive_delay_ns)

    def run_all(self, until: int, agenda: Agenda = ()) -> None:
        """Let time pass until all flows and collectives are over, or until `until`, and let everything of
        `agenda` happen at its time. A flow or collective that fails ends no other."""
        for time, happen in agenda:
            self._run(min(time, until))
            if not self._work.open or time > until:
                return
            happen()
        self._run(until)

    def _run(self, until: int) -> None:
        while self._work.open and self.now < until:
            self._work.run(until)

    def flows(self) -> FlowColumns:
        """What became of them, in the order in which they were added."""
        return self._work.flows()

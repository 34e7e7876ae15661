"""One run of a collective: what the native executor is given, and what happens at its end.

The executor itself (native/collectives) knows no algorithm and runs no Python: it posts all receives first,
then each operation as soon as what it waits for is done.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from csaud import _core
from csaud.collectives.plan import compiled
from csaud.collectives.reductions import Reduction
from csaud.collectives.schedule import Recv, Reduce, Schedule, Send
from csaud.collectives.scratch import Scratch
from csaud.collectives.timing import StepTimes
from csaud.flight.record import Record

Array = npt.NDArray[Any]

_NEW_DATA = 4  # criticality classes of the protocol
URGENT = 1
"""Class of messages that much else waits for."""
_CONTROL = 0
_NUMBERS = 1 << 32  # of collectives; then they begin again
_REMEMBERED = 256  # collectives
DIRECT = _core.DIRECT
"""Bit of a communicator's number: messages from rank to rank, counted by pair."""


class Runner(Protocol):
    """What runs executions; `csaud.groups.transport.Transport` is the real one."""

    def start(self, execution: _core.Execution) -> None:
        """Post what waits for nothing; goes on by itself."""

    def run(self, execution: _core.Execution, timeout: float) -> bool:
        """`start` and `wait` in one."""

    def wait(self, execution: _core.Execution, timeout: float) -> bool:
        """Wait for its end; False when it has not ended within `timeout` seconds.

        Raises:
            CsaudError: a transfer failed, of this one or of another; all are over then.
        """

    def wait_any(self, executions: Sequence[_core.Execution], timeout: float) -> bool:
        """Wait for the end of one of them; as `wait`."""

    def pin(self, memory: npt.NDArray[np.uint8]) -> object:
        """Register memory with the device for as long as somebody holds the result."""

    def awaited(self, execution: _core.Execution) -> Sequence[tuple[int, int]]:
        """Ids of the transfers that it has posted and that are not over, and the indices of their
        operations."""

    def pending(self) -> dict[int, tuple[int, int]]:
        """Of each transfer that is not over, by its id: packets of it that have arrived, and all."""


class ElementType(Protocol):
    """What a collective knows of its elements; an `Element` or a dtype of numpy's."""

    @property
    def name(self) -> str:
        """As in csaud.collectives.elements."""

    @property
    def itemsize(self) -> int:
        """Bytes."""


class Collective:
    """What the runs of one collective have in common; made once for many of them.

    Args:
        element: type of the elements.
        reduce: None where the schedule has no Reduce.
        ranks: of the group's members in the job.
        comm: communicator.
        marks: added to each message's step and chunk (csaud.collectives.signature).
        times: what earlier runs took; learns from each run.
        cls: criticality class of its messages; None: what its schedule asks for.
    """

    def __init__(
        self,
        schedule: Schedule,
        element: ElementType,
        reduce: Reduction | None = None,
        *,
        ranks: Sequence[int],
        comm: int = 0,
        marks: tuple[int, int] = (0, 0),
        times: StepTimes | None = None,
        cls: int | None = None,
    ) -> None:
        self.schedule = schedule
        self.itemsize = element.itemsize
        self.times = times if times is not None else StepTimes()
        usual = _CONTROL if schedule.barrier else _NEW_DATA
        self.native = _core.Collective(
            compiled(schedule), element.itemsize, list(ranks), comm, *marks,
            usual if cls is None else cls, schedule.barrier,
            reduce.native if reduce else "", element.name if reduce else "", self.times,
        )  # fmt: skip


class Prepared:
    """Collectives by what names them, with what their runs took; those not used for long are forgotten."""

    def __init__(self) -> None:
        self._of: OrderedDict[tuple[Hashable, ...], Collective] = OrderedDict()

    def of(
        self, key: tuple[Hashable, ...], make: Callable[[StepTimes], Collective], *, fixed: bool = True
    ) -> Collective:
        """The collective that `key` names, made where it is not there; each time where it is not `fixed`,
        that is, where the same name has schedules of other sizes."""
        found = self._of.get(key)
        if found is not None and fixed:
            self._of.move_to_end(key)
            return found
        found = self._of[key] = make(found.times if found else StepTimes())
        self._of.move_to_end(key)
        if len(self._of) > _REMEMBERED:
            self._of.popitem(last=False)
        return found

    def forget(self, comm: int) -> None:
        """Those of communicator `comm`, with which their keys begin, are of no further use."""
        for key in [key for key in self._of if key[0] == comm or key[0] == comm | DIRECT]:
            del self._of[key]


class Execution:
    """One run of a collective.

    Args:
        number: of the collective in its communicator; wraps around at 2^32.
        data: the user's array, one-dimensional, contiguous and (where the schedule writes) writable.
        source: the array of Buffer.SOURCE, one-dimensional and contiguous.
        epilogues: called once, in this order, by whoever first finds that all operations have ended.
        record: the flight recorder's of it.
        scratch: gives Buffer.SCRATCH and gets it back; None: it is allocated.
        ended: is told of the record at the end.
    """

    def __init__(
        self,
        collective: Collective,
        number: int,
        data: Array,
        *,
        source: Array | None = None,
        epilogues: Sequence[Callable[[], object]] = (),
        record: Record | None = None,
        scratch: Scratch | None = None,
        ended: Callable[[Record], None] | None = None,
    ) -> None:
        self.record = record
        self._tell = ended
        self._collective = collective
        self._epilogues = epilogues
        self._scratch = scratch or Scratch()
        nbytes = collective.schedule.scratch * collective.itemsize
        self._block = self._scratch.take(nbytes) if nbytes else None
        # Bytes, since not every element type has a buffer of its own (bfloat16).
        self.native = _core.Execution(
            collective.native, number % _NUMBERS, data.view(np.uint8),
            None if source is None else source.view(np.uint8),
            None if self._block is None else self._block.memory,
        )  # fmt: skip

    @property
    def ended(self) -> bool:
        """Every operation has ended; `settle` may not have been called."""
        return self.native.ended

    def settle(self) -> None:
        """After its end, once and not by two threads at a time: what is left to do in Python."""
        self.native.release()
        if self.record is not None:
            self.record.ended = self.native.ended_ns
            if self._tell is not None:
                self._tell(self.record)
        if self._block is not None:
            self._scratch.give_back(self._block)
            self._block = None
        epilogues, self._epilogues = self._epilogues, ()
        for epilogue in epilogues:
            epilogue()

    def message(self, index: int) -> tuple[Send | Recv, int]:
        """Operation `index`, a message, and its bytes."""
        op = self._collective.schedule.operations[index]
        assert not isinstance(op, Reduce)
        return op, op.region.count * self._collective.itemsize

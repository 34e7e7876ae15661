"""Runs schedules over a transport: all receives first, then each operation as soon as what it waits for is
done.

The executor knows no algorithm. Reductions run in the calling thread with numpy, in the operand order that
the schedule gives, so a result depends on the schedule alone and not on which message came first.
"""

import dataclasses
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from csaud.collectives.schedule import Buffer, Recv, Reduce, Region, Schedule, Send
from csaud.collectives.scratch import Scratch
from csaud.collectives.timing import Expected, StepTimes
from csaud.flight import Record

Array = npt.NDArray[Any]
ReduceFunction = Callable[..., Any]  # numpy ufunc: f(first, second, out=...)

_NEW_DATA = 4  # criticality classes of the protocol
_CONTROL = 0
_LONG_WAIT = 3600.0  # s; a wait without a limit looks up now and then


class Transport(Protocol):
    """What the executor needs of a transport; `csaud.transport.Transport` is the real one."""

    def post(
        self, op: Send | Recv, name: "Name", buffer: Array, offset: int, length: int, expected: Expected
    ) -> int:
        """Send bytes [offset, offset + length) of `buffer`, or receive into them; returns an id."""

    def now(self) -> int:
        """The clock of `Expected`, ns."""

    def pending(self) -> dict[int, tuple[int, int]]:
        """Of each transfer that is not over, by its id: packets of it that have arrived, and all."""

    def wait(self, timeout: float) -> list[int]:
        """Ids of the transfers that ended well, waiting up to `timeout` seconds for the first.

        Raises:
            CsaudError: a transfer failed; all are over then.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """What distinguishes one collective's messages from another's.

    Attributes:
        comm: communicator.
        coll_seq: running number of the collective in it.
        cls: criticality class, 0 (control, barrier) to 4 (new data).
        barrier: the messages carry the BARRIER flag.
        step_mark, chunk_mark: added to each message's step and chunk (csaud.collectives.call).
    """

    comm: int
    coll_seq: int
    cls: int
    barrier: bool
    step_mark: int = 0
    chunk_mark: int = 0


def name_of(comm: int, number: int, schedule: Schedule, marks: tuple[int, int] = (0, 0)) -> Name:
    """The name under which `schedule` runs as collective `number`, which wraps around at 2^32."""
    cls = _CONTROL if schedule.barrier else _NEW_DATA
    return Name(comm, number % (1 << 32), cls, schedule.barrier, *marks)


class Execution:
    """One run of a schedule.

    Args:
        data: the user's array, one-dimensional, contiguous and (where the schedule writes) writable.
        reduce: f(first, second, out=into), None where the schedule has no Reduce.
        times: what earlier runs of the schedule took; learns from this one.
        source: the array of Buffer.SOURCE, one-dimensional and contiguous.
        epilogue: called once, when all operations have ended.
        record: the flight recorder's of it.
        scratch: gives Buffer.SCRATCH and gets it back; None: it is allocated.
    """

    def __init__(
        self,
        schedule: Schedule,
        transport: Transport,
        name: Name,
        data: Array,
        reduce: ReduceFunction | None,
        times: StepTimes | None = None,
        *,
        source: Array | None = None,
        epilogue: Callable[[], object] | None = None,
        record: Record | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        self.record = record
        self._operations = schedule.operations
        self._transport = transport
        self._name = name
        self._reduce = reduce
        self._scratch = scratch
        self._block = scratch.take(schedule.scratch * data.itemsize) if scratch and schedule.scratch else None
        room = np.empty(schedule.scratch, data.dtype) if self._block is None else self._block
        self._buffers = {Buffer.DATA: data, Buffer.SCRATCH: _of_type(room, schedule.scratch, data)}
        if source is not None:
            self._buffers[Buffer.SOURCE] = source
        # Bytes, since not every element type has a buffer of its own (bfloat16).
        self._bytes = {name: buffer.view(np.uint8) for name, buffer in self._buffers.items()}
        if self._block is not None:
            self._bytes[Buffer.SCRATCH] = self._block  # whole, as the device may have it registered
        self._epilogue = epilogue
        self._itemsize = data.itemsize
        self._waiting = [0 if isinstance(op, Recv) else len(op.after) for op in self._operations]
        self._followers: list[list[int]] = [[] for _ in self._operations]
        for index, op in enumerate(self._operations):
            for earlier in () if isinstance(op, Recv) else op.after:
                self._followers[earlier].append(index)
        self._unfinished = len(self._operations)
        self._transfers: dict[int, int] = {}  # transfer id -> index of its operation
        self._times = times if times is not None else StepTimes()
        self._began = 0
        self._ended = [0] * schedule.steps  # when the last receive of each step did

    def run(self, timeout: float | None) -> bool:
        """Run to the end; False when it has not ended within `timeout` seconds (None: no limit).

        Raises:
            CsaudError: from the transport.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        self.start()
        while self._unfinished:
            left = _LONG_WAIT if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            for transfer in self._transport.wait(left):
                self.finish(transfer)
        return True

    @property
    def done(self) -> bool:
        """Every operation has ended."""
        return not self._unfinished

    def start(self) -> None:
        """Post what waits for nothing: all receives first, so that what comes is expected then and needs no
        room in the pool of early arrivals."""
        self._began = self._transport.now()
        receives = [i for i, op in enumerate(self._operations) if isinstance(op, Recv)]
        others = [i for i, op in enumerate(self._operations) if not isinstance(op, Recv)]
        self._launch_all(deque(receives))
        self._launch_all(deque(i for i in others if self._waiting[i] == 0))
        if not self._operations:
            self._end()

    def finish(self, transfer: int) -> bool:
        """A transfer ended well: go on with what waited for it; False where it is none of ours.

        One of an earlier collective that was given up may still end; it is none of ours.
        """
        if (index := self._transfers.pop(transfer, None)) is None:
            return False
        if isinstance(op := self._operations[index], Recv):
            self._ended[op.step] = self._transport.now()
        self._launch_all(self._finish(index))
        if not self._unfinished:
            self._times.learn(self._began, self._ended)
            self._end()
        return True

    def awaited(self) -> list[tuple[int, Send | Recv, int]]:
        """What is posted and not over: id, operation, bytes."""
        found = []
        for transfer, index in self._transfers.items():
            op = self._operations[index]
            assert not isinstance(op, Reduce)
            found.append((transfer, op, op.region.count * self._itemsize))
        return found

    def _end(self) -> None:
        if self._epilogue is not None:
            self._epilogue()
            self._epilogue = None
        if self.record is not None:
            self.record.ended = time.monotonic_ns()
        # A handle may be kept for long; the memory is for others now.
        self._buffers, self._bytes = {}, {}
        if self._scratch is not None and self._block is not None:
            self._scratch.give_back(self._block)
            self._block = None

    def _launch_all(self, ready: deque[int]) -> None:
        while ready:
            index = ready.popleft()
            match self._operations[index]:
                case Send() | Recv() as op:
                    self._transfers[self._post(op)] = index
                case Reduce() as op:
                    self._combine(op)
                    ready.extend(self._finish(index))

    def _finish(self, index: int) -> deque[int]:
        """`index` is done; the operations that waited for nothing else, in schedule order."""
        self._unfinished -= 1
        ready: deque[int] = deque()
        for follower in self._followers[index]:
            self._waiting[follower] -= 1
            if self._waiting[follower] == 0:
                ready.append(follower)
        return ready

    def _post(self, op: Send | Recv) -> int:
        region = op.region
        offset, length = region.start * self._itemsize, region.count * self._itemsize
        expected = self._times.expect(self._began, op.step)
        return self._transport.post(op, self._name, self._bytes[region.buffer], offset, length, expected)

    def _combine(self, op: Reduce) -> None:
        if self._reduce is None:
            raise ValueError("the schedule reduces, but no reduction was given")
        self._reduce(self._view(op.first), self._view(op.second), out=self._view(op.into))

    def _view(self, region: Region) -> Array:
        view: Array = self._buffers[region.buffer][region.start : region.start + region.count]
        return view


def _of_type(room: Array, count: int, like: Array) -> Array:
    """`count` elements of the type of `like`, at the begin of `room`."""
    return room.view(np.uint8)[: count * like.itemsize].view(like.dtype)

"""How a call becomes an execution: numbers, records, what is done at its end."""

import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from csaud import _core
from csaud.collectives import registry
from csaud.collectives.executor import DIRECT, Collective, ElementType, Execution
from csaud.collectives.hierarchical import Hosts, is_even
from csaud.collectives.reductions import Reduction
from csaud.collectives.schedule import Schedule
from csaud.collectives.signature import marks
from csaud.collectives.timing import StepTimes
from csaud.errors import Aborted, ConfigError, CsaudError
from csaud.flight.record import Call, Record
from csaud.flight.totals import Totals
from csaud.groups.handle import Handle
from csaud.groups.job_state import JobState
from csaud.groups.operands import Operand

Array = npt.NDArray[Any]
Build = Callable[[], Schedule]
Epilogue = Callable[[], object]

BYTE = np.dtype(np.uint8)
NOTHING = np.empty(0, BYTE)


class Wanted(NamedTuple):
    """How a caller wants a collective.

    Attributes:
        wait: until it has ended.
        timeout: seconds that it may take; 0: no limit, None: setting `timeout`.
    """

    wait: bool
    timeout: float | None


class _Underway:
    """A call, from when the other ranks can count on it until its caller has what it asked for: what
    interrupts it there (Ctrl-C, no memory) ends the job, as they must not hang in the middle of the same
    collective.

    Attributes:
        record: of the call; None: nothing has begun.
    """

    __slots__ = ("_job", "record")

    def __init__(self, job: JobState) -> None:
        self._job = job
        self.record: Record | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.record is not None and not isinstance(error, CsaudError):
            self._job.give_up(Aborted(f"{self.record} was left by {type(error).__name__}"))


class Calls:
    """What the collectives of a group have in common.

    Attributes:
        rank, size: 0 <= rank < size.
        ranks: the members' ranks in the job.
    """

    def __init__(self, job: JobState, number: int, ranks: Sequence[int], rank: int) -> None:
        self.rank = rank
        self.size = len(ranks)
        self.ranks = tuple(ranks)
        self._job = job
        self._number = number
        self._collectives = 0
        self._sent: defaultdict[int, int] = defaultdict(int)  # messages by rank
        self._received: defaultdict[int, int] = defaultdict(int)
        self._freed = False

    def _run(
        self,
        call: Call,
        build: Build,
        element: ElementType,
        data: Array,
        result: Any,
        wanted: Wanted,
        *,
        fresh: bool = False,
        reduce: Reduction | None = None,
        source: Array | None = None,
        epilogues: Sequence[Epilogue] = (),
        fixed: bool = True,
        key: Hashable = None,
        agreed: str = "",
        cls: int | None = None,
    ) -> Any:
        """One collective.

        Args:
            fresh: the result is not the caller's array, so a Handle comes with it.
            epilogues: called in this order when it has ended.
            fixed: `call` and `key` say all of which the schedule depends.
            agreed: what else must be the same on all ranks and is another thing each time, in words; then not
                `fixed`.
            cls: criticality of its messages; None: as usual.
        """
        job = self._job
        limit = job.limit(wanted.timeout)
        named = call._replace(detail=agreed) if agreed else call
        with _Underway(job) as underway:
            with job.lock:
                self._check_usable()

                def make(times: StepTimes) -> Collective:
                    return self._make(named, build, element, self._number, reduce, times, cls)

                collective = job.prepared.of((self._number, call, key), make, fixed=fixed)
                number = self._collectives
                # Where nothing comes to this rank, as in a reduce, its array is what it gives.
                nbytes = data.nbytes if source is None else data.nbytes or source.nbytes
                record = Record(self._number, number, named, nbytes, self.ranks, limit=limit)
                execution = self._execution(underway, record, collective, number, data, source, epilogues)
                self._collectives += 1
                if not wanted.wait:
                    job.engine.start(execution)
            return self._outcome(execution, result, wanted.wait, fresh, limit)

    def _run_direct(
        self, call: Call, build: Build, element: ElementType, peer: int, count: dict[int, int], data: Array,
        result: Any, wanted: Wanted, source: Array | None = None, epilogues: Sequence[Epilogue] = (),
    ) -> Any:  # fmt: skip
        """One transfer from rank to rank."""
        peer = self._checked_rank(peer)
        if peer == self.rank:
            raise ConfigError("a rank does not send to itself")
        job = self._job
        limit = job.limit(wanted.timeout)
        sends = source is not None
        nbytes = data.nbytes if source is None else source.nbytes
        comm = self._number | DIRECT
        with _Underway(job) as underway:
            with job.lock:
                self._check_usable()

                def make(times: StepTimes) -> Collective:
                    return self._make(call, build, element, comm, None, times)

                collective = job.prepared.of((comm, call, peer, sends), make)
                number = count[peer]
                record = Record(
                    self._number, number, call, nbytes, self.ranks, self.ranks[peer], sends, limit=limit
                )
                execution = self._execution(underway, record, collective, number, data, source, epilogues)
                count[peer] += 1
                if not wanted.wait:
                    job.engine.start(execution)
            return self._outcome(execution, result, wanted.wait, False, limit)

    def collective_stats(self) -> dict[str, Totals]:
        """What the calls of this group took at this rank, since its begin, by collective and algorithm: how
        many, bytes, seconds, the longest one's seconds. Calls that have not ended are left out."""
        return self._job.recorder.totals(self._number)

    def _check_usable(self) -> None:
        if self._freed:
            raise ConfigError(f"communicator {self._number} of ranks {list(self.ranks)} was freed")
        self._job.check()

    def _checked_rank(self, rank: Any) -> int:
        """Of whatever kind of integer it is."""
        try:
            number = operator.index(rank)
        except TypeError:
            number = -1
        if not 0 <= number < self.size:
            raise ConfigError(f"rank {rank}: expected 0 to {self.size - 1}")
        return number

    def _longest(self, element: ElementType) -> int:
        """Elements of a message, at most."""
        return self._job.max_message_bytes // element.itemsize

    def _algorithm(self, asked: str, nbytes: int) -> str:
        """That of an all-reduce; of the setting's, one that fits this group."""
        if asked == "" and (asked := self._job.all_reduce) == "hierarchical" and not is_even(self._hosts):
            asked = "auto"
        return registry.choose_all_reduce(nbytes, self.size) if asked == "auto" else asked

    def _all_reduce(self, algorithm: str, count: int, element: ElementType) -> Schedule:
        """Of so many elements."""
        hosts = self._hosts if algorithm == "hierarchical" else ()
        longest = self._longest(element)
        return registry.build(f"all_reduce.{algorithm}", self.rank, self.size, count, longest, hosts=hosts)

    @cached_property
    def _hosts(self) -> Hosts:
        """The group's ranks by host."""
        by_host: defaultdict[int, list[int]] = defaultdict(list)
        for rank, member in enumerate(self.ranks):
            by_host[self._job.host_of(member)].append(rank)
        return tuple(tuple(members) for members in by_host.values())

    def _average(self, how: Reduction, operand: Operand) -> list[Epilogue]:
        """What an average does with its sum."""
        if not how.average:
            return []
        name, values, size = operand.element.name, operand.flat.view(np.uint8), self.size
        return [lambda: _core.divide(name, values, size)]

    def _make(
        self, call: Call, build: Build, element: ElementType, comm: int, reduce: Reduction | None,
        times: StepTimes, cls: int | None = None,
    ) -> Collective:  # fmt: skip
        schedule = build()
        mark = marks(call, schedule, self._longest(element))
        return Collective(
            schedule, element, reduce, ranks=self.ranks, comm=comm, marks=mark, times=times, cls=cls
        )

    def _execution(
        self, underway: _Underway, record: Record, collective: Collective, number: int, data: Array,
        source: Array | None, epilogues: Sequence[Epilogue],
    ) -> Execution:  # fmt: skip
        job = self._job
        execution = Execution(
            collective, number, data,
            source=source, epilogues=epilogues, record=record, scratch=job.scratch, ended=job.recorder.end,
        )  # fmt: skip
        underway.record = record
        job.recorder.begin(record)
        return execution

    def _outcome(self, execution: Execution, result: Any, wait: bool, fresh: bool, limit: float) -> Any:
        """What the caller gets of an execution that was started, or is to be run where it waits."""
        job = self._job
        if not wait:
            handle = Handle(job, execution, result)
            return (result, handle) if fresh else handle
        ended = job.engine.run(execution, limit or None)
        if not ended:
            raise job.overdue(execution)
        return result


def backs(*operands: Operand) -> list[Epilogue]:
    """What copies results into arrays that are not contiguous."""
    return [operand.copy_back for operand in operands if operand.copied]


def check_counts(name: str, counts: Sequence[int], size: int) -> tuple[int, ...]:
    """`counts` as a tuple; ConfigError unless they are as many as ranks and none is negative."""
    try:
        checked = tuple(map(operator.index, counts))
    except TypeError:
        checked = ()
    if len(checked) != size or min(checked) < 0:
        raise ConfigError(f"{name}: counts {counts}, expected {size} numbers of elements")
    return checked

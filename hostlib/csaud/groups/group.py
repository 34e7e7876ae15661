"""Collectives among the ranks of a group: of all ranks, or of some of them."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from csaud.collectives import direct, gather, pairwise, registry, tree
from csaud.collectives.engine import Handle
from csaud.collectives.executor import Collective, Execution
from csaud.collectives.reductions import Reduction, check_array, reduction
from csaud.collectives.schedule import Schedule, split
from csaud.collectives.signature import marks
from csaud.collectives.timing import StepTimes
from csaud.errors import Aborted, ConfigError, CsaudError
from csaud.flight.record import Call, Record
from csaud.groups.job_state import DIRECT, LAST_NUMBER, JobState

Array = npt.NDArray[Any]

_NOTHING = np.empty(0, np.uint8)
_BARRIER = Call("barrier")


class Group:
    """Collectives among `size` ranks, which call the same ones in the same order.

    Each collective blocks until it has ended, or with `wait=False` returns a Handle at once. Several may be
    in flight, and calls may come from several threads as long as all ranks start them in one order. Arrays
    are numpy arrays, C-contiguous, of float16, bfloat16 (of ml_dtypes), float32, float64, int32, int64 or
    bool. After a collective failed, all further ones raise the same error.

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

    # --- collectives

    def all_reduce(self, array: Array, op: str = "sum", *, algorithm: str = "", wait: bool = True) -> Any:
        """Replace `array` on every rank by the element-wise reduction over all; the same bits everywhere.

        Args:
            array: any shape, shape and dtype as on the other ranks.
            op: "sum", "product", "min", "max", "average" (floats), "and", "or", "xor" (integers and bool).
            algorithm: "ring", "halving_doubling", or "auto": by the array's size; empty: setting all_reduce.

        Returns:
            `array` itself, or a Handle.

        Raises:
            ConfigError: an array or op that is not supported; nothing was sent.
            PeerUnreachable, Aborted, Timeout, ProtocolError: the collective failed; `array` holds garbage.
        """
        dtype = check_array(array)
        how = reduction(op, dtype)
        flat = array.reshape(-1)
        name = f"all_reduce.{self._algorithm(algorithm, flat)}"

        def build() -> Schedule:
            return registry.build(name, self.rank, self.size, flat.size, self._longest(flat))

        divide = (lambda: np.divide(flat, self.size, out=flat)) if how.average else None
        return self._run(
            Call(name, dtype, flat.size, op), build, flat, array, wait, reduce=how, epilogue=divide
        )

    def reduce_scatter(self, array: Array, op: str = "sum", *, wait: bool = True) -> Any:
        """This rank's part of the reduction of all ranks' arrays; the parts are those of numpy.array_split.

        Returns:
            A new one-dimensional array, or (array, Handle). `array` keeps its values.
        """
        dtype = check_array(array, writable=False)
        how = reduction(op, dtype)
        block = self._job.scratch.take(array.nbytes)  # all ranks' parts; only this rank's outlives the call
        work = block.memory[: array.nbytes].view(array.dtype)
        np.copyto(work, array.reshape(-1))
        start, length = split(work.size, self.size)[self.rank]
        mine = np.empty(length, array.dtype)
        longest = self._longest(work)

        def take_mine() -> None:
            part = work[start : start + length]
            if how.average:
                np.divide(part, self.size, out=mine)
            else:
                np.copyto(mine, part)
            self._job.scratch.give_back(block)

        call = Call("reduce_scatter", dtype, work.size, op)
        build = partial(registry.build, "reduce_scatter.ring", self.rank, self.size, work.size, longest)
        return self._run(call, build, work, mine, wait, True, how, epilogue=take_mine)

    def all_gather(self, array: Array, *, wait: bool = True) -> Any:
        """The arrays of all ranks, of one shape and dtype.

        Returns:
            A new array of shape (size, *array.shape), or (array, Handle).
        """
        dtype = check_array(array, writable=False)
        result = np.empty((self.size, *array.shape), array.dtype)
        result[self.rank] = array
        flat = result.reshape(-1)
        longest = self._longest(flat)
        build = partial(registry.build, "all_gather.ring", self.rank, self.size, flat.size, longest)
        return self._run(Call("all_gather", dtype, array.size), build, flat, result, wait, True)

    def all_to_all(self, array: Array, *, wait: bool = True) -> Any:
        """Exchange blocks: `array[r]` goes to rank r, and what rank r had for this one comes in its place.

        Args:
            array: the first dimension is `size`; shape and dtype as on the other ranks.

        Returns:
            A new array of the same shape, or (array, Handle). `array` must not change before that has ended.
        """
        dtype = check_array(array, writable=False)
        if array.ndim == 0 or array.shape[0] != self.size:
            raise ConfigError(f"all_to_all: shape {array.shape}, expected ({self.size}, ...)")
        result = np.empty_like(array)
        result[self.rank] = array[self.rank]
        counts = [array.size // self.size] * self.size
        call = Call("all_to_all", dtype, array.size)
        return self._exchange(call, array.reshape(-1), counts, result.reshape(-1), counts, result, wait)

    def all_to_all_v(self, parts: Sequence[Array], *, wait: bool = True) -> Any:
        """Exchange arrays of any lengths, which the receivers do not know beforehand.

        Args:
            parts: one-dimensional arrays of one dtype, as on the other ranks; `parts[r]` is for rank r.

        Returns:
            The arrays that came, by rank; or (list, Handle). The lengths are exchanged before it returns.
        """
        if len(parts) != self.size:
            raise ConfigError(f"all_to_all_v: {len(parts)} parts for {self.size} ranks")
        for part in parts:
            dtype = check_array(part, writable=False)
            if part.ndim != 1 or part.dtype != parts[0].dtype:
                raise ConfigError("all_to_all_v: the parts are one-dimensional and of one dtype")
        sent = [part.size for part in parts]
        received = [int(n) for n in self.all_to_all(np.array(sent, np.int64).reshape(-1, 1)).reshape(-1)]
        source = np.concatenate(parts)
        flat = np.empty(sum(received), source.dtype)
        results = np.split(flat, np.cumsum(received)[:-1])
        results[self.rank][:] = parts[self.rank]
        call = Call("all_to_all_v", dtype)
        return self._exchange(call, source, sent, flat, received, results, wait, fixed=False)

    def broadcast(self, array: Array, root: int = 0, *, wait: bool = True) -> Any:
        """Replace `array` on every rank by that of rank `root`, of its shape; returns it, or a Handle."""
        dtype = check_array(array)
        self._check_rank(root)
        flat = array.reshape(-1)
        build = partial(tree.broadcast, self.rank, self.size, flat.size, self._longest(flat), root)
        call = Call("broadcast", dtype, flat.size, root=root)
        return self._run(call, build, flat, array, wait)

    def gather(self, array: Array, root: int = 0, *, wait: bool = True) -> Any:
        """The arrays of all ranks, of one shape and dtype, at rank `root`.

        Returns:
            There a new array of shape (size, *array.shape), elsewhere None; or (that, Handle). `array`
            must not change before it has ended.
        """
        dtype = check_array(array, writable=False)
        self._check_rank(root)
        source = array.reshape(-1)
        result = np.empty((self.size, *array.shape), array.dtype) if self.rank == root else None
        if result is not None:
            result[root] = array
        flat = source[:0] if result is None else result.reshape(-1)
        build = partial(gather.gather, self.rank, self.size, source.size, self._longest(source), root)
        call = Call("gather", dtype, source.size, root=root)
        return self._run(call, build, flat, result, wait, True, source=source)

    def barrier(self) -> None:
        """Return once every rank has called it.

        Raises:
            PeerUnreachable, Aborted, Timeout, ProtocolError: a rank will not come.
        """
        build = partial(registry.build, "barrier.dissemination", self.rank, self.size, 0, 1)
        self._run(_BARRIER, build, _NOTHING, None, True)

    # --- from rank to rank

    def send(self, array: Array, dst: int, *, wait: bool = True) -> Any:
        """Send `array` to rank `dst`, which calls `recv`; None once it has it, or a Handle."""
        dtype = check_array(array, writable=False)
        flat = array.reshape(-1)
        build = partial(direct.send, dst, flat.size, self._longest(flat))
        call = Call("transfer", dtype, flat.size)
        return self._run_direct(call, build, dst, self._sent, flat[:0], None, wait, source=flat)

    def recv(self, array: Array, src: int, *, wait: bool = True) -> Any:
        """Receive into `array` what rank `src` sends; of the same size and dtype. Returns it, or a Handle."""
        dtype = check_array(array)
        flat = array.reshape(-1)
        build = partial(direct.receive, src, flat.size, self._longest(flat))
        call = Call("transfer", dtype, flat.size)
        return self._run_direct(call, build, src, self._received, flat, array, wait)

    def send_sized(self, array: Array, dst: int) -> None:
        """Send a one-dimensional array whose size rank `dst` does not know; it calls `recv_sized`."""
        check_array(array, writable=False)
        self.send(np.array([array.size], np.int64), dst)
        self.send(array.reshape(-1), dst)

    def recv_sized(self, src: int, dtype: npt.DTypeLike) -> Array:
        """The array that rank `src` sends with `send_sized`, of this dtype."""
        size = self.recv(np.zeros(1, np.int64), src)
        array = np.empty(int(size[0]), dtype)
        self.recv(array, src)
        return array

    # --- groups

    def split(self, color: int, key: int = 0) -> Self | None:
        """Divide this group: the ranks that give the same color make a new one, in the order of (key, rank).

        A collective call; a negative color is no group, and gives None.
        """
        job = self._job
        with job.lock:
            mine = np.array([color, key, job.next_number], np.int64)
            told = self.all_gather(mine)
            # Higher than any number that a member has in use, and so new to every pair of them.
            number = int(told[:, 2].max())
            if number > LAST_NUMBER:
                raise ConfigError(f"more than {LAST_NUMBER} communicators")
            job.next_number = number + 1
        if color < 0:
            return None
        members = sorted((int(told[r, 1]), r) for r in range(self.size) if told[r, 0] == color)
        places = [rank for _, rank in members]
        group = Group(job, number, [self.ranks[r] for r in places], places.index(self.rank))
        return group  # type: ignore[return-value]

    # --- how

    def _algorithm(self, asked: str, flat: Array) -> str:
        asked = asked or self._job.all_reduce
        return registry.choose_all_reduce(flat.nbytes, self.size) if asked == "auto" else asked

    def _longest(self, flat: Array) -> int:
        return self._job.max_message_bytes // flat.itemsize

    def _exchange(
        self, call: Call, source: Array, sent: list[int], flat: Array, received: list[int], result: Any,
        wait: bool, fixed: bool = True,
    ) -> Any:  # fmt: skip
        build = partial(pairwise.all_to_all, self.rank, self.size, sent, received, self._longest(flat))
        return self._run(call, build, flat, result, wait, True, source=source, fixed=fixed)

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise ConfigError(f"rank {rank}: expected 0 to {self.size - 1}")

    def _run(
        self,
        call: Call,
        build: Callable[[], Schedule],
        flat: Array,
        result: Any,
        wait: bool,
        fresh: bool = False,
        reduce: Reduction | None = None,
        *,
        source: Array | None = None,
        epilogue: Callable[[], object] | None = None,
        fixed: bool = True,
    ) -> Any:
        """One collective.

        Args:
            fresh: the result is not the caller's array, so a Handle comes with it.
            fixed: `call` says all of which the schedule depends.
        """
        job = self._job
        with job.lock:
            job.check()
            make = partial(self._make, call, build, flat, self._number, reduce)
            collective = job.prepared.of((self._number, call), make, fixed=fixed)
            number = self._collectives
            self._collectives += 1
            record = Record(self._number, number, call, flat.nbytes, self.ranks)
            execution = self._execution(record, collective, number, flat, source, epilogue)
            if not wait:
                job.engine.start(execution)
        return self._outcome(execution, result, wait, fresh)

    def _run_direct(
        self, call: Call, build: Callable[[], Schedule], peer: int, count: dict[int, int], flat: Array,
        result: Any, wait: bool, source: Array | None = None,
    ) -> Any:  # fmt: skip
        self._check_rank(peer)
        if peer == self.rank:
            raise ConfigError("a rank does not send to itself")
        job = self._job
        sends = source is not None
        array = flat if source is None else source
        with job.lock:
            job.check()
            make = partial(self._make, call, build, array, self._number | DIRECT, None)
            collective = job.prepared.of((self._number | DIRECT, call, peer, sends), make)
            number = count[peer]
            count[peer] += 1
            record = Record(self._number, number, call, array.nbytes, self.ranks, self.ranks[peer], sends)
            execution = self._execution(record, collective, number, flat, source, None)
            if not wait:
                job.engine.start(execution)
        return self._outcome(execution, result, wait, False)

    def _make(
        self, call: Call, build: Callable[[], Schedule], array: Array, comm: int, reduce: Reduction | None,
        times: StepTimes,
    ) -> Collective:  # fmt: skip
        schedule = build()
        mark = marks(call, schedule, self._longest(array))
        return Collective(schedule, array.dtype, reduce, ranks=self.ranks, comm=comm, marks=mark, times=times)

    def _execution(
        self, record: Record, collective: Collective, number: int, flat: Array, source: Array | None,
        epilogue: Callable[[], object] | None,
    ) -> Execution:  # fmt: skip
        job = self._job
        return Execution(
            collective, number, flat,
            source=source, epilogue=epilogue, record=job.recorder.begin(record), scratch=job.scratch,
        )  # fmt: skip

    def _outcome(self, execution: Execution, result: Any, wait: bool, fresh: bool) -> Any:
        """What the caller gets of an execution that was started, or is to be run where it waits."""
        job = self._job
        if not wait:
            handle = Handle(job.engine, execution)
            return (result, handle) if fresh else handle
        try:
            ended = job.engine.run(execution, job.timeout)
        except CsaudError:
            raise
        except BaseException as error:
            # Ctrl-C, no memory: the other ranks are in the middle of this collective and must not hang.
            job.give_up(Aborted(f"{execution.record} was left by {type(error).__name__}"))
            raise
        if not ended:
            raise job.overdue(execution)
        return result

"""Collectives among the ranks of a group: of all ranks, or of some of them."""

import dataclasses
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from csaud.collectives import direct, pairwise, registry, tree
from csaud.collectives.engine import Engine, Handle
from csaud.collectives.executor import Execution, Name, ReduceFunction, Transport, name_of
from csaud.collectives.reductions import check_array, reduction
from csaud.collectives.schedule import Recv, Schedule, Send, split
from csaud.collectives.timing import Expected, Timings
from csaud.errors import Aborted, ConfigError, CsaudError, Timeout

Array = npt.NDArray[Any]

_DIRECT = 0x8000  # of a communicator number: messages from rank to rank, counted by pair
_NOTHING = np.empty(0, np.uint8)


class _Ranks:
    """The transport with the ranks of a group instead of those of the job."""

    def __init__(self, transport: Transport, ranks: Sequence[int]) -> None:
        self._transport = transport
        self._ranks = ranks

    def post(
        self, op: Send | Recv, name: Name, buffer: Array, offset: int, length: int, expected: Expected
    ) -> int:
        """See `csaud.collectives.executor.Transport`."""
        if isinstance(op, Send):
            op = dataclasses.replace(op, dst=self._ranks[op.dst])
        else:
            op = dataclasses.replace(op, src=self._ranks[op.src])
        return self._transport.post(op, name, buffer, offset, length, expected)

    def now(self) -> int:
        """See `csaud.collectives.executor.Transport`."""
        return self._transport.now()

    def wait(self, timeout: float) -> list[int]:
        """See `csaud.collectives.executor.Transport`."""
        return self._transport.wait(timeout)


class Job:
    """What all groups of one process share.

    Attributes:
        transport: of all ranks.
        max_message_bytes: longest message.
        timeout: seconds that one collective may take, None for no limit.
        all_reduce: algorithm of all-reduce, "auto" for one by size.
        give_up: ends the job with an error, at all ranks.
        check: raises where the job is over.
    """

    def __init__(
        self,
        transport: Transport,
        max_message_bytes: int,
        timeout: float | None,
        all_reduce: str,
        give_up: Callable[[CsaudError], None],
        check: Callable[[], None],
    ) -> None:
        self.transport = transport
        self.engine = Engine(transport)
        self.max_message_bytes = max_message_bytes
        self.timeout = timeout
        self.all_reduce = all_reduce
        self.give_up = give_up
        self.check = check
        self.lock = threading.RLock()
        self.timings = Timings()
        self.next_number = 1  # of a communicator; 0 is that of all ranks


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

    def __init__(self, job: Job, number: int, ranks: Sequence[int], rank: int) -> None:
        self.rank = rank
        self.size = len(ranks)
        self.ranks = tuple(ranks)
        self._job = job
        self._number = number
        self._ranks = _Ranks(job.transport, self.ranks)
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
        check_array(array)
        how = reduction(op, array)
        flat = array.reshape(-1)
        name = f"all_reduce.{self._algorithm(algorithm, flat)}"
        schedule = registry.build(name, self.rank, self.size, flat.size, self._longest(flat))
        divide = (lambda: np.divide(flat, self.size, out=flat)) if how.average else None
        return self._run(name, schedule, flat, array, wait, reduce=how.combine, epilogue=divide)

    def reduce_scatter(self, array: Array, op: str = "sum", *, wait: bool = True) -> Any:
        """This rank's part of the reduction of all ranks' arrays; the parts are those of numpy.array_split.

        Returns:
            A new one-dimensional array, or (array, Handle). `array` keeps its values.
        """
        check_array(array, writable=False)
        how = reduction(op, array)
        work = array.reshape(-1).copy()
        start, length = split(work.size, self.size)[self.rank]
        mine = work[start : start + length]
        schedule = registry.build("reduce_scatter.ring", self.rank, self.size, work.size, self._longest(work))
        divide = (lambda: np.divide(mine, self.size, out=mine)) if how.average else None
        return self._run("reduce_scatter", schedule, work, mine, wait, True, how.combine, epilogue=divide)

    def all_gather(self, array: Array, *, wait: bool = True) -> Any:
        """The arrays of all ranks, of one shape and dtype.

        Returns:
            A new array of shape (size, *array.shape), or (array, Handle).
        """
        check_array(array, writable=False)
        result = np.empty((self.size, *array.shape), array.dtype)
        result[self.rank] = array
        flat = result.reshape(-1)
        schedule = registry.build("all_gather.ring", self.rank, self.size, flat.size, self._longest(flat))
        return self._run("all_gather", schedule, flat, result, wait, True)

    def all_to_all(self, array: Array, *, wait: bool = True) -> Any:
        """Exchange blocks: `array[r]` goes to rank r, and what rank r had for this one comes in its place.

        Args:
            array: the first dimension is `size`; shape and dtype as on the other ranks.

        Returns:
            A new array of the same shape, or (array, Handle). `array` must not change before that has ended.
        """
        check_array(array, writable=False)
        if array.ndim == 0 or array.shape[0] != self.size:
            raise ConfigError(f"all_to_all: shape {array.shape}, expected ({self.size}, ...)")
        result = np.empty_like(array)
        result[self.rank] = array[self.rank]
        counts = [array.size // self.size] * self.size
        return self._exchange(array.reshape(-1), counts, result.reshape(-1), counts, result, wait)

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
            check_array(part, writable=False)
            if part.ndim != 1 or part.dtype != parts[0].dtype:
                raise ConfigError("all_to_all_v: the parts are one-dimensional and of one dtype")
        sent = [part.size for part in parts]
        received = [int(n) for n in self.all_to_all(np.array(sent, np.int64).reshape(-1, 1)).reshape(-1)]
        source = np.concatenate(parts)
        flat = np.empty(sum(received), source.dtype)
        results = np.split(flat, np.cumsum(received)[:-1])
        results[self.rank][:] = parts[self.rank]
        return self._exchange(source, sent, flat, received, results, wait)

    def broadcast(self, array: Array, root: int = 0, *, wait: bool = True) -> Any:
        """Replace `array` on every rank by that of rank `root`, of its shape; returns it, or a Handle."""
        check_array(array)
        self._check_rank(root)
        flat = array.reshape(-1)
        schedule = tree.broadcast(self.rank, self.size, flat.size, self._longest(flat), root)
        return self._run(f"broadcast {root}", schedule, flat, array, wait)

    def barrier(self) -> None:
        """Return once every rank has called it.

        Raises:
            PeerUnreachable, Aborted, Timeout, ProtocolError: a rank will not come.
        """
        schedule = registry.build("barrier.dissemination", self.rank, self.size, 0, 1)
        self._run("barrier", schedule, _NOTHING, None, True)

    # --- from rank to rank

    def send(self, array: Array, dst: int, *, wait: bool = True) -> Any:
        """Send `array` to rank `dst`, which calls `recv`; None once it has it, or a Handle."""
        check_array(array, writable=False)
        flat = array.reshape(-1)
        schedule = direct.send(dst, flat.size, self._longest(flat))
        return self._run_direct(schedule, dst, self._sent, flat[:0], None, wait, source=flat)

    def recv(self, array: Array, src: int, *, wait: bool = True) -> Any:
        """Receive into `array` what rank `src` sends; of the same size and dtype. Returns it, or a Handle."""
        check_array(array)
        flat = array.reshape(-1)
        schedule = direct.receive(src, flat.size, self._longest(flat))
        return self._run_direct(schedule, src, self._received, flat, array, wait)

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
            if number >= _DIRECT:
                raise ConfigError(f"more than {_DIRECT - 1} communicators")
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
        self, source: Array, sent: list[int], flat: Array, received: list[int], result: Any, wait: bool
    ) -> Any:
        schedule = pairwise.all_to_all(self.rank, self.size, sent, received, self._longest(flat))
        return self._run("all_to_all", schedule, flat, result, wait, True, source=source)

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise ConfigError(f"rank {rank}: expected 0 to {self.size - 1}")

    def _run(
        self,
        what: str,
        schedule: Schedule,
        flat: Array,
        result: Any,
        wait: bool,
        fresh: bool = False,
        reduce: ReduceFunction | None = None,
        *,
        source: Array | None = None,
        epilogue: Callable[[], object] | None = None,
    ) -> Any:
        """One collective; `fresh`: the result is not the caller's array, so a Handle comes with it."""
        with self._job.lock:
            name = name_of(self._number, self._collectives, schedule)
            self._collectives += 1
            execution = self._start(what, schedule, name, flat, reduce, wait, source, epilogue)
        return self._outcome(what, execution, result, wait, fresh)

    def _run_direct(
        self, schedule: Schedule, peer: int, count: dict[int, int], flat: Array, result: Any, wait: bool,
        source: Array | None = None,
    ) -> Any:  # fmt: skip
        self._check_rank(peer)
        if peer == self.rank:
            raise ConfigError("a rank does not send to itself")
        with self._job.lock:
            name = Name(self._number | _DIRECT, count[peer], name_of(0, 0, schedule).cls, False)
            count[peer] += 1
            execution = self._start("direct", schedule, name, flat, None, wait, source, None)
        return self._outcome("a transfer", execution, result, wait, False)

    def _start(
        self, what: str, schedule: Schedule, name: Name, flat: Array, reduce: ReduceFunction | None,
        wait: bool, source: Array | None, epilogue: Callable[[], object] | None,
    ) -> Execution:  # fmt: skip
        self._job.check()
        times = self._job.timings.of((self._number, what, flat.size, flat.itemsize))
        execution = Execution(
            schedule, self._ranks, name, flat, reduce, times, source=source, epilogue=epilogue
        )
        self._job.engine.start(execution, attended=wait)
        return execution

    def _outcome(self, what: str, execution: Execution, result: Any, wait: bool, fresh: bool) -> Any:
        if not wait:
            handle = Handle(self._job.engine, execution)
            return (result, handle) if fresh else handle
        limit = self._job.timeout
        try:
            ended = self._job.engine.wait(execution, limit)
        except CsaudError:
            raise
        except BaseException as error:
            # Ctrl-C, no memory: the other ranks are in the middle of this collective and must not hang.
            self._job.give_up(Aborted(f"{what} was left by {type(error).__name__}"))
            raise
        if not ended:
            timeout = Timeout(f"{what} took longer than {limit:g} s (setting timeout)")
            self._job.give_up(timeout)
            raise timeout
        return result

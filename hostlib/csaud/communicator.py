"""The communicator: collectives among the ranks of a job."""

import logging
import threading
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from csaud.collectives import registry
from csaud.collectives.executor import Execution, ReduceFunction, name_of
from csaud.collectives.timing import Timings
from csaud.errors import Aborted, ConfigError, CsaudError, RendezvousError, Timeout
from csaud.rendezvous import Meeting
from csaud.settings import Settings
from csaud.transport import Transport, nothing

log = logging.getLogger(__name__)

_WORLD = 0  # number of the communicator of all ranks
_QUIESCE_TIMEOUT = 10.0  # s
_EXIT_LINGER = 1.0  # s

REDUCTIONS: dict[str, ReduceFunction] = {"sum": np.add}
DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "int32", "int64"))


class Communicator:
    """Collectives among `size` ranks; made by `csaud.init`. A context manager: leaving it closes it.

    Every rank calls the same collectives in the same order. Calls from several threads run one after the
    other. After a collective failed, all further ones raise the same error.

    Attributes:
        rank, size: 0 <= rank < size.
        settings: the settings in force.
        mode: how the device sends, "raw" or "udp".
    """

    def __init__(
        self, transport: Transport, meeting: Meeting, rank: int, size: int, settings: Settings, mode: str
    ) -> None:
        self.rank = rank
        self.size = size
        self.settings = settings
        self.mode = mode
        self._transport = transport
        self._meeting = meeting
        self._lock = threading.RLock()
        self._coll_seq = 0
        self._timings = Timings()
        self._quiesced = 0
        self._closed = False

    def all_reduce(self, array: npt.NDArray[Any], op: str = "sum") -> npt.NDArray[Any]:
        """Replace `array` on every rank by the element-wise sum over all ranks; the same bits everywhere.

        Args:
            array: C-contiguous, writable, float32, float64, int32 or int64; shape and dtype as on the other
                ranks.
                Any shape, any number of elements, zero included.
            op: "sum".

        Returns:
            `array` itself. Order of summation: `csaud.collectives.ring`.

        Raises:
            ConfigError: an array or op that is not supported; nothing was sent.
            PeerUnreachable, Aborted, Timeout, ProtocolError: the collective failed; `array` holds garbage.
        """
        reduce = REDUCTIONS.get(op)
        if reduce is None:
            raise ConfigError(f"op={op!r}: expected one of {', '.join(REDUCTIONS)}")
        check_array(array)
        longest = self._transport.max_message_bytes // array.itemsize
        self._run("all_reduce.ring", array.reshape(-1), longest, reduce)
        return array

    def barrier(self) -> None:
        """Return once every rank has called it.

        Raises:
            PeerUnreachable, Aborted, Timeout, ProtocolError: a rank will not come.
        """
        self._run("barrier.dissemination", nothing(), 1, None)

    def stats(self) -> dict[str, Any]:
        """This rank's packet counters by name (`csaud._core.STATS_HELP`).

        Lists by path id are `tx_path` (DATA copies), `tx_path_lost` (those sent again), `tx_path_ecn` (marks
        that receivers told of) and `rx_path_ecn` (DATA that came marked).
        """
        return self._transport.stats()

    def flow_times(self) -> list[float]:
        """Seconds that each received message took, in order of completion; messages without payload left
        out."""
        return self._transport.flow_times()

    def quiesce(self, timeout: float = _QUIESCE_TIMEOUT) -> None:
        """Wait until no rank has anything unacknowledged or under way; then counters stand still.

        A collective call, but over the rendezvous' connections: it adds no packet to the counters.

        Args:
            timeout: seconds.

        Raises:
            Timeout: the network was not quiet in that time, or ranks did not call it.
        """
        with self._lock:
            self._check_open()
            self._quiesced += 1
            if not self._transport.wait_quiescent(timeout):
                raise Timeout(f"rank {self.rank} was not quiet within {timeout:g} s")
            try:
                self._meeting.arrive(f"quiesce {self._quiesced}", timeout)
            except RendezvousError as error:
                raise Timeout(f"quiesce: {error}") from None
            # What a slower rank still asked of us while it became quiet.
            if not self._transport.wait_quiescent(timeout):
                raise Timeout(f"rank {self.rank} was not quiet within {timeout:g} s")

    def abort(self) -> None:
        """End the job: the peers' collectives raise Aborted at once. The communicator is of no use
        afterwards."""
        with self._lock:
            if not self._closed:
                self._transport.give_up(Aborted(f"rank {self.rank} called abort()", self.rank))

    def close(self) -> None:
        """Leave. Waits (setting close_timeout) for the other ranks, who may still need an acknowledgement
        of ours.

        Never raises for what other ranks do; may be called twice.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._transport.failure is None:
                self._part()
            self._transport.stop()
            self._meeting.close()

    def stop_at_exit(self) -> None:
        """For an interpreter that ends without close(): settle what was sent, then stop; peers are not told.

        Those that wait for this rank find it unreachable, as after a crash, and the others are not disturbed.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                self._transport.wait_quiescent(_EXIT_LINGER)
                self._transport.stop()
                self._meeting.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort()
        self.close()

    def _part(self) -> None:
        timeout = self.settings.close_timeout
        if not self._transport.wait_quiescent(timeout):
            log.warning("rank %d closes with packets unacknowledged", self.rank)
        try:
            self._meeting.arrive("close", timeout)
        except RendezvousError as error:
            # The others ended otherwise, or take their time. All that we sent has been acknowledged.
            log.info("rank %d closes alone: %s", self.rank, error)

    def _run(
        self, collective: str, data: npt.NDArray[Any], longest: int, reduce: ReduceFunction | None
    ) -> None:
        with self._lock:
            self._check_open()
            schedule = registry.build(collective, self.rank, self.size, data.size, longest)
            name = name_of(_WORLD, self._coll_seq, schedule)
            self._coll_seq += 1
            limit = self.settings.timeout or None
            try:
                times = self._timings.of((collective, data.size, data.itemsize))
                ended = Execution(schedule, self._transport, name, data, reduce, times).run(limit)
            except CsaudError:
                raise
            except BaseException as error:
                # Ctrl-C, no memory: the other ranks are in the middle of this collective and must not hang.
                self._transport.give_up(
                    Aborted(f"{collective} was left by {type(error).__name__}", self.rank)
                )
                raise
            if not ended:
                timeout = Timeout(f"{collective} took longer than {limit:g} s (setting timeout)")
                self._transport.give_up(timeout)
                raise timeout

    def _check_open(self) -> None:
        if self._closed:
            raise ConfigError("this communicator is closed")
        if self._transport.failure is not None:
            raise self._transport.failure


def check_array(array: object) -> None:
    """ConfigError unless `array` can be reduced in place."""
    if not isinstance(array, np.ndarray):
        raise ConfigError(f"expected a numpy array, got {type(array).__name__}")
    if array.dtype not in DTYPES:
        supported = ", ".join(dtype.name for dtype in DTYPES)
        raise ConfigError(
            f"dtype {array.dtype} is not supported; supported are {supported} in native byte order"
        )
    if not array.flags.c_contiguous:
        raise ConfigError("the array is not C-contiguous; reduce a copy made by numpy.ascontiguousarray")
    if not array.flags.writeable:
        raise ConfigError("the array is read-only, and all_reduce works in place")

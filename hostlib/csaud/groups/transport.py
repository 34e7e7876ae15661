"""The native transport with Python's errors: starts collectives and waits for them."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud import _core
from csaud.errors import (
    Aborted,
    CsaudError,
    DeviceError,
    MismatchError,
    PeerUnreachable,
    ProtocolError,
)

log = logging.getLogger(__name__)

Array = npt.NDArray[Any]
_NANO = 1e-9
_CLOSED = "the transport is closed"  # what native/device/drivers.cpp says of itself
_NO_MEMORY = "std::bad_alloc"
_ABORT_LINGER = 0.5  # s; the core repeats an ABORT a few times within it


class Transport:
    """Wraps a started `_core.Progress`. After the first failure every call raises that failure again."""

    def __init__(self, progress: _core.Progress) -> None:
        self._progress = progress
        self._failure: CsaudError | None = None

    @property
    def failure(self) -> CsaudError | None:
        """What ended this transport, None while it works."""
        return self._failure

    @property
    def max_message_bytes(self) -> int:
        """Longest message: 512 packets."""
        return self._progress.max_message_bytes

    def start(self, execution: _core.Execution) -> None:
        """See `csaud.collectives.executor.Runner`."""
        self._check()
        try:
            self._progress.start_execution(execution)
        except RuntimeError as error:
            raise self._fail(_ended(error)) from None

    def pin(self, memory: npt.NDArray[np.uint8]) -> object:
        """See `csaud.collectives.executor.Runner`."""
        return self._progress.pin(memory)

    def awaited(self, execution: _core.Execution) -> list[tuple[int, int]]:
        """See `csaud.collectives.executor.Runner`."""
        return self._progress.awaited(execution)

    def pending(self) -> dict[int, tuple[int, int]]:
        """See `csaud.collectives.executor.Runner`."""
        return {message.id: (message.arrived, message.packets) for message in self._progress.pending()}

    def tell(self, rank: int, note: bytes) -> None:
        """Send a note to another rank, at most 200 bytes of it; it may get lost."""
        self._progress.tell(rank, note)

    def take_notes(self) -> dict[int, bytes]:
        """The latest note of each rank that told one since the last call."""
        return self._progress.take_notes()

    def run(self, execution: _core.Execution, timeout: float) -> bool:
        """See `csaud.collectives.executor.Runner`; a failure ends the whole transport."""
        return self._until_over(self._progress.run, execution, timeout)

    def wait(self, execution: _core.Execution, timeout: float) -> bool:
        """See `csaud.collectives.executor.Runner`; a failure ends the whole transport."""
        return self._until_over(self._progress.wait_for, execution, timeout)

    def wait_any(self, executions: Sequence[_core.Execution], timeout: float) -> bool:
        """See `csaud.collectives.executor.Runner`; a failure ends the whole transport."""
        self._check()
        try:
            over = self._progress.wait_any(list(executions), timeout)
        except RuntimeError as error:
            raise self._fail(_ended(error)) from None
        for execution in executions:
            self._check_well(execution)
        return over

    def watch_any(self, executions: Sequence[_core.Execution], timeout: float) -> None:
        """Sleep until one of them has ended, well or not, or `recall`; the progress thread drives meanwhile,
        so that a thread that only wants to be told takes no processor from one that computes."""
        self._progress.watch_any(list(executions), timeout)

    def recall(self) -> None:
        """End the watch that goes on, or else the next one."""
        self._progress.recall()

    def _until_over(
        self, wait: Callable[[_core.Execution, float], bool], execution: _core.Execution, timeout: float
    ) -> bool:
        self._check()
        try:
            over = wait(execution, timeout)
        except RuntimeError as error:
            raise self._fail(_ended(error)) from None
        self._check_well(execution)
        return over

    def _check_well(self, execution: _core.Execution) -> None:
        if (failed := execution.failure) is not None:
            error = self._error_of(failed)
            if isinstance(error, ProtocolError):
                self.give_up(error)  # nobody else knows of it
            raise self._fail(error)

    def stream(
        self,
        role: _core.StreamRole,
        peer: int,
        comm: int,
        first: int,
        bytes: int,
        messages: int,
        depth: int,
        buffer: Array,
    ) -> tuple[list[int], int]:
        """Messages to or from `peer` for a measurement, while nothing else is in flight.

        Returns:
            Nanoseconds of each message, and of all together.

        Raises:
            CsaudError: one failed, which ends the whole transport.
        """
        self._check()
        try:
            times, elapsed, failed = self._progress.stream(
                role, peer, comm, first, bytes, messages, depth, buffer
            )
        except RuntimeError as error:
            raise self._fail(_ended(error)) from None
        if failed is not None:
            raise self._fail(self._error_of(failed))
        return times, elapsed

    def give_up(self, reason: CsaudError) -> None:
        """This rank cannot go on: ends what is unfinished, here and at the peers."""
        if self._failure is None:
            self._failure = reason
            self._progress.abort(f"{type(reason).__name__}: {reason}")

    def wait_quiescent(self, timeout: float) -> bool:
        """Wait until everything is acknowledged and no packet is under way to us; False after `timeout` s."""
        try:
            return self._progress.wait_quiescent(timeout)
        except RuntimeError as error:
            raise self._fail(_ended(error)) from None

    def deny_path(self, path: int, denied: bool = True) -> None:
        """Send no DATA on a path from now on, or use it again; ValueError where there is no such path."""
        self._progress.deny_path(path, denied)

    def stats(self) -> dict[str, Any]:
        """Counters by name; those with `_path` in their name are lists by path id."""
        return self._progress.stats()

    def flow_times(self) -> list[float]:
        """Seconds from the first packet to the last one of the latest 100,000 messages received, empty
        messages left out."""
        return [took * _NANO for took in self._progress.flow_times()]

    def stop(self, told: bool = False) -> None:
        """End the progress thread; after a failure, only once the peers were told of it, unless they are
        `told` already."""
        if self._failure is not None and not told:
            self._drain()
        self._progress.stop()

    def _drain(self) -> None:
        try:
            while self._progress.wait(0.0):
                pass
            self._progress.wait_quiescent(_ABORT_LINGER)
        except RuntimeError as error:
            log.debug("the progress thread has ended: %s", error)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: CsaudError) -> CsaudError:
        if self._failure is None:
            self._failure = error
        return self._failure

    def _error_of(self, completion: _core.Completion) -> CsaudError:
        rank = completion.rank
        match completion.status:
            case _core.Status.peer_unreachable:
                return PeerUnreachable(rank, self._progress.silence(rank))
            case _core.Status.aborted:
                return given_up(rank, self._progress.abort_note())
            case _:
                expected = f"this rank expected a message of {completion.bytes} bytes of it"
                return ProtocolError(
                    f"rank {rank} sent what contradicts the collective: {expected}, see stats()"
                )


def given_up(rank: int, note: bytes) -> CsaudError:
    """The error of a rank that was told by `rank` that it gave up, and why."""
    text = "".join(c if c.isprintable() else "?" for c in note.decode(errors="replace"))
    kind, colon, rest = text.partition(": ")
    if colon and kind == MismatchError.__name__:
        return MismatchError(rest)
    return Aborted(f"rank {rank} gave up{': ' if text else ''}{text}", rank)


def _ended(error: RuntimeError) -> CsaudError:
    """Why nobody works with the device any more."""
    text = str(error)
    if text == _CLOSED:
        return CsaudError(text)
    why = "this process has no memory left for packets and messages" if text == _NO_MEMORY else text
    return DeviceError(f"the device has failed: {why}")


def nothing() -> Array:
    """The buffer of collectives that carry no data."""
    return np.empty(0, dtype=np.uint8)

"""What a collective call gives: torch's Work, over the library's handles."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Protocol

import torch
from torch.distributed import DistBackendError, Work

from csaud.errors import CsaudError
from csaud.torch.completion import Completion


class Handle(Protocol):
    """What the library gives of something in flight (csaud.Handle)."""

    @property
    def ended_well(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool: ...


class Context(Protocol):
    """What a work knows of its process group."""

    completion: Completion

    def failure(self) -> CsaudError | None:
        """What has ended the job, None while it goes on."""

    def waits(self, handles: Sequence[Any]) -> str:
        """What these wait for, as the end of a sentence."""

    def error(self, what: str, error: CsaudError) -> Exception:
        """torch's error for the library's."""


class CsaudWork(Work):
    """A collective in flight; it keeps its tensors alive.

    Args:
        what: the call, for messages.
        handles: all must have ended.
        finish: is called once then, by whoever finds it first: copies that are left to do.
        source: the rank that a receive is of.
        limit: seconds after which a wait without a limit of its own gives up, and, from now on, a future of
            it fails; None: none.
    """

    def __init__(
        self,
        context: Context,
        what: str,
        handles: Sequence[Handle],
        tensors: list[torch.Tensor],
        finish: Callable[[], object] | None = None,
        *,
        source: int = -1,
        limit: float | None = None,
    ) -> None:
        super().__init__()
        self._context: Context | None = context
        self._what = what
        self._handles = handles
        self._tensors = tensors
        self._finish = finish
        self._source = source
        self._limit = limit
        self._until = None if limit is None else time.monotonic() + limit
        self._lock = threading.Lock()
        self._future: Any = None
        self._given: Any = None
        self._settled = False
        self._error: Exception | None = None

    # --- torch's interface

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until it has ended.

        Args:
            timeout: None or zero: that of the process group.

        Raises:
            DistBackendError: it failed, or took longer; the message names the rank.
        """
        limit = timeout.total_seconds() if timeout else self._limit
        if not self.wait_for(limit):
            assert limit is not None
            raise self._late(limit)
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """As `wait`: results are there when it returns."""
        self.wait()

    def is_completed(self) -> bool:
        """It has ended, well or not."""
        return self._settled or self._look()

    def is_success(self) -> bool:
        """It has ended well."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """Why it failed; None where it did not, or is not over."""
        self.is_completed()
        return self._error

    def result(self) -> list[torch.Tensor]:
        """The tensors that it wrote."""
        return self._tensors

    def source_rank(self) -> int:
        """Of a receive: the rank in the group that sent it."""
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Any:
        """A future of `result()`, which a thread of the library completes; its callbacks run there. Waiting
        for one that failed raises a RuntimeError with the words of the work's error.

        Raises:
            RuntimeError: the group has been destroyed.
        """
        with self._lock:
            if self._given is None:
                if self._context is not None:
                    self._context.completion.add(self)  # its threads need the lock to tell of the end
                self._future = future_of(self._tensors)
                # An exception that is set is none to C++: DDP's reducer takes it for tensors. One that a
                # callback raises is an error there, too.
                self._given = self._future.then(torch.futures.Future.value)
        if self._settled:
            self.tell()
        return self._given

    # --- for the completion threads

    def over(self) -> bool:
        """Whether it has ended, well or not, or its time is over; all but `tell` has been done then."""
        # A wait of no time finds what has failed, too, or is overdue.
        if self._found() or self._awaited_for(0.0):
            return True
        if self._until is not None and time.monotonic() >= self._until:
            assert self._limit is not None
            self._settle(self._late(self._limit))
        return self._settled

    def awaited(self) -> Any:
        """The first of its handles that has not ended well; None: all have."""
        return next((handle for handle in self._handles if not handle.ended_well), None)

    def tell(self) -> None:
        """Complete the future of what is over, if somebody asked for one."""
        with self._lock:
            future, self._future = self._future, None  # an error refers to works that it went through
        if future is None:
            return
        if self._error is None:
            future.set_result(self._tensors)
        else:
            future.set_exception(self._error)

    def abandon(self) -> None:
        """Its group is destroyed: whoever waits for its future hears of it."""
        if not self._found():
            self._settle(RuntimeError(f"csaud: {self._what} was under way when its group was destroyed"))
        self.tell()

    # --- its end

    def wait_for(self, limit: float | None) -> bool:
        """Until it is over, well or not; False when it is not within `limit` seconds."""
        ended = self._awaited_for(limit)
        if ended:
            self.tell()
        return ended

    def _look(self) -> bool:
        found = self._found()
        if found:
            self.tell()
        return found

    def _found(self) -> bool:
        """Whether it has ended, without a wait."""
        context = self._context
        if context is None:
            return True
        if all(handle.ended_well for handle in self._handles):
            self._settle(None)
        elif (failure := context.failure()) is not None:
            self._settle(context.error(self._what, failure))
        return self._settled

    def _awaited_for(self, limit: float | None) -> bool:
        context = self._context
        if context is None:
            return True
        deadline = None if limit is None else time.monotonic() + limit
        try:
            for handle in self._handles:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not handle.wait(left):
                    return False
        except CsaudError as error:
            self._settle(context.error(self._what, error))
        else:
            self._settle(None)
        return True

    def _late(self, limit: float) -> Exception:
        waits = self._context.waits(self._handles) if self._context else ""
        words = f"csaud: {self._what} has not ended within its timeout of {limit:g} s{waits}"
        error: Exception = DistBackendError(words)
        return error

    def _settle(self, error: Exception | None) -> None:
        with self._lock:
            if self._settled:
                return
            if error is None and self._finish is not None:
                try:
                    self._finish()
                except Exception as raised:  # it is the caller's, who waits; this may be another thread
                    error = raised
            self._error = error
            self._settled = True
            # Others may keep a work long after its job.
            self._finish, self._handles, self._context = None, (), None


def future_of(tensors: Sequence[torch.Tensor]) -> Any:
    """One that these can be the result of: torch asks for the GPUs that they are on."""
    return torch.futures.Future(devices=[*{tensor.device for tensor in tensors if tensor.is_cuda}])


class Finished(Work):
    """What was over when the call returned."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        super().__init__()
        self._tensors = tensors

    def wait(self, timeout: timedelta | None = None) -> bool:
        del timeout
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    def result(self) -> list[torch.Tensor]:
        return self._tensors

    def get_future(self) -> Any:
        future = future_of(self._tensors)
        future.set_result(self._tensors)
        return future


class Together(Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Any]) -> None:
        super().__init__()
        self._works = list(works)

    def wait(self, timeout: timedelta | None = None) -> bool:
        for work in self._works:
            work.wait(timeout)
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def is_success(self) -> bool:
        return all(work.is_success() for work in self._works)

    def exception(self) -> Exception | None:
        return next((error for work in self._works if (error := work.exception()) is not None), None)

    def result(self) -> list[torch.Tensor]:
        return [tensor for work in self._works for tensor in work.result()]

    def get_future(self) -> Any:
        futures: Any = torch.futures.collect_all([work.get_future() for work in self._works])
        return futures.then(lambda ended: [tensor for one in ended.value() for tensor in one.value()])

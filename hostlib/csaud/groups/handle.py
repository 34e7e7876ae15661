"""Collectives in flight: what a caller can do with one, or with several of them."""

import time
from collections.abc import Generator, Iterable
from typing import Any

from csaud.collectives.executor import Execution
from csaud.errors import Aborted, ConfigError
from csaud.groups.job_state import JobState, seconds

_NANO = 1e-9


class Handle:
    """A collective in flight. Its arrays must not be touched before it has ended.

    `await handle` in a coroutine gives its result, as `wait` and `result` do.

    Attributes:
        result: what the call gives when it waits; of meaning once the collective has ended.
    """

    def __init__(self, job: JobState, execution: Execution, result: Any) -> None:
        self.result = result
        self._job = job
        self._execution = execution

    @property
    def done(self) -> bool:
        """It has ended well; raises, as `wait` does, where it has failed, so that who polls hears of it."""
        if self.ended_well:
            return True
        self._job.engine.check()
        return False

    @property
    def ended_well(self) -> bool:
        """As `done`, but False where it has failed."""
        self._job.check_process()
        return self._job.engine.done(self._execution)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end; False when it has not ended within `timeout` seconds (None: no limit), which
        changes nothing about it.

        Raises:
            PeerUnreachable, Aborted, Timeout, ProtocolError, MismatchError: it failed, or took longer than it
                may (setting timeout, or argument of its call).
        """
        return wait_any([self], timeout) is not None

    def cancel(self) -> bool:
        """Give it up: unless it has ended, the job ends, here and at all ranks, with Aborted that names it.

        Others have a part in a collective, and may have its result, so none can be taken back by one rank
        alone; what is left of the job goes on by `reform()`.

        Returns:
            Whether it was given up; False: it had ended.
        """
        if self.ended_well:
            return False
        self._job.give_up(Aborted(f"{self._execution.record} was cancelled"))
        return True

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio  # which costs a rank more than all its settings, and who awaits has it

        # A thread of the event loop's waits, and drives the collective meanwhile.
        if not self.ended_well:
            yield from asyncio.get_running_loop().run_in_executor(None, self.wait).__await__()
        return self.result


def wait_all(handles: Iterable[Handle], timeout: float | None = None) -> bool:
    """Wait until all have ended; False when they have not within `timeout` seconds (None: no limit).

    Raises:
        CsaudError: as `Handle.wait`.
        ConfigError: one of them is no handle, or `timeout` no time.
    """
    handles = _checked("wait_all", handles, timeout)
    deadline = None if timeout is None else time.monotonic() + timeout
    for handle in handles:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not handle.wait(left):
            return False
    return True


def wait_any(handles: Iterable[Handle], timeout: float | None = None) -> int | None:
    """Wait until one of them has ended.

    Returns:
        Its index, the lowest where several have ended; None when none has within `timeout` seconds (None: no
        limit).

    Raises:
        CsaudError: as `Handle.wait`.
        ConfigError: there are none, they are of different jobs, one is no handle, or `timeout` no time.
    """
    handles = _checked("wait_any", handles, timeout)
    if not handles:
        raise ConfigError("wait_any: there is no handle to wait for")
    job = handles[0]._job
    if any(handle._job is not job for handle in handles):
        raise ConfigError("wait_any: the handles are of different jobs")
    job.check_process()
    executions = [handle._execution for handle in handles]
    limits = [(until, execution) for execution in executions if (until := _until(execution)) is not None]
    nothing: tuple[float, Execution | None] = (0.0, None)
    until, first = min(limits, key=_time, default=nothing)
    allowed = until - time.monotonic()
    if first is None or (timeout is not None and timeout <= allowed):
        return job.engine.wait_any(executions, timeout)
    found = job.engine.wait_any(executions, max(0.0, allowed))
    if found is None:
        raise job.overdue(first)
    return found


def _checked(call: str, given: Any, timeout: Any) -> list[Handle]:
    handles = list(given) if isinstance(given, Iterable) else [given]
    for handle in handles:
        if not isinstance(handle, Handle):
            raise ConfigError(f"{call}: {handle!r} is no handle, as calls with wait=False give")
    if timeout is not None:
        seconds(timeout, "or None for no limit")
    return handles


def _until(execution: Execution) -> float | None:
    """When it must have ended, of time.monotonic(); None: never."""
    record = execution.record
    return None if record is None or not record.limit else record.started * _NANO + record.limit


def _time(entry: tuple[float, Execution | None]) -> float:
    return entry[0]

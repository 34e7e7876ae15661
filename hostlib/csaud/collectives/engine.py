"""Several collectives in flight over one transport, which goes on with them by itself."""

import threading
import time
from collections.abc import Callable, Sequence

from csaud import _core
from csaud.collectives.executor import Execution, Runner
from csaud.collectives.schedule import Recv, Send
from csaud.errors import CsaudError

_LONG_WAIT = 3600.0  # s; a wait without a limit looks up now and then


class Engine:
    """Starts executions and waits for them; all calls may come from any thread."""

    def __init__(self, transport: Runner, failed: Callable[[CsaudError], None] = lambda _: None) -> None:
        """`failed` hears of the error that ends the transport."""
        self._transport = transport
        self._failed = failed
        self._lock = threading.Lock()
        self._flying: list[Execution] = []  # not settled
        self._failure: CsaudError | None = None

    def start(self, execution: Execution) -> None:
        """Post what can be posted; CsaudError where the transport has failed."""
        self._settle_others()
        with self._lock:
            self._flying.append(execution)
        try:
            self._transport.start(execution.native)
        except CsaudError as error:
            self._fail(error)
            raise

    def run(self, execution: Execution, timeout: float | None) -> bool:
        """`start` and `wait_any` of it in one."""
        self._settle_others()
        with self._lock:
            self._flying.append(execution)
        return self._wait([execution], timeout, self._transport.run) is not None

    def wait_any(self, executions: Sequence[Execution], timeout: float | None) -> int | None:
        """Wait until one of them has ended: its index; None when none has within `timeout` seconds (None: no
        limit).

        Raises:
            CsaudError: a transfer failed, of one of them or of another execution: all are over then.
        """
        found = self._first_done(executions)
        return self._wait(executions, timeout, self._transport.wait) if found is None else found

    def _wait(
        self, executions: Sequence[Execution], timeout: float | None,
        look: Callable[[_core.Execution, float], bool],
    ) -> int | None:  # fmt: skip
        """As `wait_any`; of a single one, `look` is what the transport does before it only waits."""
        began = time.monotonic_ns()
        deadline = None if timeout is None else time.monotonic() + timeout
        left = _LONG_WAIT if timeout is None else timeout
        while True:
            self._look_at(executions, left, look)
            found = self._first_done(executions)
            if found is not None:
                if (record := executions[found].record) is not None:
                    record.waited.append((began, time.monotonic_ns()))
                return found
            if self._failure is not None:
                raise self._failure
            if deadline is not None and (left := deadline - time.monotonic()) <= 0:
                return None
            look = self._transport.wait

    def _first_done(self, executions: Sequence[Execution]) -> int | None:
        for index, execution in enumerate(executions):
            if self.done(execution):
                return index
        return None

    def look(self) -> None:
        """Do what is to be done for executions that ended, or failed, while nobody waited for them."""
        self._settle_others()
        for execution in self._flying[:1]:
            self._look_at([execution], 0.0, self._transport.wait)

    def done(self, execution: Execution) -> bool:
        """It has ended, with all that Python has to do then."""
        if not execution.ended:
            return False
        with self._lock:
            if execution in self._flying:
                self._flying.remove(execution)
                execution.settle()
        return True

    def check(self) -> None:
        """Raise the error that has ended all that was in flight, if there is one."""
        if self._failure is not None:
            raise self._failure

    def flying(self) -> list[tuple[Execution, list[tuple[int, Send | Recv, int]]]]:
        """What is not over, each with what it has posted: id, operation, bytes."""
        self._settle_others()
        with self._lock:
            flying = list(self._flying)
        return [(execution, self._awaited(execution)) for execution in flying if not execution.ended]

    def fail(self, error: CsaudError) -> None:
        """All that wait get this error."""
        self._failure = self._failure or error

    def _look_at(
        self, executions: Sequence[Execution], timeout: float, look: Callable[[_core.Execution, float], bool]
    ) -> None:
        try:
            if len(executions) == 1:
                look(executions[0].native, timeout)
            else:
                self._transport.wait_any([execution.native for execution in executions], timeout)
        except CsaudError as error:
            self._fail(error)

    def _fail(self, error: CsaudError) -> None:
        self._failed(error)
        self._failure = self._failure or error

    def _awaited(self, execution: Execution) -> list[tuple[int, Send | Recv, int]]:
        return [(id, *execution.message(index)) for id, index in self._transport.awaited(execution.native)]

    def _settle_others(self) -> None:
        """What ended and nobody has looked at."""
        if self._flying:
            for execution in self._flying.copy():
                self.done(execution)

"""Several collectives in flight over one transport.

Whoever waits drives: one thread at a time takes completions from the transport and lets the executions that
they belong to go on; others that wait sleep until it tells them. While operations are in flight that nobody
waits for, a thread of the engine's own drives, so they go on while the application computes.
"""

import threading
import time
from collections.abc import Callable

from csaud.collectives.executor import Execution, Transport
from csaud.collectives.schedule import Recv, Send
from csaud.errors import CsaudError

_LONG_WAIT = 3600.0  # s; a wait without a limit looks up now and then


class Engine:
    """Runs executions; all calls may come from any thread."""

    def __init__(self, transport: Transport, failed: Callable[[CsaudError], None] = lambda _: None) -> None:
        """`failed` hears of the error that ends the transport."""
        self._transport = transport
        self._failed = failed
        self._changed = threading.Condition()
        self._flying: list[Execution] = []
        self._driven = False
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, execution: Execution, *, attended: bool) -> None:
        """Post what can be posted. attended: the caller will wait for it at once."""
        with self._changed:
            self._flying.append(execution)
            execution.start()
            self._clear()
            if execution.done or attended:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._attend, name="csaud-engine", daemon=True)
                self._thread.start()

    def wait(self, execution: Execution, timeout: float | None) -> bool:
        """Drive until it has ended; False when it has not within `timeout` seconds (None: no limit).

        Raises:
            CsaudError: a transfer failed, of this execution or of another one: all are over then.
        """
        return self._drive(lambda: execution.done, timeout)

    def flying(self) -> list[tuple[Execution, list[tuple[int, Send | Recv, int]]]]:
        """What is not over, each with what it has posted."""
        with self._changed:
            return [(execution, execution.awaited()) for execution in self._flying if not execution.done]

    def fail(self, error: CsaudError) -> None:
        """All that wait get this error."""
        with self._changed:
            if self._failure is None:
                self._failure = error
            self._changed.notify_all()

    def _drive(self, done: Callable[[], bool], timeout: float | None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not done():
                if self._failure is not None:
                    raise self._failure
                left = _LONG_WAIT if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    return False
                if self._driven:
                    self._changed.wait(left)
                else:
                    self._take(left)
            return True

    def _take(self, timeout: float) -> None:
        """Wait for completions, without the lock, and go on with what they belong to."""
        self._driven = True
        self._changed.release()
        completed: list[int] = []
        try:
            completed = self._transport.wait(timeout)
        except CsaudError as error:
            self._failed(error)
            self._failure = self._failure or error
        finally:
            self._changed.acquire()
            self._driven = False
            self._changed.notify_all()
        for transfer in completed:
            for execution in self._flying:
                if execution.finish(transfer):
                    break
        self._clear()

    def _clear(self) -> None:
        self._flying = [execution for execution in self._flying if not execution.done]

    def _attend(self) -> None:
        """The engine's own thread: drives while anything is in flight, then ends."""
        with self._changed:
            try:
                while self._flying and self._failure is None:
                    if self._driven:
                        self._changed.wait()
                    else:
                        self._take(_LONG_WAIT)
            except BaseException as error:  # whoever waits gets it
                self._failure = error
                self._changed.notify_all()
            finally:
                self._thread = None


class Handle:
    """A collective in flight. Its arrays must not be touched before it has ended."""

    def __init__(self, engine: Engine, execution: Execution) -> None:
        self._engine = engine
        self._execution = execution

    @property
    def done(self) -> bool:
        """It has ended."""
        return self._execution.done

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end; False when it has not ended within `timeout` seconds (None: no limit).

        Raises:
            PeerUnreachable, Aborted, Timeout, ProtocolError: it failed.
        """
        return self._engine.wait(self._execution, timeout)

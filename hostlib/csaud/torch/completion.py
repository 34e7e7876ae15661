"""Completes the futures of works that somebody wants told of, and not only waits for.

Only a work whose future was asked for comes here, so scripts that never do have no such thread. It sleeps in
the native library, where it drives what is in flight as any waiting thread does.
"""

import threading
from typing import Protocol

_TURN = 0.002  # s that one of several works is waited for before the others are looked at


class Waited(Protocol):
    """A work, as this thread sees it."""

    def look(self) -> bool: ...

    def abandon(self) -> None: ...

    def wait_for(self, limit: float | None) -> bool: ...


class Completion:
    """One thread, started with the first work and ended by `close`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._works: list[Waited] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, work: Waited) -> None:
        """Complete this work's future when it is over."""
        with self._changed:
            if self._closed:
                raise RuntimeError("csaud: the process group has been destroyed")
            self._works.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="csaud-futures", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """End the thread; futures of what is not over fail."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        for work in self._works:
            work.abandon()
        self._works = []

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._works and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                works = list(self._works)
            over = {id(work) for work in works if work.look()}
            if not over:
                works[0].wait_for(_TURN)
                continue
            with self._changed:
                self._works = [work for work in self._works if id(work) not in over]

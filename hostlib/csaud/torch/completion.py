"""Completes the futures of works that somebody wants told of, and not only waits for.

Only a work whose future was asked for comes here, so scripts that never do have no such thread. It sleeps
while the library's own thread goes on with what is in flight: the script computes meanwhile, and who looked
for packets would take the processor, and Python's lock, from it.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from csaud.groups.handle import Handle

_LONGEST = 0.25  # s between two looks at works: their time may be over
_LOCAL = 0.002  # s between two looks at what no packet ends: a rank's messages to itself


class Waited(Protocol):
    """A work, as this thread sees it."""

    def look(self) -> bool: ...

    def awaited(self) -> Any: ...

    def abandon(self) -> None: ...

    def wait_for(self, limit: float | None) -> bool: ...


class Completion:
    """One thread, started with the first work and ended by `close`.

    Args:
        watch: sleeps until one of these handles has ended, well or not, for so many seconds at most.
        recall: ends that sleep, or else the next one.
    """

    def __init__(self, watch: Callable[[Sequence[Handle], float], None], recall: Callable[[], None]) -> None:
        self._watch = watch
        self._recall = recall
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
        self._recall()

    def close(self) -> None:
        """End the thread; futures of what is not over fail."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._recall()
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
            # A wait of no time finds what has failed, too, or is overdue.
            over = {id(work) for work in works if work.look() or work.wait_for(0.0)}
            if over:
                with self._changed:
                    self._works = [work for work in self._works if id(work) not in over]
                continue
            awaited = [work.awaited() for work in works]
            handles = [handle for handle in awaited if isinstance(handle, Handle)]
            self._watch(handles, _LONGEST if len(handles) == len(works) else _LOCAL)

"""Completes the futures of works that somebody wants told of, and not only waits for.

Only a work whose future was asked for comes here, so scripts that never do have no such thread. It sleeps
while the library's own thread goes on with what is in flight: the script computes meanwhile, and who looked
for packets would take the processor, and Python's lock, from it.

Callbacks of futures may wait for other futures. So a thread that runs some does not watch meanwhile: where
there is something to watch, another one does.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from csaud.groups.handle import Handle

_LONGEST = 0.25  # s between two looks at works: their time may be over
_LOCAL = 0.002  # s between two looks at what no packet ends: a rank's messages to itself


class Waited(Protocol):
    """A work, as this thread sees it."""

    def over(self) -> bool:
        """Whether it has ended, well or not, or its time is over."""

    def tell(self) -> None:
        """Complete the future of what is over; its callbacks run here."""

    def awaited(self) -> Any:
        """The first of its handles that has not ended; None: all have."""

    def abandon(self) -> None:
        """It is given up: its future fails."""


class Completion:
    """A thread, started with the first work, and others where callbacks hold it up; `close` ends them.

    Args:
        watch: sleeps until one of these handles has ended, well or not, for so many seconds at most.
        recall: ends that sleep, or else the next one.
    """

    def __init__(self, watch: Callable[[Sequence[Handle], float], None], recall: Callable[[], None]) -> None:
        self._watch = watch
        self._recall = recall
        self._changed = threading.Condition()
        self._turn = threading.Semaphore(0)  # of a spare thread to watch
        self._works: list[Waited] = []
        self._threads: set[threading.Thread] = set()
        self._spare = 0  # threads that wait for their turn: one at most
        self._watched = False
        self._closed = False

    def add(self, work: Waited) -> None:
        """Complete this work's future when it is over."""
        with self._changed:
            if self._closed:
                raise RuntimeError("csaud: the process group has been destroyed")
            self._works.append(work)
            self._changed.notify()
            self._have_watched()
        self._recall()

    def close(self) -> None:
        """End the threads; futures of what is not over fail."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            if self._spare:
                self._turn.release(self._spare)
            threads = self._threads - {threading.current_thread()}
        self._recall()
        for work in self._works:  # before threads are waited for: their callbacks may wait for these
            work.abandon()
        for thread in threads:
            thread.join()
        self._works = []

    def _have_watched(self) -> None:
        """Unless a thread watches, a spare one does, or else a new one; with the lock held."""
        if self._watched:
            return
        self._watched = True
        if self._spare:
            self._spare -= 1
            self._turn.release()
        else:
            thread = threading.Thread(target=self._run, name="csaud-futures", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _run(self) -> None:
        while over := self._ended():
            told = {id(work) for work in over}
            with self._changed:
                self._works = [work for work in self._works if id(work) not in told]
                self._watched = False
                if self._works and not self._closed:
                    self._have_watched()
            for work in over:
                work.tell()
            if not self._is_to_watch():
                break
        with self._changed:
            self._threads.discard(threading.current_thread())

    def _is_to_watch(self) -> bool:
        """Of a thread that has run callbacks, when it is its turn; False: there is no need of it."""
        with self._changed:
            if self._closed or (self._watched and self._spare):
                return False
            if not self._watched:
                self._watched = True
                return True
            self._spare += 1
        self._turn.acquire()
        return True

    def _ended(self) -> list[Waited]:
        """Works that are over, some at least; none: this is closed."""
        while True:
            with self._changed:
                while not self._works and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return []
                works = list(self._works)
            if over := [work for work in works if work.over()]:
                return over
            awaited = [work.awaited() for work in works]
            handles = [handle for handle in awaited if isinstance(handle, Handle)]
            self._watch(handles, _LONGEST if len(handles) == len(works) else _LOCAL)

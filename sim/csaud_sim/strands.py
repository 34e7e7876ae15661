"""Programs that wait for virtual time: each a thread of its own, of which one at a time runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable


class _Abandoned(BaseException):
    """The job is over for this program, whatever it was at."""


class Strand:
    """A program that runs when it is resumed, until it waits for something or is over."""

    def __init__(self, work: Callable[[Strand], None]) -> None:
        """`work` is given this object, on which to wait."""
        self._work = work
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._awaited: Callable[[], bool] = lambda: True
        self._abandoned = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.over = False
        self.error: BaseException | None = None
        """What ended it before its time."""

    @property
    def ready(self) -> bool:
        """It would go on."""
        return not self.over and self._awaited()

    def resume(self) -> None:
        """Let it run until it waits, or is over."""
        self._mine.release()
        self._theirs.acquire()

    def until(self, awaited: Callable[[], bool]) -> None:
        """Called by the program: let the others run, and virtual time pass, until this holds."""
        self._awaited = awaited
        self._theirs.release()
        self._mine.acquire()
        if self._abandoned:
            raise _Abandoned

    def abandon(self) -> None:
        """End it where it waits."""
        while not self.over:  # what it has to tidy up may want to wait, too
            self._abandoned = True
            self.resume()
        self._thread.join()

    def _run(self) -> None:
        self._mine.acquire()
        try:
            if not self._abandoned:
                self._work(self)
        except _Abandoned:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.over = True
            self._theirs.release()


def resume_ready(strands: Iterable[Strand]) -> None:
    """Let each that is ready run, in order, as long as it is; raises what ended one of them."""
    for strand in strands:
        while strand.ready:
            strand.resume()
        if strand.error is not None:
            raise strand.error

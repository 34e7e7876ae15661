"""What runs, how far it is and for how long: one live line on a terminal, otherwise a line for each news."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from types import TracebackType

_REFRESH_S = 0.5
_QUARTER = 0.25


class Step:
    """One of the things that are done at a time."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name = name
        self.doing = ""
        self.share = 0.0
        self._begun = time.monotonic()
        self._told = 0.0
        self._progress = progress

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._begun

    def at(self, doing: str, share: float = 0.0) -> None:
        """Say what it does and which share of its work is done, where that is known."""
        self.doing, self.share = doing, share
        if share >= self._told + _QUARTER:
            self._told = share - share % _QUARTER
            self._progress.line(f"{self.name}: {doing}", only_without_terminal=True)

    def __str__(self) -> str:
        return f"{self.name}: {self.doing}" if self.doing else self.name


class Progress:
    """Steps that run side by side."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._steps: list[Step] = []
        self._live = sys.stdout.isatty()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._painter = threading.Thread(target=self._paint_until_ended, daemon=True)

    def __enter__(self) -> Progress:
        if self._live:
            self._painter.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._live:
            self._painter.join()
            with self._lock:
                self._write("\r\x1b[K")

    @property
    def seconds(self) -> int:
        """Since the first step began."""
        return int(time.monotonic() - self._begun)

    def begin(self, name: str) -> Step:
        """A step begins."""
        step = Step(name, self)
        with self._lock:
            self._steps.append(step)
        return step

    def end(self, step: Step, result: str) -> None:
        """It is done."""
        with self._lock:
            self._steps.remove(step)
        self.line(f"{step.name}: {result} ({step.seconds:.0f} s)")

    def line(self, text: str, only_without_terminal: bool = False) -> None:
        """A line that stays, with the time since the beginning."""
        with self._lock:
            if not self._live:
                self._write(f"{self._clock()}  {text}\n")
            elif not only_without_terminal:
                self._write(f"\r\x1b[K{self._clock()}  {text}\n")

    def _clock(self) -> str:
        return f"{self.seconds:4d} s"

    def _paint_until_ended(self) -> None:
        while not self._ended.wait(_REFRESH_S):
            with self._lock:
                if self._steps:
                    text = f"{self._clock()}  " + "   ".join(map(str, self._steps))
                    self._write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

"""What ranks say: shown a line at a time with the rank in front, and kept in a log of each."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import IO

from csaud_topologies.base.say import say


class Screen:
    """Our own stdout and stderr, written to by many readers, a line at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told = False

    def show(self, line: bytes, rank: int, to: IO[bytes]) -> None:
        """OSError and ValueError of a stream that nobody reads any more are swallowed: ranks go on."""
        end = b"" if line.endswith(b"\n") else b"\n"
        with self._lock, contextlib.suppress(OSError, ValueError):
            to.write(b"[rank %d] " % rank + line + end)
            to.flush()

    def tell_unlogged(self, log: Path, error: OSError) -> None:
        """Once for all logs: one disk is full for each of them."""
        with self._lock:
            if not self._told:
                say(f"{log}: {error.strerror}; what follows is shown and not logged")
            self._told = True


class RankLog:
    """The log of one rank. When it cannot be written any more the rank goes on, as its output is shown."""

    def __init__(self, path: Path, screen: Screen) -> None:
        self._path, self._screen = path, screen
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            screen.tell_unlogged(path, error)

    def write(self, line: bytes) -> None:
        """All of it: a raw file may take a part."""
        with self._lock:
            if self._file is None:
                return
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[self._file.write(rest) :]
            except OSError as error:
                self._close()
                self._screen.tell_unlogged(self._path, error)

    def close(self) -> None:
        """What comes later is not logged."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

"""Commands whose output goes to a log and is watched; one that fails ends the others."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

_LAST_LINES = 30


class InstallError(Exception):
    """What a user reads instead of a traceback."""


class Commands:
    """Runs commands, from several threads at once; after `stop` none begins any more."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._begun: set[str] = set()
        logs.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        log: str,
        command: Sequence[str | Path],
        watch: Callable[[str], None] = lambda line: None,
        **environment: str,
    ) -> None:
        """Add its output to the log, showing each line to `watch`; InstallError unless it returns 0."""
        path = self._logs / log
        last: deque[str] = deque(maxlen=_LAST_LINES)
        with path.open("a" if log in self._begun else "w") as file:
            self._begun.add(log)
            process = self._start(command, environment)
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                file.flush()
                last.append(line)
                watch(line.rstrip("\n"))
            status = process.wait()
        with self._lock:
            self._running.discard(process)
            if status != 0 and self._stopped:
                raise InstallError("")
        if status != 0:
            raise InstallError(
                f"{''.join(last)}{command[0]} failed with status {status}; all it said: {path}"
            )

    def _start(self, command: Sequence[str | Path], environment: dict[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise InstallError("")
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, **environment},
            )
            self._running.add(process)
        return process

    def stop(self) -> None:
        """End what runs, once."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()

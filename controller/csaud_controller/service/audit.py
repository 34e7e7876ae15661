"""Who asked for which change, and what became of it: two lines of JSON each, the first of them on disk before
the change is made."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

LOG = logging.getLogger("csaud.service")


class Audit:
    """Appends to a file."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()

    def asked(self, who: str, address: str, op: str, arguments: dict[str, Any]) -> float:
        """Note what is about to be asked of the controller; OSError where that cannot be. Returns its time,
        by which the second line names it."""
        now = round(time.time(), 6)
        self._write({"time": now, "who": who, "address": address, "op": op, "arguments": arguments})
        return now

    def answered(self, asked: float, outcome: str) -> None:
        """Note what became of it. Whoever asked has to hear of that, whether it can be noted or not."""
        try:
            self._write({"time": round(time.time(), 6), "asked": asked, "outcome": outcome})
        except OSError as error:
            LOG.warning(
                "what became of the change asked for at %s is not noted (%s): %s", asked, error, outcome
            )

    def _write(self, line: dict[str, Any]) -> None:
        """The whole line, or nothing: what comes next would be a part of half a line."""
        with self._lock, self._path.open("ab", buffering=0) as file:
            before, rest = file.tell(), memoryview(json.dumps(line).encode() + b"\n")
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(file.fileno(), before)
                raise OSError(error.errno, error.strerror, str(self._path)) from None

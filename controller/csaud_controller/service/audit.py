"""Who asked for which change, and what became of it: two lines of JSON each, the first of them on disk before
the change is made."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any


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
        """Note what became of it; OSError."""
        self._write({"time": round(time.time(), 6), "asked": asked, "outcome": outcome})

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

"""Child processes."""

from __future__ import annotations

import subprocess
from typing import Any


def end_process(process: subprocess.Popen[Any], patience_s: float) -> None:
    """Ask a process to end, and kill it when it has not after `patience_s` seconds. Idempotent."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

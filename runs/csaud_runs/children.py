"""Child processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from typing import Any

PR_SET_PDEATHSIG = 1  # sys/prctl.h


def end_process(process: subprocess.Popen[Any], patience_s: float) -> None:
    """Ask a process to end, and kill it when it has not after `patience_s` seconds. Idempotent."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_with_parent(parent: int) -> None:
    """The kernel kills this process when the thread that started it, of process `parent`, ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before it could be watched
        os._exit(1)

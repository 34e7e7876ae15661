"""Child processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

PR_SET_PDEATHSIG = 1  # sys/prctl.h

_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork


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
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before it could be watched
        os._exit(1)


def ends_with_this_process() -> Callable[[], None]:
    """A `preexec_fn` for subprocess: the new process never outlives this one, not even when it is killed."""
    return partial(end_with_parent, os.getpid())

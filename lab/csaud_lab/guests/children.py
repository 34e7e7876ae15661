"""Processes that never outlive the one that started them, not even when it is killed."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

from csaud_runs.children import PR_SET_PDEATHSIG

_libc = ctypes.CDLL(None, use_errno=True)


def ends_with_this_process() -> Callable[[], None]:
    """A `preexec_fn` for subprocess: the kernel kills the new process when the calling thread ends."""
    parent = os.getpid()

    def before_exec() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it could be watched
            os._exit(1)

    return before_exec

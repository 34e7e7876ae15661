"""Child processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1  # sys/prctl.h

_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork


def end_process(process: subprocess.Popen[Any], patience_s: float) -> None:
    """Ask a process to end, and kill it when it has not after `patience_s` seconds. Idempotent."""
    end_processes([process], patience_s)


def end_processes(processes: Collection[subprocess.Popen[Any]], patience_s: float) -> None:
    """The same of several, which have that time together."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + patience_s
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
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


@contextmanager
def unwound_by_signals() -> Iterator[None]:
    """While the body runs, SIGTERM and SIGHUP end this process by SystemExit, so that it can end what it has
    started; those that come after the first one are ignored. What the process ignores, or has another use
    for, is left as it is."""
    numbers: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():  # only there are handlers called
        both = signal.SIGTERM, signal.SIGHUP
        numbers = [number for number in both if signal.getsignal(number) is signal.SIG_DFL]

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in numbers:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)

"""All that a process has started, wherever it went: a process group is left by setsid, as torchrun's workers
do, and a parent by its end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36  # sys/prctl.h
_LOOK_EVERY_S = 0.02
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """From now on what our descendants leave behind becomes our child, not that of the init."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants(spare: Collection[int], children: Collection[int], within_s: float) -> None:
    """Kill all below this process until none is left, or for `within_s` seconds.

    Args:
        spare: pids of those that live on, with all below them.
        children: pids of those that somebody else waits for.
    """
    deadline = time.monotonic() + within_s
    while (running := _descendants(spare)) and time.monotonic() < deadline:
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            if pid not in children:
                with contextlib.suppress(ChildProcessError):  # a grandchild yet
                    os.waitpid(pid, os.WNOHANG)
        time.sleep(_LOOK_EVERY_S)


def _descendants(spare: Collection[int]) -> list[int]:
    below: dict[int, list[int]] = defaultdict(list)
    zombies: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(stat.parent.name)
        below[int(fields[1])].append(pid)
        if fields[0] == "Z":
            zombies.add(pid)
    found, open_ = [], [os.getpid()]
    while open_:
        children = [pid for pid in below[open_.pop()] if pid not in spare]
        found += children
        open_ += children
    return [pid for pid in found if pid not in zombies]

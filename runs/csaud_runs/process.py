"""Processes named by (pid, start time), so that a pid that was given to another process is never touched."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat); None if it is gone or
    a zombie.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the command's name, in parentheses, may hold blanks
    return None if fields[0] == "Z" else int(fields[19])


@dataclass(frozen=True)
class Process:
    """One process for good: the pair stays unique even when its pid is used again."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this pid now, or None."""
        started = start_ticks(pid)
        return None if started is None else cls(pid, started)

    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return start_ticks(self.pid) == self.started

    def kill(self, signum: signal.Signals) -> bool:
        """Send a signal if it is still this process; the pidfd closes the gap between the check and the
        kill.
        """
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.is_alive():
                return False
            signal.pidfd_send_signal(handle, signum)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)

    def catches(self, signum: signal.Signals) -> bool:
        """Whether it has a handler for this signal."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        caught = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), 16)
        return bool(caught >> (signum - 1) & 1)

    def wait_gone(self, timeout_s: float) -> bool:
        """Wait until it is gone (it need not be our child); False when it still runs after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def child_of(pid: int) -> int | None:
    """Pid of the only (first) child of a single-threaded process, or None while it has none."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(children[0]) if children else None

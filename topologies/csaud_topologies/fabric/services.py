"""Long-running processes of a run: switches and the controller, each with a log file and watched for an
early end.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_runs.children import end_process
from csaud_runs.errors import RunError

from csaud_topologies.base.signals import signal_name

_LAST_LINES = 5
_NICENESS = -10


def start_on(node: Any, command: Sequence[str], **popen: Any) -> subprocess.Popen[Any]:
    """Start a command on a Mininet node (in its namespace), or in the run's own where `node` is None."""
    process: subprocess.Popen[Any]
    if node is None:
        process = subprocess.Popen(list(command), start_new_session=True, **popen)
    else:
        process = node.popen(list(command), **popen)  # mnexec -d: a session of its own, too
    return process


def _prefer(pid: int) -> None:
    """Let a process go before others, as far as we may: hosts do not slow a real fabric or its controller.

    Its niceness, and that of the scheduling group that the kernel makes for its session.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
        Path(f"/proc/{pid}/autogroup").write_text(str(_NICENESS))


@dataclass
class Service:
    """One process and its log."""

    name: str
    process: subprocess.Popen[Any]
    log: Path

    @classmethod
    def start(
        cls, name: str, command: Sequence[str], logs: Path, node: Any = None, *, again: bool = False
    ) -> Service:
        """Start it with stdout and stderr in `logs`/NAME.log, and ahead of workers for the processor.
        `again`: the log goes on."""
        log = logs / f"{name}.log"
        with log.open("ab" if again else "wb") as file:
            process = start_on(node, command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        _prefer(process.pid)
        return cls(name, process, log)

    def check(self) -> None:
        """RunError, with the last lines of its log, when it has ended."""
        if self.process.poll() is not None:
            raise RunError(f"{self.name} {self.ending()}{tail(self.log)}")

    def ending(self) -> str:
        """How its process has ended, in words."""
        status = self.process.returncode
        return f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"

    def stop(self, patience_s: float = 5.0) -> None:
        """End it: asked first, then killed."""
        end_process(self.process, patience_s)


def tail(log: Path, with_path: bool = True) -> str:
    """The last lines of a log for an error message, and where the rest is."""
    try:
        lines = deque((line.rstrip() for line in log.open(errors="replace") if line.strip()), _LAST_LINES)
    except OSError:
        return ""
    return "".join(f"\n  | {line}" for line in lines) + (f"\n  (all of it: {log})" if with_path else "")


@dataclass
class Services:
    """All services of a run; ended in reverse order."""

    running: list[Service] = field(default_factory=list)

    def add(self, service: Service) -> Service:
        """Watch it from now on."""
        self.running.append(service)
        return service

    def replace(self, service: Service, by: Service) -> None:
        """From now on it is watched as another one watches."""
        self.running[self.running.index(service)] = by

    def check(self) -> None:
        """RunError when one of them has ended."""
        for service in self.running:
            service.check()

    def stop(self) -> None:
        """End all."""
        while self.running:
            self.running.pop().stop()

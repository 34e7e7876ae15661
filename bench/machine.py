"""The machine that is measured on: what it is, and how to get hold of it for a while."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path


class MachineError(RuntimeError):
    """The machine lacks what a benchmark needs; the message says what."""


def cores() -> tuple[int, int]:
    """Two processors: one for the switch, one for the traffic. MachineError when there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise MachineError("benchmarks need two processors: one for the switch, one for the traffic")
    return usable[-1], usable[0]


def describe() -> dict[str, str]:
    """Processor, kernel, load and versions, as they go beside results."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    return {
        "processor": f"{model}, {len(os.sched_getaffinity(0))} usable",
        "kernel": platform.release(),
        "load before": f"{os.getloadavg()[0]:.2f}",
        "commit": _output("git", "rev-parse", "--short", "HEAD"),
    }


@contextlib.contextmanager
def priority() -> Iterator[None]:
    """Other work on the machine gets little of the processors meanwhile, as far as we may: niceness of this
    process and of its session's scheduling group, both inherited by what it starts.
    """
    group = Path("/proc/self/autogroup")
    nice_before = os.nice(0)
    with contextlib.suppress(OSError):  # not root, or a kernel without such groups
        os.nice(-15)
    with contextlib.suppress(OSError):
        group.write_text("-19")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            group.write_text("0")
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, nice_before)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _output(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"

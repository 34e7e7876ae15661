"""Commands that must succeed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from csaud_runs.errors import RunError

_LOOK_EVERY_S = 0.05


def run(*command: str | Path, cwd: Path | None = None) -> None:
    """RunError with what it said unless it returns 0."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RunError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")


def ip(words: str) -> None:
    """`ip` with these words."""
    run("ip", *words.split())


def wait_until(holds: Callable[[], bool], what: str, within_s: float = 180.0) -> None:
    """RunError when it does not in time; `what` says of what that is."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            raise RunError(f"{what} after {within_s:.0f} s")
        time.sleep(_LOOK_EVERY_S)

"""What `make lab-wheels` makes: a wheel of this project in build/dist, and beside others what hosts get."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


@functools.cache  # a minute or more each time; tests that want it run in one process
def wheels_for_hosts() -> Path:
    """The folder with the wheel and all that it needs."""
    made = subprocess.run(
        ["make", "lab-wheels", f"PYTHON={sys.executable}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return ROOT / "build/lab-wheels"

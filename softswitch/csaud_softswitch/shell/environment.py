"""The virtual environment of p4runtime-shell, made on first use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

VERSION = "0.0.6"
ENVIRONMENT = "CSAUD_SHELL_VENV"
"""Names the folder of the virtual environment; default: in the user's cache folder."""

_PACKAGES = (f"p4runtime-shell=={VERSION}", "setuptools<81")
_COMPLETE = "csaud-complete"
"""A file that is written last: without it the environment is not whole, and made again."""


class ShellError(Exception):
    """The environment cannot be made; the message says what failed."""


def folder() -> Path:
    if named := os.environ.get(ENVIRONMENT):
        return Path(named).absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "csaud" / f"p4runtime-shell-{VERSION}"


def ensure(say: Callable[[str], None]) -> Path:
    """The environment's Python. Makes the environment where it is missing, and says so."""
    where = folder()
    python = where / "bin" / "python"
    if (where / _COMPLETE).is_file():
        return python
    say(f"installing p4runtime-shell {VERSION} into {where} (once; it takes about a minute)")
    shutil.rmtree(where, ignore_errors=True)
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ShellError(f"{where.parent}: {error.strerror}") from error
    _run([sys.executable, "-m", "venv", str(where)], "no virtual environment can be made")
    _run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES],
        f"pip could not install p4runtime-shell {VERSION}",
    )
    (where / _COMPLETE).write_text("\n".join(_PACKAGES) + "\n")
    return python


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise ShellError(f"{failure}: {reason[-1] if reason else f'status {done.returncode}'}")

"""Small C++ programs of tests, with sanitizers: compiled once, by whichever process comes first."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_OPTIONS = ("-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined")


def compiled(
    factory: pytest.TempPathFactory, name: str, sources: Sequence[Path], includes: Sequence[Path]
) -> Path:
    """The program that is made of these sources, as one: headers are read once."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of the whole run
    made = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            whole, unfinished = folder / f"{name}.cpp", folder / f"{name}.part"
            whole.write_text("".join(f'#include "{source}"\n' for source in sources))
            paths = [f"-I{path}" for path in includes]
            subprocess.run(["g++", *_OPTIONS, *paths, "-o", unfinished, whole], check=True)
            unfinished.rename(made)
    return made

"""Rehearsals for tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from csaud_lab.rehearsal.needs import lacking

needs_rehearsal = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")


def rehearse(
    folder: Path,
    topo: str,
    *command: str,
    wheels: Path | None = None,
    target: str = "soft",
    options: tuple[str, ...] = (),
) -> str:
    """What a command, or without one the rehearsal's own steps, printed; it must end with status 0."""
    words = [
        "--target",
        target,
        "--topo",
        topo,
        "--out",
        str(folder),
        "--wheels",
        str(wheels or folder / "wheels"),
        *options,
    ]
    lab = [str(Path(sys.executable).parent / "csaud"), "lab", "rehearse", *words]
    done = subprocess.run([*lab, "--", *command], capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout

"""Which code runs here: machines whose results are put together should have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import csaud
import csaud_controller
import csaud_topologies
from csaud_controller.program.artifacts import find_artifacts

_SIM = Path(__file__).parents[1]
PYTHON = (
    _SIM,
    Path(csaud_controller.__file__).parent,
    *(Path(csaud.__file__).with_name(part) for part in ("collectives", "config", "network")),
    Path(csaud_topologies.__file__).with_name("scenario"),
)
"""Folders of what decides it: of the host library its schedules and settings."""
_NATIVE = [_SIM.resolve().parents[1] / part / "native" for part in ("sim", "hostlib", "softswitch")]
"""In a checkout."""


class Code(NamedTuple):
    """What decides how a run ends."""

    version: str
    python: str
    program: str
    """That of the switches."""
    native: str
    """Sources of what is compiled; empty where only what compilers made of them is there."""

    def is_that_of(self, other: Code) -> bool:
        """As far as both can tell."""
        return self[:3] == other[:3] and (self.native == other.native or not (self.native and other.native))

    def __str__(self) -> str:
        """The version, and what tells two of the same version apart."""
        return f"{self.version} ({'-'.join(part[:7] or 'compiled' for part in self[1:])})"


@cache
def this_code() -> Code:
    """That of this process, as its files were when it was first asked for."""
    return Code(version("csaud"), _digest(PYTHON, ".py"), find_artifacts().digest, _digest(_NATIVE, ""))


def _digest(folders: Iterable[Path], ending: str) -> str:
    """Of names and contents; empty: there is no such file."""
    found = [
        (f"{number} {path.relative_to(folder).as_posix()}", path)
        for number, folder in enumerate(folders)
        for path in folder.rglob(f"*{ending}")
        if path.is_file()
    ]
    whole = hashlib.sha256()
    for name, path in sorted(found):
        whole.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest() if found else ""

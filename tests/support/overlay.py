"""Other copies of the packages in place of the installed ones, for a process and all that it starts.

An editable install puts a finder before PYTHONPATH, so that alone a folder there would be passed over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

HOOK = """# The packages are those on PYTHONPATH, not those of the editable install.
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__name__.startswith("ScikitBuild")]
"""


def sources(root: Path) -> list[Path]:
    """The folders of a tree from which its packages are imported."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    packages = project["tool"]["scikit-build"]["wheel"]["packages"]
    return [root / Path(package).parent for package in packages]


class OverlayError(RuntimeError):
    """A package would be imported from elsewhere."""


def environment(folders: Sequence[Path]) -> dict[str, str]:
    """Variables with which Python takes packages from these folders first; the first one gets a hook."""
    (folders[0] / "sitecustomize.py").write_text(HOOK)
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))}


def check(environ: dict[str, str], module: str, folder: Path, *prefix: str) -> None:
    """OverlayError unless `module` is imported from below `folder`, by a Python started through `prefix`."""
    show = f"import {module}; print({module}.__file__)"
    done = subprocess.run([*prefix, sys.executable, "-c", show], env=environ, capture_output=True, text=True)
    place = done.stdout.strip()
    if done.returncode != 0 or not Path(place).is_relative_to(folder):
        raise OverlayError(f"{module} is not that of {folder}: {place or done.stderr.strip()}")

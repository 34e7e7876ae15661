"""The native benchmark programs: built when they are needed, and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "p4src/artifacts/csaud.json"
P4INFO = ROOT / "p4src/artifacts/csaud.p4info.txtpb"

SWITCH = "softswitch/native"


class NativeError(RuntimeError):
    """A benchmark program cannot be built, or failed; the message has its words."""


def build(*targets: str, part: str = SWITCH) -> None:
    """Compile the programs named, of a part of the package; NativeError with the compiler's last words."""
    folder = _folder(part)
    commands = [["ninja", "-C", str(folder), *targets]]
    if not (folder / "build.ninja").exists():
        source = ROOT / part
        commands.insert(0, ["cmake", "-S", str(source), "-B", str(folder), "-GNinja",
                            f"-DPython_EXECUTABLE={sys.executable}"])  # fmt: skip
    for argv in commands:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NativeError(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-2000:]}")


def path(target: str, part: str = SWITCH) -> Path:
    """Where a program of a part of the package lies once it is built."""
    folder = _folder(part)
    inner = folder / part
    return (inner if inner.exists() else folder) / target


def _folder(part: str) -> Path:
    """The build of the whole package where there is one, so that little is left to compile."""
    if given := os.environ.get("CSAUD_BENCH_BUILD"):
        return Path(given)
    package = ROOT / "build/cmake"
    return package if (package / "build.ninja").exists() else ROOT / "build/bench" / part


def run(argv: Sequence[str]) -> dict[str, Any]:
    """Run a program that prints one line of JSON."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NativeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def hop(core: int, **options: int | str) -> dict[str, Any]:
    """csaud_switch_hop on one processor; options as on its command line."""
    argv = ["taskset", "-c", str(core), str(path("csaud_switch_hop")), str(PROGRAM)]
    for name, value in options.items():
        argv += [f"--{name}", str(value)]
    return run(argv)

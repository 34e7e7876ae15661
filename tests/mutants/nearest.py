"""Which tests are asked about a mutant of a file: those that name it first, then the others of its part.

The tests of whole fabrics and of guests are not asked: they take minutes, and what they find alone is rarely
a small mistake.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

PARTS = {
    "hostlib/native/csaud_host": ("tests/hostlib",),
    "hostlib/native/collectives": ("tests/hostlib",),
    "hostlib/csaud": ("tests/hostlib", "tests/recover", "tests/scape", "tests/torch_backend"),
    "controller/csaud_controller": ("tests/controller", "tests/topologies"),
}
"""Folder of sources -> folders of its tests."""

NEEDS = {"hostlib/csaud/torch": ("torch", "PyTorch is not installed (`make torch` does that)")}
"""Folder of sources whose tests are skipped without a module -> the module, and what is said then."""

# How the names of those begin that see native code, the nearest first. The core is tested through sockets,
# damaged packets and schedules of faults, too, and what runs collectives by jobs of processes.
OF_NATIVE = {
    "hostlib/native/csaud_host": (
        "core_",
        "malformed_packets",
        "fault_schedules",
        "device_counters",
        "device_ecn",
        "device_flight",
        "device_threads",
        "path_reports",
        "threats",
    ),
    "hostlib/native/collectives": (
        "collectives_",
        "device_communicator",
        "device_flight",
        "device_mismatch",
        "device_threads",
    ),
}
WHOLE_RUNS = ("test_net_", "test_workloads", "test_bmv2")
_TOGETHER = 8  # files of tests; the limit on time is for so many, not for all that a part has


def part(path: str) -> str:
    """The folder of PARTS that a source file is in; KeyError where it is in none."""
    for folder in PARTS:
        if path.startswith(folder + "/"):
            return folder
    raise KeyError(path)


def lacks(path: str) -> tuple[str, str] | None:
    """The folder that a source file is in, and why its tests would all be skipped here."""
    for folder, (module, why) in NEEDS.items():
        if path.startswith(folder + "/") and importlib.util.find_spec(module) is None:
            return folder, why
    return None


def stages(root: Path, path: str, near: bool = False) -> list[list[str]]:
    """Files of tests, the nearest first, in groups of a few that are asked in turn; of those that name the
    file alone, if `near`, or the nearest group where none does."""
    folder = part(path)
    nearness = {file: _nearness(root / file, path) for file in sorted(_candidates(root, folder))}
    files = sorted(nearness, key=lambda file: -nearness[file])
    if folder in OF_NATIVE:
        first = [file for file in files if f"/test_{OF_NATIVE[folder][0]}" in file]
    else:
        first = [file for file in files if nearness[file]]
    others = [file for file in files if file not in first]
    if near:
        return _groups(first) or _groups(others)[:1]
    return _groups(first) + _groups(others)


def _groups(files: list[str]) -> list[list[str]]:
    return [files[at : at + _TOGETHER] for at in range(0, len(files), _TOGETHER)]


def _candidates(root: Path, folder: str) -> Iterator[str]:
    for tests in PARTS[folder]:
        for file in (root / tests).rglob("test_*.py"):
            name = file.stem.removeprefix("test_")
            if file.name.startswith(WHOLE_RUNS) or not name.startswith(OF_NATIVE.get(folder, "")):
                continue
            if folder == "hostlib/csaud" and (
                name.startswith("core_") or name in ("fault_schedules", "fuzz")
            ):
                continue
            yield file.relative_to(root).as_posix()


def _nearness(test: Path, path: str) -> int:
    """How often a file of tests names the source file, or what is in it; more where its own name is that of
    the file, or begins with the folder's, as of tests that call a command."""
    stem = Path(path).stem
    words = [stem, "".join(word.capitalize() for word in stem.split("_"))]
    if path.endswith(".py"):
        package = re.escape(Path(path).parent.as_posix().split("/", 1)[1].replace("/", "."))
        words = [rf"{package}\.{stem}", rf"from {package} import .*\b{stem}"]
    name = test.stem.removeprefix("test_").removeprefix("core_")
    named = 10 * (name == stem) + 5 * (f"{name}_".startswith(f"{Path(path).parent.name}_"))
    text = test.read_text()
    return named + sum(len(re.findall(rf"\b{word}\b", text)) for word in words)

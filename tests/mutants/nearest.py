"""Which tests are asked about a mutant of a file: those that name it first, then the others of its part, of
which those come first that share most of its words with it.

The tests of whole fabrics and of guests are not asked: they take minutes, and what they find alone is rarely
a small mistake.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

PARTS = {
    "hostlib/native/csaud_host": ("tests/hostlib",),
    "hostlib/native/collectives": ("tests/hostlib",),
    "hostlib/csaud": ("tests/hostlib", "tests/recover", "tests/scape", "tests/torch_backend"),
    "controller/csaud_controller": ("tests/controller", "tests/topologies", "tests/hostlib/test_commands.py"),
}
"""Folder of sources -> folders of its tests, or files: that of the manual pages is about all commands."""

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
_ALIKE = 4  # files of tests that do not name the file, and are near because they share its words
_WORD = re.compile(r"[A-Za-z]\w{3,}")


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
    """Files of tests, the nearest first, in groups of a few that are asked in turn; if `near`, of those alone
    that name the file and of the four that are most alike it, or the nearest group where none names it."""
    folder = part(path)
    candidates = sorted(_candidates(root, folder))
    nearness = {file: _nearness(root / file, path) for file in candidates}
    shared = likeness(root, path, candidates)
    files = sorted(candidates, key=lambda file: (-nearness[file], -shared[file]))
    if folder in OF_NATIVE:
        first = [file for file in files if f"/test_{OF_NATIVE[folder][0]}" in file]
    else:
        first = [file for file in files if nearness[file]]
    others = sorted((file for file in files if file not in first), key=lambda file: -shared[file])
    if near:
        return _groups(first + others[: _ALIKE if first else _TOGETHER])
    return _groups(first) + _groups(others)


def likeness(root: Path, path: str, tests: Iterable[str]) -> dict[str, float]:
    """Of each file of tests, how far it is about what a source file is about: by the words of both, of which
    one counts the more the fewer of these tests have it."""
    found = {test: set(_WORD.findall((root / test).read_text())) for test in tests}
    among = Counter(word for words in found.values() for word in words)
    own = set(_WORD.findall((root / path).read_text()))
    return {
        test: sum(math.log(len(found) / among[word]) for word in own & words) for test, words in found.items()
    }


def _groups(files: list[str]) -> list[list[str]]:
    return [files[at : at + _TOGETHER] for at in range(0, len(files), _TOGETHER)]


def _candidates(root: Path, folder: str) -> Iterator[str]:
    for tests in PARTS[folder]:
        place = root / tests
        for file in [place] if place.is_file() else place.rglob("test_*.py"):
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
    the file or ends with it, or begins with the folder's, as of tests that call a command. That of all
    commands is near to each of them, and those that run the folder's process to its files."""
    stem = Path(path).stem
    words = [stem, "".join(word.capitalize() for word in stem.split("_"))]
    if path.endswith(".py"):
        package = re.escape(Path(path).parent.as_posix().split("/", 1)[1].replace("/", "."))
        words = [rf"{package}\.{stem}", rf"from {package} import .*\b{stem}"]
    name = test.stem.removeprefix("test_").removeprefix("core_")
    folder = Path(path).parent.name
    named = 10 * (name == stem) + 5 * (f"{name}_".startswith(f"{folder}_"))
    named += 5 * name.endswith(f"_{stem}")
    named += folder == "cli" and name == "commands"
    text = test.read_text()
    named += bool(re.search(rf"^from tests\.\w+\.{folder}_\w+ import", text, re.MULTILINE))
    return named + sum(len(re.findall(rf"\b{word}\b", text)) for word in words)

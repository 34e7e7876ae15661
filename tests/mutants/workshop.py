"""A copy of the work tree in which files are changed, native code is built and tests are run."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support import overlay

PACKAGES = {"hostlib": "csaud", "softswitch": "csaud_softswitch", "sim": "csaud_sim"}
"""Folder -> the package there that has a native module."""
NATIVE = "hostlib/native"
TESTNET = "csaud_testnet"
"""Native module of the tests; it has the core in it, too."""
NONE_CHOSEN = 5
"""Pytest's status where all tests were skipped, or left to other runs."""
SOURCES = (".py", ".cpp", ".hpp")
MEMORY = 16 << 30  # bytes of address space: a mutant may ask for all there is
PYTEST = (  # a browser asks for more address space than there is here
    "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider",
    "-m", "not thorough and not nightly and not browser",
    "-n", str(2 * (os.cpu_count() or 1)), "--dist", "loadgroup",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What the tests said of a tree."""

    passed: bool
    words: str  # the first test that failed, or that they took too long
    tests: tuple[str, ...] = ()  # what to ask to hear the same again
    late: bool = False  # they were not done in time


class Workshop:
    """`folder` holds the copy and its native build; both are kept for the next time.

    Raises `BlockingIOError` while another run has the folder: each would judge the other's mutants.
    """

    def __init__(self, root: Path, folder: Path, *, limit_s: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.tree = folder / "tree"
        self._native = folder / "native"
        self._limit_s = limit_s
        self._failing: list[str] = []
        self._copy(root)
        self._modules()
        self._environ = {**os.environ, **overlay.environment(overlay.sources(self.tree))}
        for module in (*(f"{package}._core" for package in PACKAGES.values()), TESTNET):
            overlay.check(self._environ, module, self.tree)

    def write(self, path: str, text: str) -> None:
        (self.tree / path).write_text(text)

    def build(self) -> str | None:
        """Build the host's native modules from the copy; the compiler's words where that fails."""
        if not (self._native / "build.ninja").exists():
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
            configure = ["cmake", "-S", self.tree / NATIVE, "-B", self._native, "-G", "Ninja", *launcher,
                         f"-DPython_EXECUTABLE={sys.executable}", "-DCSAUD_WERROR=OFF",
                         "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]  # fmt: skip
            subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        command = ["ninja", "-C", self._native, "-j", "2", "csaud_core_module", TESTNET]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return done.stdout[-2000:]
        [module] = self._native.glob("_core*.so")
        shutil.copy2(module, self.tree / "hostlib" / "csaud")
        [testnet] = self._native.glob(f"testing/{TESTNET}*.so")
        shutil.copy2(testnet, self.tree / "hostlib")
        return None

    def leave_out(self, test: str) -> None:
        """Never ask this test again: it fails of the tree as it is."""
        self._failing.append(test)

    def ask(self, tests: Iterable[str], share: float = 1.0) -> Answer:
        """Run these files of tests, or single ones, until one fails or that share of the limit is over."""
        asked, limit_s = tuple(tests), share * self._limit_s
        without = [word for test in self._failing for word in ("--deselect", test)]
        command = [sys.executable, "-m", "pytest", *PYTEST, *without, *asked]
        process = subprocess.Popen(
            command, cwd=self.tree, env=self._environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True, preexec_fn=_limited,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            output = None
        finally:
            _end(process)
        if output is None:
            return Answer(False, f"not done after {limit_s:g} s", asked, late=True)
        if process.returncode in (0, NONE_CHOSEN):
            return Answer(True, "")
        return _complaint(output, process.returncode, asked)

    def _copy(self, root: Path) -> None:
        """Only what differs is written, so that what is built need not be built anew."""
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True)
        names = set(filter(None, done.stdout.split("\0")))
        for place in list(self.tree.rglob("*")):
            inside = place.relative_to(self.tree)
            if place.suffix in SOURCES and inside.as_posix() not in names and inside.parts[0] != "build":
                place.unlink()  # left the tree since: CMake would find it, and pytest, too
        for name in sorted(names):
            source, target = root / name, self.tree / name
            if not source.is_file():
                continue
            if target.exists() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def _modules(self) -> None:
        places = {f"{package}._core": f"{folder}/{package}" for folder, package in PACKAGES.items()}
        for name, place in {**places, TESTNET: "hostlib"}.items():
            module = importlib.import_module(name)
            assert module.__file__ is not None
            shutil.copy2(module.__file__, self.tree / place)


def _complaint(output: str, status: int, asked: tuple[str, ...]) -> Answer:
    for line in output.splitlines():
        if found := re.match(r"(?:FAILED|ERROR) (\S+?\.py)(::.*?)?(?:@[\w-]+)?(?: - .*)?$", line):
            return Answer(False, line[:200], (found[1] + (found[2] or ""),))
    fatal = [line for line in output.splitlines() if line.startswith(("ERROR", "Fatal"))]
    return Answer(False, fatal[0][:200] if fatal else f"pytest ended with {status}", asked)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _end(process: subprocess.Popen[str]) -> None:
    """With all that it started in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

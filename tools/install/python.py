"""The virtual environment, its packages, and csaud in it: editable, with the native code compiled."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.install.commands import Commands
from tools.install.progress import Progress

_PIP_LOG, _BUILD_LOG = "pip.log", "install.log"
# Without build isolation, what comes as an sdist is built by the setuptools that stands here.
_SETUPTOOLS = "setuptools>=70.1"
# Target and folder of the native module that only tests and benchmarks import.
_TESTNET = "csaud_testnet", "hostlib/native/testing"


class Environment:
    """A virtual environment of the Python that runs this."""

    def __init__(self, path: Path, root: Path, commands: Commands, progress: Progress) -> None:
        self._path = path
        self._root = root
        self._commands = commands
        self._progress = progress
        self._python = path / "bin/python"
        self._wheels = root / "build/wheel"
        with (root / "pyproject.toml").open("rb") as file:
            self._project = tomllib.load(file)

    def make(self) -> None:
        """Make it with what builds csaud, unless it is there and works (it does not after it was moved)."""
        if not self._works():
            shutil.rmtree(self._path, ignore_errors=True)
            self._commands.run(_PIP_LOG, [sys.executable, "-m", "venv", self._path])
            self._progress.line(f"Python {sys.version.split()[0]} in {self._path}")
        self._install("build tools", [_SETUPTOOLS, *self._project["build-system"]["requires"]])

    def _works(self) -> bool:
        try:
            said = subprocess.run(
                [self._python, "-m", "pip", "--version"], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError):
            return False
        return f"{self._path.resolve()}/" in said

    def install(self, extras: Iterable[str]) -> None:
        """What csaud depends on, with these extras."""
        project = self._project["project"]
        optional = project.get("optional-dependencies", {})
        self._install(
            "Python packages",
            [*project["dependencies"], *(one for extra in extras for one in optional[extra])],
        )

    def _install(self, what: str, requirements: list[str]) -> None:
        """Nothing where these have been installed already."""
        wanted = "\n".join([*requirements, ""])
        installed = self._path / f"{what.replace(' ', '-')}.txt".lower()
        if installed.exists() and set(requirements) <= set(installed.read_text().splitlines()):
            return
        step = self._progress.begin(what)
        listed = installed.with_suffix(".wanted.txt")
        listed.write_text(wanted)
        before = self._count()
        self._pip(["install", "--no-build-isolation", "-r", listed], step.at)
        listed.rename(installed)
        self._progress.end(step, f"{self._count() - before} installed")

    def _count(self) -> int:
        return len(list(self._path.glob("lib/python3*/site-packages/*.dist-info")))

    def _pip(self, words: list[str | Path], tell: Callable[[str], None]) -> None:
        def watch(line: str) -> None:
            if line.startswith("Collecting "):
                tell(f"fetching {line.split()[1]}")
            elif line.startswith("Building wheel"):
                tell("building " + line.split(" for ")[1].split()[0])
            elif line.startswith("Installing collected"):
                tell(f"unpacking {line.count(',') + 1}")

        command = [self._python, "-m", "pip", *words, "--progress-bar", "off"]
        self._commands.run(_PIP_LOG, command, watch)

    def build(self, simulator: bool) -> None:
        """Compile the native code, and make the wheel through which the package is used where it lies.

        Without the simulator its Python files are there, and its native module is not.
        """
        shutil.rmtree(self._wheels, ignore_errors=True)
        hook = f"from scikit_build_core.build import build_editable; build_editable({str(self._wheels)!r})"
        self._compile("native code", [self._python, "-c", hook], CSAUD_SIM="ON" if simulator else "OFF")

    def build_testnet(self) -> None:
        """Compile the native module of the tests, against what `build` left, and install it."""
        target, folder = _TESTNET
        build = self._root / "build/cmake"
        self._compile("native code of the tests", ["cmake", "--build", build, "--target", target])
        (packages,) = self._path.glob("lib/python3*/site-packages")
        self._commands.run(_BUILD_LOG, ["cmake", "--install", build / folder, "--prefix", packages])

    def has_testnet(self) -> bool:
        """Whether it was installed: then it has to fit to the package that is."""
        return any(self._path.glob(f"lib/python3*/site-packages/{_TESTNET[0]}.*"))

    def has_simulator(self) -> bool:
        """Whether csaud was installed with it."""
        return any(self._path.glob("lib/python3*/site-packages/csaud_sim/_core.*"))

    def _compile(self, what: str, command: list[str | Path], **environ: str) -> None:
        step = self._progress.begin(what)
        begun = 0.0

        def watch(line: str) -> None:
            nonlocal begun
            found = re.match(r"\[(\d+)/(\d+)\]", line)
            if found is None or found[1] == "0":
                return
            done, count = int(found[1]), int(found[2])
            begun = begun or time.monotonic()
            left = (time.monotonic() - begun) * (count - done) / done
            step.at(
                f"{done} of {count} steps" + (f", {left:.0f} s left" if 5 * done > count > done else ""),
                done / count,
            )

        self._commands.run(_BUILD_LOG, command, watch, **environ)
        self._progress.end(step, "compiled")

    def add(self) -> None:
        """Install csaud, as built."""
        (wheel,) = self._wheels.glob("*.whl")
        self._pip(["install", "--no-deps", "--no-index", "--force-reinstall", wheel], lambda doing: None)

"""Real runs for the tests: `csaud net run` as a process, who runs in it, and what is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/run/csaud")
CSAUD_NET = [sys.executable, "-m", "csaud_topologies.cli"]
PATIENCE_S = 200.0

SMALL = """
name: small
seed: {seed}
fabric: leaf-spine-2x2
workload: {{name: allreduce, sizes: {sizes}, repeats: {repeats}}}
policy: {{spray: {spray}}}
faults: [{{probability: {loss}}}]
"""


def small_scenario(folder: Path, *, seed=3, sizes=(1, 1021, 262_144), repeats=2, spray="random", loss=0.03):
    path = folder / "small.yaml"
    path.write_text(SMALL.format(seed=seed, sizes=list(sizes), repeats=repeats, spray=spray, loss=loss))
    return path


def wait_for(condition, what: str, within_s: float = PATIENCE_S):
    """The first true value of `condition`; what is waited for is named when it does not come."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen within {within_s} s"
        time.sleep(0.02)
    return value


class NetRun:
    """One `csaud net run` in a session of its own (Ctrl-C goes to its whole group, as from a terminal)."""

    def __init__(
        self, out: Path, *options: str, stdin=subprocess.DEVNULL, prefix: tuple[str, ...] = ()
    ) -> None:
        self.out = out
        self.process = subprocess.Popen(
            [*prefix, *CSAUD_NET, "run", "--out", str(out), *options],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != "CSAUD_RUN"},
        )
        self.output = ""

    @property
    def path(self) -> Path:
        """Its run directory."""
        return wait_for(self._find, "the run directory")

    def _find(self) -> Path | None:
        for path in ROOT.glob("*/pids.json"):
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                if json.loads(path.read_text())["supervisor"]["pid"] == self.process.pid:
                    return path.parent
        return None

    def read_until(self, words: str) -> None:
        """Read its output up to the line with these words."""
        for line in self.process.stdout:
            self.output += line
            if words in line:
                return
        raise AssertionError(f"{words!r} is not in the output:\n{self.output}")

    def wait(self) -> int:
        """Read the rest of its output; its exit status."""
        self.output += self.process.stdout.read()
        return self.process.wait(PATIENCE_S)

    def report(self) -> dict:
        return json.loads((self.out / "report.json").read_text())


def processes_of(run_path: Path) -> dict[int, str]:
    """Pid -> command line of every process that carries this run in its environment."""
    mark = f"CSAUD_RUN={run_path}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


@contextlib.contextmanager
def net_run(out: Path, *options: str, **how) -> Iterator[NetRun]:
    """A run that is over when the body ends, however it ends."""
    run = NetRun(out, *options, **how)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.wait()
        if run.process.stdout:
            run.process.stdout.close()

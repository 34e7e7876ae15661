"""A small fabric that waits for jobs, for the tests of users' own programs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from csaud_topologies.record.model import Report

from tests.topologies.runs import CSAUD_NET, PATIENCE_S

OUTSIDE = {name: value for name, value in os.environ.items() if name != "CSAUD_RUN"}


class WaitingFabric:
    """`csaud net up --detach` in a folder, and the commands that go with it."""

    def __init__(self, folder: Path, out: Path | None = None) -> None:
        self.folder = folder
        self.out = out or folder / "out"

    def net(self, *arguments: str, **how) -> subprocess.CompletedProcess:
        """`csaud net ...` in that folder, to its end."""
        how = {"cwd": self.folder, "env": OUTSIDE, "timeout": PATIENCE_S, **how}
        return subprocess.run([*CSAUD_NET, *arguments], capture_output=True, text=True, check=False, **how)

    def job(self, *command: str, options: Sequence[str] = (), **how) -> subprocess.CompletedProcess:
        return self.net("job", *options, "--", *command, **how)

    def python(self, program: str, options: Sequence[str] = (), **how) -> subprocess.CompletedProcess:
        return self.job("python", "-c", program, options=options, **how)

    def report(self) -> Report:
        """That of the last job."""
        return Report.model_validate_json((self.out / "report.json").read_text())

    def start_job(self, program: str, *options: str) -> subprocess.Popen:
        """A job in a session of its own, not waited for."""
        return subprocess.Popen(
            [*CSAUD_NET, "job", *options, "--", sys.executable, "-c", program],
            cwd=self.folder,
            env=OUTSIDE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


@contextlib.contextmanager
def waiting_fabric(folder: Path, *options: str, out: Path | None = None) -> Iterator[WaitingFabric]:
    fabric = WaitingFabric(folder, out)
    started = fabric.net("up", *options, "--detach", "--out", str(fabric.out))
    assert started.returncode == 0, started.stderr
    try:
        yield fabric
    finally:
        ended = fabric.net("down")
        assert ended.returncode == 0, ended.stderr

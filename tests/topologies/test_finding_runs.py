"""A command without --run: the run of this directory, never somebody else's. The same for all who look for
one."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from csaud_controller.run import directory as controllers
from csaud_softswitch.shell import command as shells
from csaud_topologies.base.procs import Process
from csaud_topologies.isolation import rundir as runs
from csaud_topologies.scenario.options import RunOptions

Find = Callable[[Path], Path]


def _shell(root: Path) -> Path:
    before, shells.RUNS = shells.RUNS, root
    try:
        return shells.find_run(None)
    finally:
        shells.RUNS = before


FINDERS: dict[str, Find] = {
    "net": lambda root: runs.find_run(root=root).path,
    "controller": lambda root: controllers.find_run(runs=root).path,
    "switch shell": _shell,
}
ERRORS = (runs.RunError, controllers.RunError, shells.ShellError)


class Machine:
    """Runs that look alive, and people's directories."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self._stack = root / "run", stack
        self.root.mkdir()
        self.home = root / "home"

    def directory(self, name: str) -> Path:
        path = self.home / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def run(self, name: str, directory: str, *, alive: bool = True) -> Path:
        run = runs.RunDir(self.root / name)
        run.path.mkdir()
        run.fabric.write_text("{}")
        run.options.write_text(RunOptions(directory=str(self.directory(directory))).model_dump_json())
        us = Process.of(os.getpid())
        assert us is not None
        run.write_processes({"init": us if alive else Process(us.pid, us.started - 1)})
        for socket_name in ("controller.sock", "l1.sock"):
            listener = self._stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(run.path / socket_name))
            if alive:
                listener.listen()
        return run.path


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.delenv("CSAUD_RUN", raising=False)
    with tempfile.TemporaryDirectory(prefix="csaud-") as root, ExitStack() as stack:
        yield Machine(Path(root), stack)


@pytest.fixture(params=FINDERS)
def find(request: pytest.FixtureRequest, machine: Machine) -> Callable[[str], Path]:
    finder = FINDERS[request.param]

    def from_directory(name: str) -> Path:
        before = Path.cwd()
        os.chdir(machine.directory(name))
        try:
            return finder(machine.root)
        finally:
            os.chdir(before)

    return from_directory


def test_the_run_of_this_directory_is_taken_whatever_else_runs(machine: Machine, find) -> None:
    mine = machine.run("20260101-1", "mine")
    machine.run("20260102-2", "theirs")
    machine.run("20260103-3", "mine", alive=False)
    assert find("mine") == mine
    assert find("mine/docs") == mine


def test_the_nearest_directory_counts(machine: Machine, find) -> None:
    machine.run("1", ".")
    nearest = machine.run("2", "clone")
    assert find("clone/topologies") == nearest


def test_of_several_here_none_is_taken_and_all_are_named(machine: Machine, find) -> None:
    both = [machine.run(name, "mine") for name in ("1", "2")]
    other = machine.run("3", "theirs")
    with pytest.raises(ERRORS) as told:
        find("mine")
    assert all(str(path) in str(told.value) for path in both)
    assert str(other) not in str(told.value)
    assert "--run" in str(told.value)


def test_somebody_elses_is_named_but_not_taken(machine: Machine, find) -> None:
    theirs = machine.run("1", "theirs")
    with pytest.raises(ERRORS) as told:
        find("mine")
    assert f"{theirs} (of {machine.directory('theirs')})" in str(told.value)
    assert "--run" in str(told.value)


def test_where_nothing_runs_that_is_said(machine: Machine, find) -> None:
    with pytest.raises(ERRORS, match="no fabric"):
        find("mine")

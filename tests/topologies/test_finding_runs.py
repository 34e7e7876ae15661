"""A command without --run: the run of this directory, never somebody else's."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError
from csaud_runs.find import find_run
from csaud_runs.process import Process
from csaud_topologies.isolation import supervisor
from csaud_topologies.scenario.options import RunOptions


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

    def run(
        self, name: str, directory: str, *, alive: bool = True, recorded: bool = True, serves: bool = True
    ) -> Path:
        """recorded: its processes are, as by `csaud net run`; serves: its controller and switch listen."""
        run = RunDir(self.root / name)
        run.path.mkdir()
        run.fabric_file.write_text("{}")
        run.options.write_text(RunOptions(directory=str(self.directory(directory))).model_dump_json())
        us = Process.of(os.getpid())
        assert us is not None
        if recorded:
            run.write_processes({"init": us if alive else Process(us.pid, us.started - 1)})
        for socket_name in ("controller.sock", "l1.sock") if serves else ():
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


@pytest.fixture
def find(machine: Machine) -> Callable[[str], Path]:
    def from_directory(name: str) -> Path:
        before = Path.cwd()
        os.chdir(machine.directory(name))
        try:
            return find_run(root=machine.root).path
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
    with pytest.raises(RunError) as told:
        find("mine")
    assert all(str(path) in str(told.value) for path in both)
    assert str(other) not in str(told.value)
    assert "--run" in str(told.value)


def test_somebody_elses_is_named_but_not_taken(machine: Machine, find) -> None:
    theirs = machine.run("1", "theirs")
    with pytest.raises(RunError) as told:
        find("mine")
    assert f"{theirs} (of {machine.directory('theirs')})" in str(told.value)
    assert "--run" in str(told.value)


def test_where_nothing_runs_that_is_said(machine: Machine, find) -> None:
    with pytest.raises(RunError, match="no fabric"):
        find("mine")


@pytest.mark.parametrize("how", [{"recorded": False}, {"serves": False}], ids=["by hand", "starting"])
def test_a_run_lives_whose_processes_are_recorded_or_which_serves(machine: Machine, find, how) -> None:
    """Switches and a controller that were started by hand have no pids.json, a fabric that comes up has no
    sockets yet: neither hides the other of two that run."""
    mine = machine.run("1", "mine", **how)
    assert find("mine") == mine
    machine.run("2", "mine")
    with pytest.raises(RunError, match="2 fabrics"):
        find("mine")


def test_a_run_by_hand_is_not_swept_up_while_it_serves(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr("csaud_runs.directory.ROOT", machine.root)
    hours_ago = time.time() - 7200
    for name, alive in (("serves", True), ("over", False)):
        os.utime(machine.run(name, "mine", recorded=False, alive=alive), (hours_ago, hours_ago))
    assert [run.path.name for run in supervisor.sweep()] == ["over"]
    assert (machine.root / "serves").is_dir()

"""Sweeps on a Dask cluster: the same files as by processes here, and what is said where it fails."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from csaud_runs.errors import RunError
from csaud_sim.cli import app
from csaud_sim.experiment.code import this_code
from csaud_sim.experiment.machines import _measured, machines_at
from csaud_sim.experiment.model import load_experiment
from csaud_sim.experiment.results import read_run
from csaud_sim.experiment.sweep import run_all, tasks_of
from typer.testing import CliRunner

distributed = pytest.importorskip("distributed")


@pytest.fixture
def file(file: Path) -> Path:
    file.write_text(file.read_text().replace("seeds: 3", "seeds: 2"))
    return file


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, in threads, over TCP."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as made:
        yield made


def run(file: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["run", str(file), *more])


def test_a_cluster_leaves_the_files_that_processes_leave(file: Path, tmp_path: Path, cluster: Any) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    done = run(file, "--dask", cluster.scheduler_address, "--out", str(there))
    assert done.exit_code == 0, done.output
    assert "4 of 4" in done.output and "0 s left" in done.output
    assert run(file, "--jobs", "1", "--out", str(here)).exit_code == 0
    for task in tasks_of(load_experiment(file)):
        ours, theirs = read_run(task.path(here)), read_run(task.path(there))
        assert (ours.setting, ours.seed, ours.settings) == (theirs.setting, theirs.seed, theirs.settings)
        np.testing.assert_array_equal(ours.column("fct_ns"), theirs.column("fct_ns"))
    assert not list(there.rglob("*.part"))


def test_a_cluster_does_what_is_missing(file: Path, tmp_path: Path, cluster: Any) -> None:
    tasks = tasks_of(load_experiment(file))
    assert run(file, "--jobs", "1", "--out", str(tmp_path)).exit_code == 0
    tasks[2].path(tmp_path).unlink()
    done = run(file, "--dask", cluster.scheduler_address, "--out", str(tmp_path))
    assert done.exit_code == 0 and "3 of 4 runs are there already" in done.output
    assert tasks[2].path(tmp_path).exists()


def test_a_run_that_fails_is_told_and_the_others_are_there(file: Path, tmp_path: Path, cluster: Any) -> None:
    """A setting whose fault names links that no switch has is found when it is run."""
    keys = ["--set", "sweep.seeds=1", "--set", "core={no_such_attribute: 1}"]
    done = run(file, *keys, "--dask", cluster.scheduler_address, "--out", str(tmp_path))
    assert done.exit_code == 2 and "no_such_attribute" in done.output


def test_a_cluster_whose_workers_leave_is_told_of_and_waited_for(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csaud_sim.experiment.machines._LOOK_EVERY", 0.1)
    tasks, said = tasks_of(load_experiment(file)), list[str]()
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:

        def say(text: str) -> None:
            said.append(text)
            if "no worker" in text:
                cluster.scale(1)

        with machines_at(cluster.scheduler_address) as elsewhere:
            cluster.scale(0)
            with distributed.Client(cluster.scheduler_address) as client:
                while client.scheduler_info()["workers"]:
                    pass
            assert run_all(tasks, tmp_path, 1, say, elsewhere) == []
    assert [text.startswith("the scheduler has no worker any more") for text in said] == [True] + [False] * 4


def test_a_worker_of_other_code_is_told_of(
    file: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = this_code()._replace(native="0123456789")
    monkeypatch.setattr("csaud_sim.experiment.machines.this_code", lambda: other)
    (task,) = tasks_of(load_experiment(file, {"sweep.seeds": "1"}))[:1]
    with pytest.raises(RunError, match=r"a worker has csaud .*-0123456\), this is .*\)"):
        _measured(task, this_code())
    assert not other.is_that_of(this_code())
    assert other.is_that_of(other._replace(native="")), "compiled elsewhere, or not: nobody can tell"
    assert not other.is_that_of(other._replace(native="", python="0"))


def test_an_interrupt_takes_back_what_is_not_done_while_the_cluster_is_still_reached(
    file: Path, tmp_path: Path, cluster: Any
) -> None:
    """It comes while a result is told of."""
    held: list[Any] = []

    def watched(tasks: Any, out: Path, say: Any) -> Any:
        made = elsewhere(tasks, out, say)
        held.append(made)
        return made

    with pytest.raises(KeyboardInterrupt), machines_at(cluster.scheduler_address) as elsewhere:
        try:
            run_all(tasks_of(load_experiment(file)), tmp_path, 1, _interrupting, watched)
        finally:
            assert held[0].gi_frame is None, "it is over"


def _interrupting(text: str) -> None:
    if " of 4 ·" in text:
        raise KeyboardInterrupt


def test_an_address_where_nobody_answers_is_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csaud_sim.experiment.machines._PATIENCE", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        done = run(file, "--dask", address, "--out", str(tmp_path))
    assert done.exit_code == 1 and f"--dask {address}: no scheduler answered within 1 s" in done.output


def test_without_the_extra_it_is_named(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run(file, "--dask", "tcp://127.0.0.1:1", "--out", str(tmp_path))
    assert done.exit_code == 1 and "pip install 'csaud[dask]'" in done.output


def test_processes_and_a_cluster_at_once_are_refused(file: Path, tmp_path: Path) -> None:
    done = run(file, "--dask", "tcp://127.0.0.1:1", "--jobs", "2", "--out", str(tmp_path))
    assert done.exit_code == 2 and "the cluster's matter" in done.output

"""`csaud net`: mistakes on the command line get one line on stderr, and nothing is started."""

from __future__ import annotations

import signal
import subprocess

import pytest
from csaud_runs.process import Process
from csaud_topologies import cli
from csaud_topologies.scenario.options import RunOptions
from typer.testing import CliRunner

runner = CliRunner()


def run(*arguments: str):
    return runner.invoke(cli.app, ["run", *arguments])


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch):
    from csaud_topologies.isolation import supervisor

    def refuse(options):
        raise AssertionError("a run was started")

    monkeypatch.setattr(supervisor, "supervise", refuse)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "hardware"], "'soft' or 'bmv2'"),
        (["--topo", "ring-5"], "leaf-spine-2x3"),
        (["--topo", "leaf-spine-0x2"], "leaf-spine-0x2"),
        (["--topo", "missing.yaml"], "missing.yaml: no such file"),
        (["--scenario", "nothing"], "expected one of first-light, plain"),
        (["--spray", "sideways"], "policy.spray=sideways"),
        (["--loss", "1.5"], "loss=1.5"),
        (["--seed", "x"], "seed=x"),
        (["--steps", "0"], "workload.steps=0"),
        (["--rate", "fast"], "200Mbit"),
        (["--set", "steps"], "expected KEY=VALUE"),
        (["--set", "workers.count=99"], "8 hosts"),
        (["--set", "workload.batch=0"], "workload.batch=0"),
        (["--set", "policy.limits.x=1"], "policy.limits.x"),
        (["--topo", "leaf-spine-1x0"], "leaf-spine-1x0 has no uplink"),
    ],
)
def test_wrong_option_gets_one_line(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.startswith("csaud: ")
    assert len(result.stderr.strip().splitlines()) == 1


def test_bmv2_without_its_program_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("--target", "bmv2")
    assert result.exit_code == 1
    assert "simple_switch_grpc is not on PATH" in result.stderr


def test_empty_options_mean_the_scenarios_own(monkeypatch):
    from csaud_topologies.isolation import supervisor

    seen = []
    monkeypatch.setattr(supervisor, "supervise", lambda options: seen.append(options) or 0)
    result = run("--topo", "", "--scenario", "", "--spray", "", "--loss", "", "--seed", "", "--rate", "")
    assert result.exit_code == 0, result.output
    assert seen[0].overrides == {}
    assert seen[0].topo is None
    assert seen[0].scenario == "first-light"


def test_clean_leaves_runs_of_other_directories_alone_unless_all_are_meant(tmp_path, monkeypatch):
    from csaud_runs.directory import RunDir
    from csaud_runs.find import all_runs
    from csaud_topologies.isolation import supervisor

    root = tmp_path / "runs"
    monkeypatch.setattr("csaud_runs.directory.ROOT", root)
    monkeypatch.chdir(tmp_path)
    sleeping = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]
    try:
        paths = {}
        for name, directory in (("mine", tmp_path), ("theirs", tmp_path / "x"), ("over", tmp_path / "x")):
            made = RunDir(root / name)
            made.path.mkdir(parents=True)
            made.options.write_text(RunOptions(directory=str(directory)).model_dump_json())
            paths[name] = made
        for name, process in zip(("mine", "theirs"), sleeping, strict=True):
            paths[name].write_processes({"init": Process.of(process.pid)})
        gone = Process(sleeping[0].pid, Process.of(sleeping[0].pid).started - 1)
        paths["over"].write_processes({"init": gone})
        assert {run.path.parent for run in all_runs()} == {root}, "nobody's real runs"
        result = runner.invoke(cli.app, ["clean"])
        assert result.exit_code == 0, result.output
        said = dict(line.split(": ", 1) for line in result.output.splitlines())
        assert "ended and removed" in said[str(root / "mine")]
        assert "left alone" in said[str(root / "theirs")] and "--all" in said[str(root / "theirs")]
        assert "removed" in said[str(root / "over")]
        assert [path.name for path in root.iterdir()] == ["theirs"]
        assert sleeping[0].wait(10) == -signal.SIGKILL
        assert sleeping[1].poll() is None
        assert runner.invoke(cli.app, ["clean", "--all"]).exit_code == 0
        assert sleeping[1].wait(10) == -signal.SIGKILL
        assert "nothing to clean" in runner.invoke(cli.app, ["clean"]).output
        assert runner.invoke(cli.app, ["clean", "--all", "--run", "x"]).exit_code != 0
    finally:
        for process in sleeping:
            process.kill()
            process.wait()
    assert supervisor.sweep() == []


def test_clean_removes_nothing_but_runs(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    result = runner.invoke(cli.app, ["clean", "--run", str(tmp_path)])
    assert result.exit_code == 2
    assert (
        result.stderr.strip() == f"csaud: --run {tmp_path}: not the directory of a run (no pids.json in it)"
    )
    assert precious.read_text() == "kept"

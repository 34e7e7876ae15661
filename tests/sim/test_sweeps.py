"""Sweeps of an experiment: runs, what is there already, reports, and the commands."""

import csv
import errno
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from csaud.collectives import schedule
from csaud.config import reading
from csaud.network import addresses
from csaud_controller.policy import faults
from csaud_runs.errors import RunError
from csaud_sim.cli import app
from csaud_sim.experiment.code import PYTHON, this_code
from csaud_sim.experiment.columns import LINKS
from csaud_sim.experiment.comparison import compare, figures_of, load_runs, notes_of
from csaud_sim.experiment.measure import measure
from csaud_sim.experiment.model import (
    EXPERIMENTS,
    Experiment,
    find_experiment,
    load_experiment,
    with_keys,
)
from csaud_sim.experiment.results import read_run
from csaud_sim.experiment.statistics import reduction
from csaud_sim.experiment.sweep import CASE_MARK, Outcome, Task, run_all, tasks_of
from csaud_topologies.scenario import host_settings
from typer.testing import CliRunner

from tests.support.marks import some, thorough

FABRIC = Path(__file__).parents[2] / "topologies" / "fabrics" / "leaf-spine-2x2.yaml"
DOCS = Path(__file__).parents[2] / "docs" / "simulation.md"


def test_a_sweep_goes_on_where_it_stopped(file: Path, tmp_path: Path) -> None:
    tasks = tasks_of(load_experiment(file))
    assert [str(task) for task in tasks[:3]] == ["ecmp, seed 1", "random, seed 1", "ecmp, seed 2"]
    said: list[str] = []
    assert run_all(tasks, tmp_path, 2, said.append) == []
    assert len(said) == 6 and said[-1].endswith("0 s left")
    lost = tasks[3].path(tmp_path)
    before = read_run(lost).column("fct_ns")
    lost.unlink()
    said.clear()
    assert run_all(tasks, tmp_path, 1, said.append) == []
    assert said[0] == "5 of 6 runs are there already" and len(said) == 2
    np.testing.assert_array_equal(read_run(lost).column("fct_ns"), before)
    assert not list(tmp_path.rglob("*.part"))


def test_a_report_of_a_part_says_what_is_missing(file: Path, tmp_path: Path) -> None:
    tasks = tasks_of(load_experiment(file, {"traffic.flows": "20"}))
    run_all(tasks, tmp_path, 1, print)
    tasks[3].path(tmp_path).unlink()
    done = CliRunner().invoke(app, ["report", str(tmp_path)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    said = "1 (random, seed 2) of 6 runs are missing"
    assert said in done.output and said in (tmp_path / "report.html").read_text()
    run_all(tasks, tmp_path, 1, print)
    assert notes_of(load_runs(tmp_path), []) == []
    other = tasks_of(load_experiment(file, {"traffic.flows": "20", "sweep.settings": "{new: {}}"}))
    run_all(other, tmp_path, 1, print)
    (note,) = notes_of(load_runs(tmp_path), [])
    assert note.startswith("6 (ecmp-seed1-") and note.endswith("are not of the experiment as it was run last")


def test_a_setting_of_which_nothing_is_over_leaves_the_others_their_report(
    file: Path, tmp_path: Path
) -> None:
    settings = "{fine: {}, none: {time_limit: 1us}}"
    keys = {"sweep.settings": settings, "sweep.cases": "{calm: {}}", "traffic.flows": "20"}
    run_all(tasks_of(load_experiment(file, keys)), tmp_path, 1, print)
    done = CliRunner().invoke(
        app, ["report", str(tmp_path), "--against", "calm: fine"], env={"COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    assert "calm: none: nothing of some run is over that slowdown of flows could be of" in done.output
    with (tmp_path / "figures.csv").open(newline="") as opened:
        rows = {row["setting"]: row for row in csv.DictReader(opened)}
    assert rows["calm: none"]["fct_us_p99"] == "" and rows["calm: none"]["unfinished"] == "20.0"
    assert float(rows["calm: fine"]["fct_us_p99"]) > 0
    assert "| none | - | - | - | - (20.0 a run not over) |" in (tmp_path / "cases.md").read_text()
    for run in (tmp_path / "runs").glob("*fine*"):
        run.unlink()
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output.startswith(f"csaud: {tmp_path}: nothing is over that was to be measured")


def test_a_full_disk_ends_a_sweep_before_the_next_run(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the others would be simulated for nothing."""
    written: list[Path] = []

    def full(path: Path, *_: object) -> None:
        written.append(path)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("csaud_sim.experiment.sweep.write_run", full)
    done = CliRunner().invoke(app, ["run", str(file), "--jobs", "1", "--out", str(tmp_path / "out")])
    assert done.exit_code == 1 and len(written) == 1
    said = f"csaud: {tmp_path / 'out'}: no space left: 0 of 6 runs are there; the same command does the rest"
    assert done.output == said + "\n"


def test_a_report_that_finds_no_room_says_where(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run_all(tasks_of(load_experiment(file, {"sweep.seeds": "1"})), tmp_path, 1, print)
    monkeypatch.setattr("csaud_sim.experiment.sweep_report.write_tables", full)
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == f"csaud: {tmp_path}: no space left for the report"


def test_progress_in_a_log_is_a_line_a_run(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "a-folder-of-a-name-so-long-that-terminals-of-eighty-columns-would-have-two-lines-of-it"
    done = CliRunner().invoke(app, ["run", str(file), "--jobs", "1", "--out", str(out)])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) == 7


def test_a_disk_that_is_full_of_files_from_elsewhere_ends_a_sweep(file: Path, tmp_path: Path) -> None:
    def elsewhere(tasks: list[Task], *_: object) -> Generator[tuple[Task, Outcome]]:
        yield tasks[0], "done"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(
        RunError, match="no space left: 1 of 6 runs are there; the same command does the rest"
    ):
        run_all(tasks_of(load_experiment(file)), tmp_path, 1, print, elsewhere)


@contextmanager
def sweeping(file: Path, out: Path, jobs: int, stderr: int) -> Iterator[subprocess.Popen[str]]:
    """A sweep of 1,000 runs by the command, of which one is over."""
    command = [sys.executable, "-m", "csaud", "sim", "run", str(file), "--jobs", str(jobs), "--out", str(out)]
    with subprocess.Popen(
        [*command, "--set", "sweep.seeds=500"],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    ) as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline().startswith("1 of 1000 · ")
        yield sweep


def test_a_process_that_is_killed_ends_a_sweep_in_one_sentence(file: Path, tmp_path: Path) -> None:
    with sweeping(file, tmp_path, 2, subprocess.PIPE) as sweep:
        assert sweep.stdout is not None and sweep.stderr is not None
        children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()
        workers = [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(int(workers[0]), signal.SIGKILL)
        done, told = sweep.stdout.read(), sweep.stderr.read()
    assert sweep.returncode == 1 and "FAILED" not in done
    assert told.startswith("csaud: a process was ended from outside, perhaps for want of memory: ")
    assert (
        told.endswith(" of 1000 runs are there; the same command does the rest\n") and told.count("\n") == 1
    )


def test_runs_of_other_code_are_run_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change of a transport its old figures would stand beside new ones."""
    tasks = tasks_of(load_experiment(file, {"sweep.seeds": "1", "traffic.flows": "20"}))
    other = this_code()._replace(python="0123456789")
    with monkeypatch.context() as older:
        older.setattr("csaud_sim.experiment.results.this_code", lambda: other)
        run_all(tasks, tmp_path, 1, print)
    write_run_of(tasks[1], tmp_path)
    assert any(str(other) in note for note in notes_of(load_runs(tmp_path), []))
    said: list[str] = []
    assert run_all(tasks, tmp_path, 1, said.append) == []
    assert said[0].startswith("1 of 2 runs are of other code than this") and said[1].startswith("1 of 2 runs")
    assert {read_run(task.path(tmp_path)).code for task in tasks} == {this_code()}
    assert notes_of(load_runs(tmp_path), []) == []


@pytest.mark.parametrize(
    "module", [tasks_of, schedule, reading, addresses, host_settings, faults], ids=lambda of: of.__name__
)
def test_code_is_all_that_decides_what_hosts_send(module: object) -> None:
    """After a change of a schedule, too, runs are done again."""
    file = inspect.getfile(module)  # type: ignore[arg-type]
    assert any(Path(file).is_relative_to(folder) for folder in PYTHON)


def write_run_of(task: Task, out: Path) -> None:
    task.path(out).unlink()
    run_all([task], out, 1, print)


@pytest.mark.parametrize("what", ["collectives", "flows"])
def test_what_is_not_over_is_told(file: Path, tmp_path: Path, what: str) -> None:
    """Its times are in no figure, which is lower for it."""
    keys = {"time_limit": "200us", "sweep.seeds": "1", "sweep.cases": "{calm: {}}"}
    if what == "collectives":
        keys |= {"collectives": "{bytes: 400000, repeats: 6}", "traffic": "null"}
    else:
        keys |= {"traffic.sizes": "1000000"}
    said: list[str] = []
    assert run_all(tasks_of(load_experiment(file, keys)), tmp_path, 1, said.append) == []
    assert all(f"{what} unfinished" in line for line in said)
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "a run not over)" in (tmp_path / "cases.md").read_text()


def test_ctrl_c_ends_a_sweep_at_once_and_keeps_what_is_over(file: Path, tmp_path: Path) -> None:
    with sweeping(file, tmp_path, 8, subprocess.STDOUT) as sweep:  # of eight processes not all are ready
        assert sweep.stdout is not None
        os.killpg(sweep.pid, signal.SIGINT)
        said = sweep.stdout.read()
    assert sweep.returncode == 130
    assert "runs are there; the same command does the rest" in " ".join(said.split())
    assert "Traceback" not in said
    assert list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("how", [signal.SIGKILL, thorough(signal.SIGTERM)])
def test_a_sweep_that_is_killed_leaves_no_process(how: signal.Signals, file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "csaud", "sim", "run", str(file), "--jobs", "2", "--out", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--set", "sweep.seeds=500"], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline().startswith("1 of 1000 · ")
        os.kill(sweep.pid, how)
        sweep.stdout.read()  # ends when the last process that could write there has ended


def test_a_report_of_cases_puts_settings_side_by_side(file: Path, tmp_path: Path) -> None:
    cases = "{calm: {}, lossy: {impairments: [{loss: 0.05}]}}"
    out, small = tmp_path / "out", {"sweep.cases": cases, "sweep.seeds": "1", "traffic.flows": "20"}
    run_all(tasks_of(load_experiment(file, small)), out, 1, print)
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0, done.output
    lines = (out / "cases.md").read_text().splitlines()
    assert "| | ecmp | random |" in lines
    assert [line.split(" | ")[0] for line in lines[4:6]] == ["| calm", "| lossy"]
    rows = (out / "links.csv").read_text().splitlines()
    assert rows[0] == ",".join(["setting", "seed", *LINKS])
    assert {row.split(",")[0] for row in rows[1:]} == {
        f"{case}: {setting}" for case in ("calm", "lossy") for setting in ("ecmp", "random")
    }


def test_a_changed_experiment_does_not_take_runs_of_another(file: Path, tmp_path: Path) -> None:
    one, other = (
        tasks_of(load_experiment(file, {"traffic.flows": flows, "sweep.seeds": "1"})) for flows in ("5", "6")
    )
    run_all(one, tmp_path, 1, print)
    run_all(other, tmp_path, 1, print)
    with pytest.raises(RunError, match=r"are both of ecmp, seed 1, and differ in what was run"):
        load_runs(tmp_path)


def test_a_changed_fabric_file_does_not_take_runs_of_the_old_one(file: Path, tmp_path: Path) -> None:
    fabric = tmp_path / "own.yaml"
    fabric.write_text(FABRIC.read_text().replace("200Mbit", "10Gbit"))
    keys = {"fabric": str(fabric), "link_rate": "null"}
    slow, again = (tasks_of(load_experiment(file, keys)) for _ in range(2))
    fabric.write_text(FABRIC.read_text().replace("200Mbit", "20Gbit"))
    fast = tasks_of(load_experiment(file, keys))
    assert [task.path(tmp_path) for task in slow] == [task.path(tmp_path) for task in again]
    assert not {task.path(tmp_path) for task in slow} & {task.path(tmp_path) for task in fast}


def test_runs_on_a_fabric_by_name_keep_their_files(file: Path) -> None:
    task = tasks_of(load_experiment(file))[0]
    assert task.path(Path()).name == "ecmp-seed1-dd02e9e4e5a0.parquet"


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("case", ["", "calm"])
def test_settings_that_measure_unlike_things_have_empty_cells(
    file: Path, tmp_path: Path, order: str, case: str
) -> None:
    alone, beside = order
    settings = f"{{{alone}: {{}}, {beside}: {{collectives: {{bytes: 40000, repeats: 3}}}}}}"
    keys = {"sweep.settings": settings, "sweep.cases": f"{{{case}: {{}}}}" if case else "{}"}
    keys |= {"traffic.sizes": "10000", "traffic.flows": "20", "sweep.seeds": "1"}
    assert run_all(tasks_of(load_experiment(file, keys)), tmp_path, 1, print) == []
    against = CASE_MARK.join(filter(None, (case, "a")))
    done = CliRunner().invoke(app, ["report", str(tmp_path), "--against", against])
    assert done.exit_code == 0, done.output
    with (tmp_path / "figures.csv").open(newline="") as opened:
        rows = {row["setting"][-1]: row for row in csv.DictReader(opened)}
    assert [rows[alone]["message_us_p50"], rows[alone]["completion_us_p99_high"]] == ["", ""]
    assert float(rows[beside]["message_us_p50"]) > 0 and float(rows[beside]["completion_us_p50"]) > 0
    assert [rows[each]["flows"] for each in "ab"] == ["20.0", "20.0"]
    if case:
        assert " | - | - | - | - | " in (tmp_path / "cases.md").read_text()
    else:
        heads = (tmp_path / "figures" / "completion_us.csv").read_text().splitlines()[0]
        assert f": {beside}" in heads and f": {alone}" not in heads


def test_settings_are_in_the_order_of_their_numbers(file: Path, tmp_path: Path) -> None:
    sweep = "{vary: {core.fixed_interval: [100000, 9000, 20000]}}"
    tasks = tasks_of(load_experiment(file, {"sweep": sweep, "traffic.flows": "3"}))
    run_all(tasks, tmp_path, 1, print)
    assert list(load_runs(tmp_path)) == [f"fixed_interval={ns}" for ns in (9000, 20000, 100000)]


def test_every_case_is_run_by_every_setting(file: Path) -> None:
    cases = "{lossy: {impairments: [{loss: 0.01}]}, slow: {links: [{where: s1, rate: 10Gbit}]}}"
    tasks = tasks_of(load_experiment(file, {"sweep.cases": cases, "sweep.seeds": "1"}))
    said = [f"{case}: {setting}, seed 1" for case in ("lossy", "slow") for setting in ("ecmp", "random")]
    assert [str(task) for task in tasks] == said
    assert [len(task.experiment.impairments) for task in tasks] == [1, 1, 0, 0]
    assert [task.experiment.policy.spray for task in tasks] == ["ecmp", "random"] * 2


def test_the_commands_from_file_to_page(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["run", str(file), "--jobs", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["report", str(out), "--against", "ecmp"])
    assert done.exit_code == 0, done.output
    page = (out / "report.html").read_text()
    assert "reduction against ecmp" in page and page.count("<svg") == 2
    assert (out / "figures" / "slowdown.pdf").exists()
    done = CliRunner().invoke(app, ["report", str(out), "--against", "rc"])
    assert done.exit_code == 2
    assert "--against rc: no such setting; expected one of ecmp, random" in done.output
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 2
    assert f"{tmp_path}: no runs in it" in done.output


def test_a_run_that_is_damaged_is_named_and_one_that_is_cut_off_run_again(file: Path, tmp_path: Path) -> None:
    tasks = tasks_of(load_experiment(file, {"sweep.seeds": "1", "traffic.flows": "400"}))
    run_all(tasks, tmp_path, 1, print)
    empty, damaged = (task.path(tmp_path) for task in tasks)
    content = damaged.read_bytes()
    damaged.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 2
    assert done.output.startswith(f"csaud: {damaged}: ") and done.output.count("\n") == 1
    damaged.write_bytes(content)
    for rest in (b"", empty.read_bytes()[:-100]):  # a machine without power may leave either
        empty.write_bytes(rest)
        said: list[str] = []
        assert run_all(tasks, tmp_path, 1, said.append) == []
        assert said[0] == "1 of 2 runs are there already" and read_run(empty).code == this_code()


def test_a_reduction_is_of_the_same_seeds(file: Path, tmp_path: Path) -> None:
    """Seeds that are slow for both do not widen its interval."""
    theirs = np.array([10.0, 100.0, 1000.0, 10.0])
    exact = reduction(theirs * 0.6, theirs)
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.4, 0.4, 0.4))
    run_all(tasks_of(load_experiment(file)), tmp_path, 2, print)
    ecmp, random = (figures_of(setting, runs) for setting, runs in load_runs(tmp_path).items())
    assert compare(ecmp, ecmp).percentiles["fct_us"][1].value == 0
    assert compare(random, ecmp).against == "ecmp"


def test_the_experiment_of_the_manual_is_one(tmp_path: Path) -> None:
    (text,) = (part.split("```")[0] for part in DOCS.read_text().split("```yaml\n")[1:])
    (tmp_path / "loads.yaml").write_text(text)
    assert len(tasks_of(load_experiment(tmp_path / "loads.yaml"))) == 10 * 4 * 2


IN_MAKE_TEST = ("claim", "claim-collectives", "parity", "recovery", "spray-by-signal")
NAMES = sorted(path.stem for path in EXPERIMENTS.glob("*.yaml"))


@pytest.mark.parametrize("name", some(NAMES, IN_MAKE_TEST))
def test_experiments_that_come_along_run(name: str, tmp_path: Path) -> None:
    """Each setting of them, and each case, small."""
    found = find_experiment(name)
    assert found is not None
    tasks = tasks_of(load_experiment(found, {"sweep.seeds": "1"}))
    assert len(tasks) == len({str(task) for task in tasks})
    cases, settings = (list(dict.fromkeys(part)) for part in zip(*map(parts_of, tasks), strict=True))
    for task in tasks:
        case, setting = parts_of(task)
        if case == cases[0] or setting == settings[0]:
            totals = measure(small(task.experiment)).totals
            assert totals["unfinished"] == 0 and not totals["hidden_drops"] > 0, str(task)
            assert totals["collectives"] > 0 or totals["flows"] > 0, str(task)


def parts_of(task: Task) -> tuple[str, str]:
    case, _, setting = task.setting.rpartition(CASE_MARK)
    return case, setting


def small(experiment: Experiment) -> Experiment:
    keys: dict[str, object] = {"fabric": "leaf-spine-2x2"}
    if experiment.traffic is not None:
        keys |= {"traffic.flows": 20, "traffic.warmup": 0}
        if experiment.traffic.to is not None:
            keys |= {"traffic.to": "h4", "traffic.senders": 3}
    if any(link.where.startswith("c") for link in experiment.links):  # of a fat-tree's core
        slow = experiment.links[0].model_copy(update={"where": "s1:1"})
        keys["links"] = [slow.model_dump(mode="json", exclude_none=True)]
    if experiment.collectives is not None:
        keys |= {"collectives.ranks": None, "collectives.bytes": 4 * 4 * 4064}
        keys |= {"collectives.warmup": 0, "collectives.repeats": 1}
    return with_keys(experiment, keys)

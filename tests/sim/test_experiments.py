"""Experiments: ideal times, runs, sweeps, and what is refused."""

import csv
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from csaud_controller.base.yamlfile import ConfigError, FieldError
from csaud_runs.errors import RunError
from csaud_sim.cli import app
from csaud_sim.experiment.columns import COLLECTIVES, FLOWS, LINKS, TOTALS
from csaud_sim.experiment.comparison import compare, figures_of, load_runs
from csaud_sim.experiment.measure import measure
from csaud_sim.experiment.model import (
    EXPERIMENTS,
    Experiment,
    find_experiment,
    load_experiment,
    with_keys,
)
from csaud_sim.experiment.results import read_run
from csaud_sim.experiment.statistics import mean_over_seeds, reduction
from csaud_sim.experiment.sweep import CASE_MARK, Task, run_all, tasks_of
from typer.testing import CliRunner

from tests.support.marks import some, thorough

FABRIC = Path(__file__).parents[2] / "topologies" / "fabrics" / "leaf-spine-2x2.yaml"
DOCS = Path(__file__).parents[2] / "docs" / "simulation.md"
TEXT = """\
name: two-sprays
fabric: leaf-spine-2x2
link_rate: 100Gbit
link_delay: 500ns
pipeline: 400ns
traffic: {sizes: AliStorage2019, load: 0.6, flows: 60}
sweep:
  seeds: 3
  settings: {ecmp: {policy.spray: ecmp}, random: {policy.spray: random}}
"""


def experiment(**keys: object) -> Experiment:
    return Experiment.model_validate(
        {"name": "test", "fabric": "leaf-spine-2x2", "link_rate": "100Gbit", "traffic": {}, **keys}
    )


# A ring of 16 ranks, messages of 32 packets; a round trip takes 10 us without queues.
RING_OF_16: dict[str, object] = {
    "fabric": "leaf-spine-4x4x4",
    "link_delay": "775ns",
    "pipeline": "400ns",
    "traffic": None,
    "collectives": {"operation": "all_reduce.ring", "bytes": 16 * 32 * 4064, "repeats": 4},
}
SLOW_SPINE: dict[str, object] = {
    **RING_OF_16,
    "links": [{"where": "s1", "rate": "25Gbit"}],
    "policy": {"spray": "entropy"},
}


def mean_completion(keys: dict[str, object], **others: object) -> float:
    """Of an experiment's collectives, nanoseconds."""
    return float(measure(experiment(**keys, **others)).collectives["completion_ns"].mean())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two-sprays.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("fabric", ["leaf-spine-2x2", "fat-tree-4"])
@pytest.mark.parametrize("size", [1, 4064, 20 * 4064, [[0, 0], [9000, 60], [120_000, 100]]])
def test_on_an_idle_fabric_every_flow_takes_its_ideal_time(fabric: str, size: object) -> None:
    """Flows far apart that fit a window. Beyond it, in some, lie control packets of the sender (12 ns each at
    100 Gbit/s); and a shorter last packet (335 ns are a full one's) is behind the one before it where both
    take the same way."""
    asked = {"sizes": size, "load": 1e-7 if size == 1 else 1e-3, "flows": 60}
    flows = measure(experiment(fabric=fabric, link_delay="700ns", pipeline="400ns", traffic=asked)).flows
    late = flows["fct_ns"] - flows["ideal_ns"]
    assert late.min() == 0
    assert late.max() <= 24 + (335 if isinstance(size, list) else 0)
    assert np.median(late) == 0


def test_ideal_time_of_a_packet_by_hand() -> None:
    """4,064 bytes are a frame of 4,162 and 24 more: 334.88 ns at 100 Gbit/s, 335 in whole ones; within a leaf
    two links and a switch, else four and three."""
    found = measure(
        experiment(link_delay="1us", pipeline="400ns", traffic={"sizes": 4064, "load": 0.001, "flows": 40})
    )
    near = (found.flows["src"] // 2) == (found.flows["dst"] // 2)
    assert set(found.flows["ideal_ns"][near]) == {2 * 1335 + 400}
    assert set(found.flows["ideal_ns"][~near]) == {4 * 1335 + 3 * 400}


def test_no_flow_is_faster_than_ideal_and_losses_are_made_good() -> None:
    found = measure(
        experiment(
            traffic={"load": 0.9, "flows": 400},
            policy={"spray": "random", "loss_signal": "drop"},
            faults=[{"where": "uplinks", "probability": 0.01}],
        )
    )
    assert found.flows["slowdown"].min() >= 1
    assert found.totals["injected"] > 10
    assert found.totals["unfinished"] == 0
    totals = found.totals
    again = sum(totals[f"rtx_{name}"] for name in ("loss", "gap", "interval", "probe"))
    made_good = again + totals["rx_by_parity"]
    assert made_good - totals["rx_duplicates"] == totals["tx_data"] - totals["rx_data"]


@pytest.mark.parametrize("ecn", [True, False])
def test_congestion_marks_are_counted_where_switches_make_them(ecn: bool) -> None:
    slow = experiment(
        traffic={"load": 0.9, "flows": 100},
        links=[{"where": "s1", "rate": "10Gbit"}],
        policy={"spray": "random", "ecn": ecn},
    )
    assert (measure(slow).totals["rx_ecn"] > 0) == ecn


def test_what_is_not_over_at_the_limit_is_counted() -> None:
    found = measure(experiment(traffic={"sizes": 10_000_000, "flows": 20}, time_limit="1ms"))
    assert 0 < found.totals["unfinished"] <= 20
    assert np.isnan(found.flows["fct_ns"]).sum() == found.totals["unfinished"]


def test_collectives_wait_for_the_slowest_rank() -> None:
    """An all-reduce takes what its bytes take on a link and little more; a straggler puts off its start."""
    nbytes, ranks = 4_000_000, 4
    asked = {"bytes": nbytes, "repeats": 5, "compute": "100us", "straggler": "50us"}
    found = measure(experiment(traffic=None, collectives=asked)).collectives
    least = 2 * (ranks - 1) / ranks * nbytes * 8 / 100  # ns at 100 Gbit/s
    assert len(found["completion_ns"]) == 5
    assert (found["waited_ns"] > least).all() and (found["waited_ns"] < 1.5 * least).all()
    assert found["started_ns"][0] == 100_000
    assert found["completion_ns"][0] - found["waited_ns"][0] == 50_000


@pytest.mark.parametrize("seed", [1, thorough(2), thorough(3)])
def test_hosts_keep_away_from_a_slow_spine_by_default(seed: int) -> None:
    """By the marks that its queues bring; where each path has its turn, all wait for that spine."""
    default, in_turn = (
        mean_completion(SLOW_SPINE, seed=seed, host=host) for host in ({}, {"path_policy": "oblivious"})
    )
    assert default < 0.6 * in_turn


@pytest.mark.parametrize("operation", ["all_reduce.ring", "all_to_all.pairwise"])
def test_ranks_of_a_leaf_take_uplinks_in_turn(operation: str) -> None:
    """Each sends to the rank so many beyond itself, all at once, and each begins at another uplink: as if the
    leaf gave packets its uplinks in turn. Where all begin at the same one, they wait for each other."""
    keys = {**RING_OF_16, "collectives": {"operation": operation, "bytes": 16 * 32 * 4064, "repeats": 3}}
    hosts, switches = (mean_completion(keys, policy={"spray": spray}) for spray in ("host", "weighted"))
    assert hosts < 1.01 * switches


def test_an_all_to_all_with_a_slow_spine_takes_what_the_links_take() -> None:
    """Once hosts know the spine: what comes late over it keeps nobody from other paths."""
    asked = {"operation": "all_to_all.pairwise", "bytes": 16 * 32 * 4064, "warmup": 2, "repeats": 4}
    keys = {**RING_OF_16, "collectives": asked}
    whole, slow = (mean_completion(keys, links=links) for links in ([], SLOW_SPINE["links"]))
    assert slow < 1.1 * whole * 4 / 3.25


def test_a_ring_that_loses_has_rounds_as_even_as_one_that_knows_nothing_of_paths() -> None:
    keys = {**RING_OF_16, "impairments": [{"loss": 0.01}]}
    default, in_turn = (mean_completion(keys, host=host) for host in ({}, {"path_policy": "oblivious"}))
    assert default < 1.02 * in_turn


def test_marks_of_a_slow_spine_come_in_time() -> None:
    """After a queue that takes as long as that of another spine. The same number of packets takes four times
    as long, and a ring's step is over before they are marked."""
    late = {**SLOW_SPINE, "policy": {"spray": "entropy", "ecn": {"low": 32, "high": 64}}}
    assert mean_completion(SLOW_SPINE) < 0.85 * mean_completion(late)


@pytest.mark.parametrize(
    "operation", ["all_reduce.halving_doubling", "all_gather.ring", "broadcast.tree", "all_to_all.pairwise"]
)
def test_collectives_beside_traffic(operation: str) -> None:
    asked = {"operation": operation, "bytes": 400_000, "repeats": 3}
    found = measure(experiment(traffic={"flows": 50, "load": 0.3}, collectives=asked))
    assert found.totals["collectives"] == 3
    assert found.totals["unfinished"] == 0
    assert (found.collectives["completion_ns"] > 0).all()
    assert (np.diff(found.collectives["started_ns"]) > 0).all()


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


def test_ctrl_c_ends_a_sweep_at_once_and_keeps_what_is_over(file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "csaud", "sim", "run", str(file), "--jobs", "8", "--out", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--set", "sweep.seeds=500"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline().startswith("1 of 1000 · ")  # of eight processes not all are ready
        os.killpg(sweep.pid, signal.SIGINT)
        said = sweep.stdout.read()
    assert sweep.returncode == 130
    assert "runs are there; the same command does the rest" in " ".join(said.split())
    assert "Traceback" not in said
    assert list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
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
    assert task.path(Path()).name == "ecmp-seed1-c20313523afa.parquet"


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
    assert done.exit_code == 1
    assert "--against rc: no such setting; expected one of ecmp, random" in done.output
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert f"{tmp_path}: no runs in it" in done.output


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("traffic: {load: 2}", "traffic.load"),
        ("traffic: {sizes: Websearch}", "traffic.sizes"),
        ("traffic: {}\nhost: {mode: udp}", "host.mode"),
        ("traffic: {}\ncore: {windows: 3}", "core.windows"),
        ("traffic: {}\npolicy: {limits: {trim_at: 5000}}", "policy"),
        ("traffic: {pattern: incast, senders: 4}", "traffic.senders"),
        ("collectives: {bytes: 1000, operation: all_reduce.star}", "collectives.operation"),
        ("collectives: {bytes: 1000, ranks: 9}", "collectives.ranks"),
        ("collectives: {bytes: 1000, repeats: 2, warmup: 2}", "collectives.warmup"),
        ("traffic: {}\nlinks: [{where: s9, rate: 1Gbit}]", "links[0].where"),
        ("traffic: {}\nlinks: [{where: s1}]", "links[0]"),
        ("traffic: {}\nimpairments: [{where: l1-s9, loss: 0.1}]", "impairments[0].where"),
        ("traffic: {}\nimpairments: [{loss: 0.9, burst: 4}]", "impairments[0].burst"),
        ("traffic: {}\nimpairments: [{loss: 0.9, classes: [7]}]", "impairments[0].classes"),
        ("traffic: {}\nimpairments: [{where: all}]", "impairments[0]"),
        ("traffic: {}\noracle: true", "oracle"),
        ("traffic: {}\nsweep: {seeds: 0}", "sweep.seeds: expected greater than or equal to 1"),
        ("traffic: {}\nsweep: {seeds: [1, -1]}", "sweep.seeds[1]: expected greater than or equal to 0"),
        ("traffic: {}\nsweep: {vary: {traffic.load: []}}", "sweep.vary.traffic.load: expected at least 1"),
        ("traffic: {}\nfaults: [{where: nowhere, probability: 0.1}]", "faults[0].where: unknown place"),
        (
            "traffic: {}\nsweep: {settings: {good: {}, bad: {faults: [{where: nowhere, probability: 0.1}]}}}",
            "sweep.settings.bad.faults: faults[0].where: unknown place 'nowhere'",
        ),
        (
            "traffic: {}\nsweep: {settings: {bad: {policy.spray: sideways}}}",
            "sweep.settings.bad.policy.spray: policy.spray=sideways: ",
        ),
        ("traffic: {}\nsweep: {cases: {bad: {link_rte: 1}}}", "sweep.cases.bad.link_rte: link_rte: "),
        (
            "traffic: {}\nsweep: {vary: {fabric: [leaf-spine-2x2, leaf-spine-1]}}",
            "sweep.vary.fabric[1]: leaf-spine-1: no such fabric",
        ),
        (
            "collectives: {bytes: 1000}\nsweep: {vary: {collectives.ranks: [2, 9]}}",
            "sweep.vary.collectives.ranks[1]: collectives.ranks: expected at most",
        ),
        ("traffic: {}\nsweep: {vary: {seed: [1, 2]}}", "sweep.vary.seed: expected sweep.seeds"),
        ("traffic: {}\nsweep: {settings: {a: {name: b}}}", "sweep.settings.a.name: expected a key of what"),
        (
            "traffic: {}\nsweep: {cases: {a: {sweep.seeds: 2}}}",
            "sweep.cases.a.sweep.seeds: expected a key",
        ),
    ],
)
def test_mistakes_are_told_with_line_and_key(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"name: wrong\nfabric: leaf-spine-2x2\n{line}\n")
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert f"wrong.yaml:{2 + len(line.splitlines())}: {told}" in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what", ["experiment", "scenario"])
def test_what_is_no_folder_to_write_into_is_told_before_anything_is_run(
    file: Path, tmp_path: Path, what: str
) -> None:
    (taken := tmp_path / "taken").write_text("of somebody")
    for out in (taken, Path("/dev/full")):
        named = str(file) if what == "experiment" else "plain"
        done = CliRunner().invoke(app, ["run", named, "--out", str(out), "--jobs", "0"])
        assert done.exit_code == 1
        assert f"csaud: {out}" in done.output and done.output.count("\n") <= 2
        assert "expected a folder" in done.output and not isinstance(done.exception, OSError)
    assert taken.read_text() == "of somebody"


def test_a_run_that_is_damaged_is_named_and_an_empty_one_is_run_again(file: Path, tmp_path: Path) -> None:
    tasks = tasks_of(load_experiment(file, {"sweep.seeds": "1", "traffic.flows": "400"}))
    run_all(tasks, tmp_path, 1, print)
    empty, damaged = (task.path(tmp_path) for task in tasks)
    content = damaged.read_bytes()
    damaged.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output.startswith(f"csaud: {damaged}: ") and done.output.count("\n") == 1
    damaged.write_bytes(content)
    empty.write_bytes(b"")
    said: list[str] = []
    assert run_all(tasks, tmp_path, 1, said.append) == []
    assert said[0] == "1 of 2 runs are there already" and empty.stat().st_size


def test_a_file_that_is_no_text_is_told_in_one_line(tmp_path: Path) -> None:
    (path := tmp_path / "latin.yaml").write_bytes("about: für\n".encode("latin-1"))
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 1
    assert done.output.startswith(f"csaud: {path}: cannot be read: ") and "utf-8" in done.output


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("pyarrow", "pyarrow is not installed: pip install 'csaud[sim]'"),
        ("csaud_sim._core", "the simulator has not been compiled here: make sim does it"),
    ],
)
def test_what_is_missing_is_named_in_one_line(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, told: str
) -> None:
    for name in [name for name in sys.modules if re.match(r"csaud_sim\.(?!cli$|_core$)", name)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert done.output == f"csaud: {told}\n"


def test_a_setting_that_does_not_fit_is_named(file: Path) -> None:
    with pytest.raises(FieldError, match=r"policy.spray=sideways: .*expected"):
        tasks_of(load_experiment(file, {"sweep.settings": "{wrong: {policy.spray: sideways}}"}))
    with pytest.raises(ConfigError):
        load_experiment(file.with_name("nowhere.yaml"))


def test_intervals_hold_the_mean_and_grow_with_the_spread() -> None:
    print("seed 20")
    values = np.random.default_rng(20).normal(10, 1, 20)
    narrow, wide = mean_over_seeds(values), mean_over_seeds(10 + (values - 10) * 5)
    assert narrow.low < values.mean() < narrow.high
    assert wide.high - wide.low == pytest.approx(5 * (narrow.high - narrow.low))
    assert narrow.high - narrow.low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(20), rel=0.1)
    assert not mean_over_seeds(values[:2]).has_interval


def test_a_reduction_is_of_the_same_seeds(file: Path, tmp_path: Path) -> None:
    """Seeds that are slow for both do not widen its interval."""
    theirs = np.array([10.0, 100.0, 1000.0, 10.0])
    exact = reduction(theirs * 0.6, theirs)
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.4, 0.4, 0.4))
    run_all(tasks_of(load_experiment(file)), tmp_path, 2, print)
    ecmp, random = (figures_of(setting, runs) for setting, runs in load_runs(tmp_path).items())
    assert compare(ecmp, ecmp).percentiles["fct_us"][1].value == 0
    assert compare(random, ecmp).against == "ecmp"


@pytest.mark.parametrize("name", [*FLOWS, *COLLECTIVES, *LINKS, *TOTALS])
def test_every_column_and_total_is_documented(name: str) -> None:
    assert f"`{name}`" in DOCS.read_text()


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


@pytest.mark.parametrize("spray", ["entropy", "host"])
def test_a_senders_paths_reach_every_core_of_a_fat_tree(spray: str) -> None:
    """Where both tiers took path_id modulo their uplinks, they would choose alike: two of four cores."""
    packets = 1000
    traffic = {"pattern": "incast", "senders": 1, "to": "h16", "flows": 1, "sizes": packets * 4064}
    keys = {"fabric": "fat-tree-4", "link_rate": "100Gbit", "traffic": traffic, "seed": 3}
    keys |= {"policy": {"spray": spray}, "host": {"paths": 256}}
    links = measure(Experiment.model_validate({"name": "test", **keys})).links
    data = {"a": Counter[str](), "c": Counter[str]()}
    for switch, to, sent in zip(links["switch"], links["to"], links["data"], strict=True):
        if switch[0] + to[0] in ("ea", "ac") and sent:
            data[to[0]][to] += int(sent)
    assert sum(data["c"].values()) >= packets
    assert len(data["a"]) == 2 and len(data["c"]) == 4
    if spray == "host":
        first, second = data["a"].values()
        assert abs(first - second) <= 0.05 * packets, "path_id itself, in turn"
    mean, least = packets / 4, {"host": 0.95, "entropy": 0.7}[spray]
    assert least * mean < min(data["c"].values()) and max(data["c"].values()) < (2 - least) * mean, data


def test_ranks_together_load_uplinks_alike_where_these_are_no_divisor_of_the_paths() -> None:
    """Each has two of its 16 paths on four of twelve uplinks, but ranks have them on others: not half as much
    again as the mean on the same four."""
    all_to_all = {"operation": "all_to_all.pairwise", "bytes": 12 * 32 * 4064}
    keys = {"fabric": "leaf-spine-2x12x6", "link_rate": "100Gbit", "collectives": all_to_all}
    keys |= {"policy": {"spray": "host"}, "host": {"path_policy": "oblivious"}}
    found = measure(Experiment.model_validate({"name": "test", **keys}))
    assert found.totals["path_imbalance"] < 1.05

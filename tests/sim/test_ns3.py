"""Whichever engine keeps time, the same happens."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_sim import ns3
from csaud_sim.cli import app
from csaud_topologies.report.compare import load_report
from typer.testing import CliRunner

from tests.fabric.virtual import intent
from tests.sim.worlds import World
from tests.support.marks import thorough

SEED = 11
STEP = 5_003  # ns


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(ns3.build(tmp_path_factory.mktemp("ns3") / "engine.so"))


def traced(engine: str | None, inventory: Fabric, signal: str, loss: float, *, steps: bool) -> World:
    print("seed", SEED)
    world = World(
        inventory, intent("random", loss, signal, SEED), payloads=False, trace=10**6, pipeline_ns=400,
        drift_ppm=50, engine=engine,
    )  # fmt: skip
    world.add_random(150, 30 * 4064, 1_500, SEED)
    while steps and not world.simulation.run(world.simulation.now + STEP):
        pass
    world.run()
    return world


@pytest.mark.ns3
@pytest.mark.parametrize("steps", [pytest.param(False, id="at once"), thorough(True, id="in steps")])
@pytest.mark.parametrize(
    ("inventory", "signal", "loss"),
    [(leaf_spine(4, 4, 2), "drop", 0.02), (leaf_spine(2, 2, 4), "trim", 0.02), (fat_tree(4), "bounce", 0.0)],
    ids=lambda of: str(getattr(of, "name", of)),
)
def test_traces_are_identical(engine: str, inventory: Fabric, signal: str, loss: float, steps: bool) -> None:
    ours = traced(None, inventory, signal, loss, steps=steps)
    expected = ours.simulation.trace()
    theirs = traced(engine, inventory, signal, loss, steps=steps)
    found = theirs.simulation.trace()
    assert len(expected["time_ns"]) > 10_000
    for column in ("time_ns", "place", "kind", "bytes"):
        np.testing.assert_array_equal(found[column], expected[column], column)  # type: ignore[literal-required]
    assert theirs.simulation.trace_digest == ours.simulation.trace_digest
    np.testing.assert_array_equal(theirs.simulation.flows()["acked_ns"], ours.simulation.flows()["acked_ns"])


@pytest.mark.ns3
def test_a_scenario_ends_alike_by_either(engine: str, tmp_path: Path) -> None:
    """The command with the same file: every count, every time."""
    path = tmp_path / "ring.yaml"
    path.write_text(
        f"name: ring\nseed: {SEED}\nfabric: leaf-spine-2x2\nlink_rate: 1Gbit\n"
        "workload: {name: allreduce, sizes: [1, 1021, 30000]}\npolicy: {spray: random}\n"
        "faults: [{where: uplinks, probability: 0.02}]\n"
    )
    reports = []
    for more in ([], ["--engine", engine]):
        out = tmp_path / f"out{len(more)}"
        done = CliRunner().invoke(app, ["run", str(path), "--out", str(out), *more])
        assert done.exit_code == 0, done.output
        reports.append(load_report(out))
    ours, theirs = reports
    assert ours.recovery.lost > 0
    for part in ("recovery", "books", "uplinks", "flows", "all_reduce", "equality"):
        assert getattr(theirs, part) == getattr(ours, part), part
    assert theirs.run.job_s == ours.run.job_s


@pytest.mark.ns3
def test_an_experiment_has_the_same_rows_by_either(engine: str, tmp_path: Path) -> None:
    """Of CSA-UD and of a baseline; several runs in one process, and in two."""
    path = tmp_path / "own.yaml"
    path.write_text(
        "name: own\nfabric: leaf-spine-2x2\nlink_rate: 100Gbit\ntraffic: {flows: 40, load: 0.8}\n"
        "collectives: {bytes: 40000, repeats: 2}\nfaults: [{where: uplinks, probability: 0.01}]\n"
        "sweep: {seeds: 2, settings: {ours: {}, irn: {transport: irn}}}\n"
    )
    for out, more in (("heap", []), ("one", ["--engine", engine]), ("two", ["--engine", engine])):
        jobs = "2" if out == "two" else "1"
        asked = ["run", str(path), "--out", str(tmp_path / out), "--jobs", jobs, *more]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
    files = sorted((tmp_path / "heap" / "runs").glob("*.parquet"))
    assert len(files) == 4
    for file in files:
        for out in ("one", "two"):
            assert pq.read_table(tmp_path / out / "runs" / file.name).equals(pq.read_table(file)), file


@pytest.mark.ns3
def test_a_process_has_one_of_ns_3(engine: str) -> None:
    first = World(leaf_spine(1, 0, 2), engine=engine)
    with pytest.raises(RuntimeError, match="in use already"):
        World(leaf_spine(1, 0, 2), engine=engine)
    first.add((0, 1, 1000, 0))
    first.run()
    cycle: list[object] = [first]
    cycle.append(cycle)
    gc.disable()
    try:
        del first, cycle
        World(leaf_spine(1, 0, 2), engine=engine)  # nobody can use the first one any more
    finally:
        gc.enable()


def test_without_ns_3_the_command_says_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "csaud_sim.ns3", "--out", tmp_path / "engine.so"],
        env={"CSAUD_NS3": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path} has no include/ns3/simulator.h" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["plain", "loads"])
def test_a_command_with_no_engine_says_so(tmp_path: Path, what: str) -> None:
    nothing = tmp_path / "nothing.so"
    done = CliRunner().invoke(app, ["run", what, "--out", str(tmp_path / "out"), "--engine", str(nothing)])
    assert done.exit_code == 2 and done.output.startswith(f"csaud: --engine {nothing}: ")
    assert not (tmp_path / "out").exists()


def test_what_is_no_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"engine: .*nothing\.so"):
        World(leaf_spine(1, 0, 2), engine=str(tmp_path / "nothing.so"))

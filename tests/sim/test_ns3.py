"""Whichever engine keeps time, the same happens."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_sim import ns3

from tests.fabric.virtual import intent
from tests.sim.worlds import World

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
@pytest.mark.parametrize("steps", [False, True], ids=["at once", "in steps"])
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
def test_a_process_has_one_of_ns_3(engine: str) -> None:
    first = World(leaf_spine(1, 0, 2), engine=engine)
    with pytest.raises(RuntimeError, match="in use already"):
        World(leaf_spine(1, 0, 2), engine=engine)
    first.add((0, 1, 1000, 0))
    first.run()


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


def test_what_is_no_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"engine: .*nothing\.so"):
        World(leaf_spine(1, 0, 2), engine=str(tmp_path / "nothing.so"))

"""The engine of its own: events come at their times, of one time in order, but those that were cancelled."""

import subprocess
from pathlib import Path

import pytest

from tests.support.compiled import compiled

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "sim" / "native"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [NATIVE / "csaud_sim" / "engine" / "event_heap.cpp", HERE / "engine_probe.cpp"]
    return compiled(tmp_path_factory, "engine-probe", sources, [NATIVE])


@pytest.mark.parametrize("seed", range(5))
def test_events_come_in_order(probe: Path, seed: int) -> None:
    done = subprocess.run([probe, str(seed), "20000"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK", "")

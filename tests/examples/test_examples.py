"""Each program under `examples/`, as a job in a small fabric that loses packets."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tests.topologies.fabrics import waiting_fabric

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
_TORCH_VENV = ROOT / "build" / "torch-venv" / "bin" / "python"  # the benchmarks' (bench host --torch)

pytestmark = [pytest.mark.root, pytest.mark.xdist_group("examples")]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fabric")
    with waiting_fabric(folder, "leaf-spine-2x2", "--loss", "0.02") as fabric:
        yield fabric


def shown(fabric, example: str, *arguments: str, python: str = sys.executable) -> str:
    """What an example says as a job."""
    done = fabric.job(python, str(EXAMPLES / example), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def test_all_reduce(fabric):
    said = shown(fabric, "all_reduce.py", "--elements", "100000", "--repeats", "4")
    assert len(re.findall(r"^\[rank \d\] [\d.]+ ms an all-reduce of 0\.4 MB, ", said, re.MULTILINE)) == 4
    report = fabric.report()
    assert report.books.balanced and report.recovery.lost > 0
    assert report.all_reduce.count == 4


@pytest.mark.thorough
def test_neighbour_average(fabric):
    said = shown(fabric, "neighbour_average.py")
    assert re.search(r"^\[rank 3\] all ranks are at 1\.50 after \d+ rounds", said, re.MULTILINE)
    assert fabric.report().books.balanced


def test_policy_change(fabric):
    said = shown(fabric, "policy_change.py")
    assert re.search(r"^\[rank 0\] [\d.]+ ms an all-reduce as the fabric was", said, re.MULTILINE)
    report = fabric.report()
    assert [change.what for change in report.changes] == [
        ["policy.spray: random -> ecmp"],
        ["policy.spray: ecmp -> random"],
    ]
    assert report.books.balanced


def test_ddp_over_gloo(fabric):
    python = sys.executable if importlib.util.find_spec("torch") else str(_TORCH_VENV)
    if not Path(python).exists():
        pytest.skip("PyTorch is not installed (bench host --torch installs it into build/torch-venv)")
    said = shown(fabric, "ddp_gloo.py", python=python)
    assert len(re.findall(r"^\[rank \d\] loss .* on 4 ranks$", said, re.MULTILINE)) == 4
    assert fabric.report().books.empty


def test_every_example_is_in_the_list_and_is_tried_here():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == set(re.findall(r"^\| `(\w+\.py)`", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert all(f'"{name}"' in Path(__file__).read_text() for name in names)

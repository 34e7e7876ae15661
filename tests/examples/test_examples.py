"""Each program under `examples/`, as a job in a small fabric that loses packets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.topologies.fabrics import waiting_fabric

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

pytestmark = [pytest.mark.root, pytest.mark.xdist_group("examples")]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fabric")
    with waiting_fabric(folder, "leaf-spine-2x2", "--loss", "0.02") as fabric:
        yield fabric


def shown(fabric, example: str, *arguments: str) -> str:
    """What an example says as a job."""
    done = fabric.job(sys.executable, str(EXAMPLES / example), *arguments)
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


@pytest.mark.thorough
def test_own_schedule(fabric):
    said = shown(fabric, "own_schedule.py")
    for rank, total in enumerate([4, 3, 6, 5]):  # of 3, 0 and 1; of 0, 1 and 2 ...
        assert f"[rank {rank}] rank {rank} and its neighbours make {total}; 1 call of 800000 bytes" in said
    assert fabric.report().books.balanced


@pytest.mark.thorough
def test_policy_change(fabric):
    said = shown(fabric, "policy_change.py")
    assert re.search(r"^\[rank 0\] [\d.]+ ms an all-reduce as the fabric was", said, re.MULTILINE)
    report = fabric.report()
    assert [change.what for change in report.changes] == [
        ["policy.spray: host -> ecmp"],
        ["policy.spray: ecmp -> host"],
    ]
    assert report.books.balanced


@pytest.mark.torch
@pytest.mark.parametrize("backend", ["csaud", "gloo"])
def test_ddp(fabric, backend):
    said = shown(fabric, "ddp.py", "--backend", backend)
    assert len(re.findall(r"^\[rank \d\] loss .* on 4 ranks$", said, re.MULTILINE)) == 4
    books = fabric.report().books
    assert books.empty if backend == "gloo" else books.balanced


@pytest.mark.torch
@pytest.mark.thorough
@pytest.mark.parametrize("how", [[], ["--shard"]], ids=["ddp", "fsdp"])
def test_losses_of_training_are_those_of_a_run_without_faults(fabric, tmp_path, how):
    asked = ["--steps", "10", *how, "--losses"]
    shown(fabric, "transformer.py", *asked, str(tmp_path / "lossy"))
    report = fabric.report()
    assert report.books.balanced and report.recovery.lost > 0
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--standalone"]
    command = [*torchrun, str(EXAMPLES / "transformer.py"), *asked, str(tmp_path / "without")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    losses = (tmp_path / "lossy").read_text()
    assert losses == (tmp_path / "without").read_text()
    assert len(json.loads(losses)) == 10


@pytest.mark.torch
@pytest.mark.thorough
def test_losses_of_training_are_the_same_while_a_link_fails_and_comes_back(tmp_path):
    """DDP and FSDP2 on eight ranks, in examples/lossy.yaml with a link that goes down and up all the time,
    so that training meets it however fast it is."""
    scenario = yaml.safe_load((EXAMPLES / "lossy.yaml").read_text())
    scenario["events"] = [
        {"after": f"{10 * turn}s", "link": "uplink", "do": ("up", "down")[turn % 2]} for turn in range(1, 60)
    ]
    for folder in ("faults", "none"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lossy.yaml").write_text(yaml.safe_dump(scenario))
    with (
        waiting_fabric(tmp_path / "faults", str(tmp_path / "lossy.yaml")) as faulty,
        waiting_fabric(tmp_path / "none", "leaf-spine-4x4") as calm,
    ):
        for how in ([], ["--shard"]):
            asked = ["--steps", "12", *how, "--losses"]
            shown(calm, "transformer.py", *asked, str(tmp_path / "without"))
            shown(faulty, "transformer.py", *asked, str(tmp_path / "lossy"))
            report = faulty.report()
            assert report.books.balanced and report.recovery.lost > 0
            assert report.events or report.run.duration_s < 10, "none is due before"
            losses = (tmp_path / "lossy").read_text()
            assert losses == (tmp_path / "without").read_text()
            assert len(json.loads(losses)) == 12


@pytest.mark.thorough
@pytest.mark.parametrize("example", ["recover.py", pytest.param("recover_torch.py", marks=pytest.mark.torch)])
def test_recover_has_the_weights_of_a_run_without_deaths(example):
    said = []
    for deaths in ("0", "2"):
        command = [sys.executable, str(EXAMPLES / example), "--deaths", deaths]
        launcher = [sys.executable, "-m", "csaud", "recover", "--workers", "4", "--returns", "1", "--"]
        done = subprocess.run([*launcher, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(done.stdout)
    assert [text.count("killed by SIGKILL") for text in said] == [0, 2]
    undisturbed, disturbed = (re.findall(r"weights \w{16}$", text, re.MULTILINE) for text in said)
    assert undisturbed == disturbed != []


@pytest.mark.thorough
def test_recover_goes_on_in_a_fabric_where_a_rank_may_die(fabric):
    weights = set()
    for deaths in ("0", "1"):
        command = [sys.executable, str(EXAMPLES / "recover.py"), "--deaths", deaths]
        done = fabric.job(*command, options=("--deaths", deaths))
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr.count("failed: killed by SIGKILL; the others go on") == int(deaths)
        weights |= set(re.findall(r"^\[rank \d\] weights (\w{16})$", done.stdout, re.MULTILINE))
    assert len(weights) == 1


@pytest.mark.torch
@pytest.mark.thorough
def test_scape_sends_an_eighth_and_learns(fabric):
    said = shown(fabric, "scape.py", "--steps", "60")
    first, last, fewer = re.search(
        r"^\[rank 0\] loss ([\d.]+) -> ([\d.]+), .* ([\d.]+) times fewer", said, re.MULTILINE
    ).groups()
    assert float(last) < float(first) - 1 and float(fewer) > 8
    assert fabric.report().books.balanced


def test_every_example_is_in_the_list_and_is_tried_here():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == set(re.findall(r"^\| `(\w+\.py)`", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert all(f'"{name}"' in Path(__file__).read_text() for name in names)

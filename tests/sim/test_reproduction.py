"""The reproduction of the claim: parts that come along, one command for all, one page with verdicts."""

import json
from pathlib import Path

import pytest
from csaud_runs.errors import RunError
from csaud_sim.cli import app
from csaud_sim.experiment.baselines import BASELINES
from csaud_sim.experiment.claim import over_all
from csaud_sim.experiment.model import EXPERIMENTS
from csaud_sim.reproduction.parts import PARTS, Part
from csaud_sim.reproduction.run import Reproduction, chosen
from typer.testing import CliRunner

SMALL = {"fabric": "leaf-spine-2x2", "traffic.flows": 30, "traffic.warmup": 0, "sweep.seeds": 3}
CASE = "messages of 32 packets, 0.001 lost"
SMALL_PARTS = (
    Part("claim", "The claim", "claim", SMALL, {CASE: {"traffic.load": 0.9}}),
    Part(
        "claim-collectives",
        "Collectives",
        quick={"fabric": "leaf-spine-2x2", "collectives.bytes": 65_024, "sweep.seeds": 1},
        cases={"ring, 8 MB": {}},
    ),
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both parts, run, where nothing was."""
    folder = tmp_path_factory.mktemp("reproduce")
    said: list[str] = []
    assert Reproduction(SMALL_PARTS, True, folder).run(1, said.append) == []
    of_claim = [line for line in said if "claim: " in line]
    assert len(of_claim) == 29 * 3 and "0 s left" in said[-1]
    assert said.index(next(line for line in said if "claim-coll" in line)) < 30, (
        "something of every part comes first"
    )
    return folder


def test_the_page_has_a_verdict_against_every_baseline(out: Path) -> None:
    page, found = Reproduction(SMALL_PARTS, True, out).write()
    told = {baseline.number for baseline in over_all(found)}
    assert told <= set(BASELINES) and {"B1", "B2", "B3", "B4", "B5", "B6", "B7", "B9", "B10"} <= told
    assert json.loads(json.dumps(found[0].told()))["reproduced"] == found[0].reproduced
    text = page.read_text()
    assert "The claim is " in text and "quick form" in text
    for part in SMALL_PARTS:
        assert f'<h2 id="{part.name}">{part.title}</h2>' in text
        assert (out / part.name / "figures.csv").exists()
    assert text.count("<svg") == 2, "of the claim, two measures"


def test_what_is_there_is_not_run_again(out: Path) -> None:
    said: list[str] = []
    before = {file: file.stat().st_mtime_ns for file in out.rglob("*.parquet")}
    Reproduction(SMALL_PARTS, True, out).run(1, said.append)
    assert said == [f"{len(before)} of {len(before)} runs are there already"]
    assert before == {file: file.stat().st_mtime_ns for file in out.rglob("*.parquet")}


def test_all_parts_are_experiments_that_come_along() -> None:
    """Each has runs, no two of one file."""
    assert {part.name for part in PARTS} <= {file.stem for file in EXPERIMENTS.glob("*.yaml")}
    parts = chosen([], quick=True)
    tasks = [task for part in parts for task in part.tasks(quick=True)]
    assert len({task.path(Path()) for task in tasks}) == len(tasks)
    assert {task.folder for task in tasks} == {part.name for part in parts}


def test_a_part_that_is_none_is_told() -> None:
    with pytest.raises(RunError, match="--only anchors: no such part; expected one of claim, claim-loads"):
        chosen(["anchors"], True)
    done = CliRunner().invoke(app, ["reproduce", "--quick", "--only", "recovery"])
    assert done.exit_code == 2, done.output
    assert "--only recovery: no such part; expected one of" in done.output

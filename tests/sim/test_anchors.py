"""`csaud sim anchors`: every baseline beside what was published of it."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from csaud_sim.anchors.published import ANCHORS, Published
from csaud_sim.anchors.run import chosen
from csaud_sim.anchors.standing import Held, doubts_of, hold, read_standing, standings, write_standing
from csaud_sim.cli import app
from csaud_sim.experiment.baselines import BASELINES, baseline_of
from csaud_sim.experiment.comparison import load_runs
from csaud_sim.experiment.model import EXPERIMENTS, load_experiment
from csaud_sim.experiment.sweep import tasks_of
from csaud_sim.transports.model import Transport, kinds
from typer.testing import CliRunner

DOCS = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_a_baseline_within_bounds_and_the_same_out_of_others(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["anchors", "B1", "--jobs", "1", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    held = read_standing(tmp_path)
    assert [each.baseline for each in held] == ["B1"] * 3 and all(each.within for each in held)
    assert standings(held) == {
        name: True if name == "B1" else None for name, each in BASELINES.items() if not each.own
    }
    assert doubts_of(held) == {"B1": ""}
    for each in held:
        assert each.what in done.output.replace("\n", " ") or each.published in done.output
        assert each.low <= each.least <= each.ours <= each.most <= each.high
    anchor = next(anchor for anchor in ANCHORS if anchor.baseline == "B1")
    wrong = hold(replace(anchor, high=50.0), load_runs(tmp_path / anchor.experiment))
    assert not wrong.within
    assert standings([held[0], wrong, held[1]])["B1"] is False


def test_pages_of_baselines_have_the_table_of_their_anchors(tmp_path: Path) -> None:
    """Those of other baselines are on none of them; one out of bounds says so."""
    runs, standing = tmp_path / "runs", tmp_path / "anchors"
    anchors = [
        next(anchor for anchor in ANCHORS if anchor.baseline == baseline and anchor.experiment == of)
        for baseline, of in (("B1", "rc-goodput"), ("B6", "ndp-incast"))
    ]
    held = [
        Held(**{each.name: getattr(anchor, each.name) for each in fields(Published)},
             ours=12.25, least=12.0, most=12.5, seeds=3, within=False)
        for anchor in anchors
    ]  # fmt: skip
    write_standing(standing, held, everything=False)
    file = tmp_path / "own.yaml"
    file.write_text(
        "name: own\nfabric: leaf-spine-2x2\nlink_rate: 100Gbit\ntraffic: {flows: 20}\n"
        "sweep: {settings: {ours: {}, theirs: {transport: rc}}}\n"
    )
    assert CliRunner().invoke(app, ["run", str(file), "--jobs", "1", "--out", str(runs)]).exit_code == 0
    done = CliRunner().invoke(app, ["report", str(runs), "--anchors", str(standing)])
    assert done.exit_code == 0 and "out of bounds of its anchor" in done.output
    page = (runs / "report.html").read_text()
    assert "within bounds" in page and "12.2 " in page and ">NO</td>" in page
    assert "<td>B1</td>" in page and "<td>B6</td>" not in page


def test_what_anchors_need_comes_along() -> None:
    smaller = {anchor.experiment: {"fabric": "fat-tree-8"} if anchor.large else {} for anchor in ANCHORS}
    found = {
        name: tasks_of(load_experiment(EXPERIMENTS / f"{name}.yaml", keys)) for name, keys in smaller.items()
    }
    for anchor in ANCHORS:
        tasks = found[anchor.experiment]
        assert set(anchor.settings) <= {task.setting for task in tasks}, anchor
        first = next(task for task in tasks if task.setting == anchor.settings[0])
        found_as = baseline_of(first.experiment.model_dump(mode="json"))
        assert found_as is not None and found_as.number == anchor.baseline


def test_every_transport_is_a_baseline_and_csa_ud_is_none() -> None:
    run = {"oracle": False, "core": {}}
    for name in kinds():
        found = baseline_of({**run, "transport": Transport(name=name).model_dump(mode="json")})
        assert found is not None and found.number in BASELINES
    assert baseline_of({**run, "transport": Transport().model_dump(mode="json")}) is None
    text = DOCS.read_text()
    held = {anchor.baseline for anchor in ANCHORS}
    for number, each in BASELINES.items():
        assert (number in held) != (each.own or bool(each.unanchored)), number
        assert re.search(rf"\b{number}\b", text)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("B99", "B99: no such baseline; expected one of B1"),
        ("B5", "it is the host core itself"),
        ("B10", "B10, DCP-like: no figure"),
    ],
)
def test_a_baseline_that_cannot_be_held_is_named(tmp_path: Path, asked: str, told: str) -> None:
    done = CliRunner().invoke(app, ["anchors", asked, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and told in done.output.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_large_fabrics_are_asked_for() -> None:
    assert not any(anchor.large for anchor in chosen(False, []))
    assert sum(anchor.large for anchor in chosen(True, ["B7"])) == 7

"""The claim: its rule, which setting is which baseline, marks, and the way from runs to verdicts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from csaud_runs.errors import RunError
from csaud_sim.anchors.published import ANCHORS
from csaud_sim.anchors.standing import hold, write_standing
from csaud_sim.cli import app
from csaud_sim.experiment.baselines import MARK, baseline_of, doubt_of
from csaud_sim.experiment.claim import over_all, verdicts, why_not
from csaud_sim.experiment.comparison import load_runs
from csaud_sim.experiment.model import Experiment, load_experiment
from csaud_sim.experiment.page import in_words
from csaud_sim.experiment.statistics import Estimate
from csaud_sim.experiment.sweep import run_all, tasks_of
from typer.testing import CliRunner

TEXT = """\
name: small
fabric: leaf-spine-2x2
link_rate: 100Gbit
traffic: {sizes: 130048, load: 0.9, flows: 150}
sweep:
  seeds: 3
  cases:
    calm: {}
    lossy: {faults: [{where: uplinks, probability: 0.02}]}
  settings:
    ours: {}
    patient: {transport: {name: rc, timeout: 5ms}}
    hasty: {transport: {name: rc, timeout: 100us}}
    irn: {transport: irn}
"""


@pytest.mark.parametrize(
    ("reduction", "flows", "told"),
    [
        (Estimate(0.5, 0.301, 0.6), (0, 0), ""),
        (Estimate(0.5, 0.30, 0.6), (0, 0), "the lower end is not above 30%"),
        (Estimate(0.9, -0.2, 0.95), (0, 0), "the lower end is not above 30%"),
        (Estimate(-0.5, -0.9, -0.1), (0, 0), "CSA-UD is slower"),
        (Estimate(0.9), (0, 0), "too few seeds for an interval"),
        (Estimate(0.9, 0.8, 0.95), (2, 0), "2 flows a run were not over (ours)"),
        (Estimate(0.9, 0.8, 0.95), (0, 3), "3 flows a run were not over (theirs)"),
    ],
)
def test_reproduced_is_a_lower_end_above_30_percent(
    reduction: Estimate, flows: tuple[int, int], told: str
) -> None:
    assert why_not(reduction, *flows) == told


@pytest.mark.parametrize(
    ("keys", "number"),
    [
        ({}, None),
        ({"core": {"detect_gap": False}, "policy": {"spray": "ecmp"}}, None),
        ({"transport": "rc"}, "B1"),
        ({"transport": {"name": "rc", "pfc": True}}, "B2"),
        ({"transport": "dcqcn"}, "B2"),
        ({"transport": "irn"}, "B3"),
        ({"transport": {"name": "irn", "spray": "random"}}, "B4"),
        ({"core": {"fixed_interval": 100_000}}, "B5"),
        ({"transport": "ndp"}, "B6"),
        ({"transport": "uec"}, "B7"),
        ({"transport": {"name": "rc", "spray": "flowlet"}}, "B8"),
        ({"oracle": True, "policy": {"loss_signal": "drop"}}, "B9"),
        ({"transport": "dcp"}, "B10"),
    ],
)
def test_every_setting_is_ours_or_a_baseline(keys: dict[str, object], number: str | None) -> None:
    experiment = Experiment.model_validate({"name": "test", "traffic": {}, **keys})
    found = baseline_of(experiment.model_dump(mode="json"))
    assert (found and found.number) == number


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small experiment, run."""
    folder = tmp_path_factory.mktemp("claim")
    (folder / "small.yaml").write_text(TEXT)
    assert run_all(tasks_of(load_experiment(folder / "small.yaml")), folder, 1, print) == []
    return folder


def test_the_strongest_setting_of_a_baseline_counts_in_every_case(out: Path) -> None:
    found = verdicts(load_runs(out))
    assert [(each.case, each.baseline.number, each.of) for each in found] == [
        *(("calm", "B1", 2), ("calm", "B3", 1)),
        *(("lossy", "B1", 2), ("lossy", "B3", 1)),
    ]
    assert found[2].setting == "lossy: hasty", "5 ms without a word are slower than 100 us"
    assert found[2].seeds == 3 and found[2].ours < found[2].theirs
    for baseline, reproduced in over_all(found).items():
        assert reproduced == all(each.reproduced for each in found if each.baseline == baseline)


def test_the_report_tells_verdicts_and_marks_who_missed_an_anchor(out: Path, tmp_path: Path) -> None:
    for run in (out / "runs").glob("lossy*"):
        (tmp_path / run.name).symlink_to(run)
    anchor = {number: next(each for each in ANCHORS if each.baseline == number) for number in ("B1", "B3")}
    ours = {"B1": anchor["B1"].low, "B3": anchor["B3"].high + 1}
    held = [hold(replace(each, figure=lambda _, n=n: np.array([ours[n]])), {}) for n, each in anchor.items()]
    write_standing(tmp_path / "anchors", held, False)
    asked = ["report", str(tmp_path), "--claim", "--anchors", str(tmp_path / "anchors")]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "The claim is " in done.output
    assert f"lossy: irn {MARK}" in done.output
    assert f"{MARK} B3, IRN, ECMP: out of bounds of its anchor: " in done.output
    assert f"hasty {MARK}" not in done.output
    page = (tmp_path / "report.html").read_text()
    assert "The claim is " in page and f"irn {MARK}" in page
    assert page.count("<svg") == 2, "two measures"
    assert f"| irn {MARK} |" in (tmp_path / "cases.md").read_text()


def test_who_was_not_held_to_an_anchor_is_marked(out: Path) -> None:
    runs = load_runs(out)
    doubts = {each.baseline.number: each.doubt for each in verdicts(runs)}
    assert all("csaud sim anchors" in doubt for doubt in doubts.values()) and set(doubts) == {"B1", "B3"}
    own = Experiment.model_validate({"name": "own", "traffic": {}, "core": {"fixed_interval": 1000}})
    assert doubt_of(baseline_of(own.model_dump(mode="json")), {}) == doubt_of(None, {}) == ""
    there = CliRunner().invoke(app, ["report", str(out), "--anchors", str(out / "none")])
    assert there.exit_code == 2 and "not written by csaud sim anchors" in " ".join(there.output.split())


def test_what_is_no_claim_is_told(out: Path) -> None:
    runs = load_runs(out)
    with pytest.raises(RunError, match=r"calm: .* here are 0"):
        verdicts({name: those for name, those in runs.items() if "ours" not in name})


def test_nothing_is_reproduced_where_runs_are_missing(out: Path, tmp_path: Path) -> None:
    """Among them may be the strongest setting, or another case."""
    for run in (out / "runs").iterdir():
        (tmp_path / run.name).symlink_to(run)
    assert any(each.reproduced for each in verdicts(load_runs(tmp_path)))
    next(tmp_path.glob("lossy_hasty*")).unlink()
    found = verdicts(load_runs(tmp_path))
    assert {each.why_not for each in found} == {"1 runs are missing"}
    assert in_words(found)[-1] == "The claim is not reproduced: not against B1, B3."


def test_a_baseline_that_some_case_lacks_is_not_reproduced(out: Path) -> None:
    found = [replace(each, why_not="") for each in verdicts(load_runs(out))]
    assert in_words(found)[-1] == "The claim is not decided: reproduced against B1, B3, not run: B4, B5."
    assert [b.number for b, reproduced in over_all(found[1:]).items() if reproduced] == ["B3"]
    assert in_words(found[1:])[-1] == "The claim is not reproduced: not against B1."


def test_a_baseline_that_never_ends_is_not_the_strongest(out: Path, tmp_path: Path) -> None:
    text = TEXT.replace("{transport: irn}", "{transport: irn, time_limit: 1us}")
    (tmp_path / "small.yaml").write_text(text)
    tasks = tasks_of(load_experiment(tmp_path / "small.yaml"))
    run_all([task for task in tasks if task.setting == "calm: irn"], tmp_path, 1, print)
    (some := tmp_path / "some").mkdir()
    for run in [*out.glob("runs/calm_[!i]*.parquet"), *tmp_path.glob("runs/*.parquet")]:
        (some / run.name).symlink_to(run)
    runs = load_runs(some)
    never = runs["calm: irn"]
    _, irn = verdicts(runs)
    assert irn.why_not == "150 flows a run were not over (theirs)" and irn.told()["theirs_us"] is None
    of_rc = runs["calm: hasty"][0].settings
    rc, _ = verdicts({**runs, "calm: hasty": [replace(run, settings=of_rc) for run in never]})
    assert rc.setting == "calm: patient" and rc.of == 2 and rc.reduction.has_interval

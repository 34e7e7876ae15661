"""What an acceptance leaves behind: nothing of what it asks of switches, and no verdict but its own."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from csaud_controller.control.client import ask, wait_programmed
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_controller.run.directory import RunDir
from csaud_lab.acceptance import Acceptance, accept, write
from csaud_lab.acceptance.model import PartResult
from csaud_lab.acceptance.parts import PARTS, judged, scenario
from csaud_lab.acceptance.run import _as_it_was, _demand
from csaud_lab.checks.finding import Finding
from csaud_lab.cli import app
from csaud_lab.site import Lab, Site
from csaud_runs.errors import RunError
from rich.console import Console
from typer.testing import CliRunner

from tests.controller.soft import controller_process, run_directory, switch_process
from tests.lab.places import nowhere
from tests.topologies.test_report import report


def test_policy_and_faults_come_back_however_an_acceptance_ends() -> None:
    fabric = leaf_spine(2, 2, 1)
    with run_directory(fabric) as place:
        run = RunDir(place.path / "run")
        run.path.mkdir()
        place.fabric_file.rename(run.fabric_file)
        site = Site(Path("lab.yaml"), Lab(fabric=Path("fabric.yaml"), directory=place.path), fabric)
        with switch_process(run), controller_process(run):
            wait_programmed(run.control_socket, 60.0)
            ask(run.control_socket, "policy.set", policy={"spray": "flowlet", "queues": {"26": 3}})
            ask(run.control_socket, "fault.set", rule={"where": "l1-s1", "probability": 0.01})

            def in_force() -> Intent:
                return Intent.model_validate(ask(run.control_socket, "intent")["intent"])

            def demand(number: int) -> None:
                _demand(run, scenario(PARTS[number], site, mine.policy).intent())
                assert in_force().policy.spray == "random" and in_force().policy.queues == {26: 3}

            mine = in_force()
            with pytest.raises(KeyboardInterrupt), _as_it_was(site, run):
                demand(1)
                raise KeyboardInterrupt
            assert in_force() == mine
            # what one that is killed leaves
            (site.directory / "before-acceptance.json").write_text(mine.model_dump_json())
            demand(2)
            with _as_it_was(site, run) as before:
                assert before == in_force() == mine
                demand(3)
            assert in_force() == mine
            assert not list(site.directory.glob("before-*"))


@pytest.mark.parametrize(
    ("again", "by_parity", "parity_lost", "holds"),
    [(10, 0, 0, True), (9, 0, 0, False), (9, 1, 0, True), (9, 0, 1, True), (8, 1, 0, False), (8, 1, 1, True)],
)
def test_each_lost_copy_is_sent_again_or_given_back(
    again: int, by_parity: int, parity_lost: int, holds: bool
) -> None:
    """Of ten that were lost without a word; a lost PARITY is among those that switches count."""
    made = report()
    counts = {
        "retransmitted": again,
        "found_by": made.recovery.found_by | {"parity": by_parity},
        "parity": {"sent": 3, "lost": parity_lost},
    }
    recovery = made.recovery.model_copy(update=counts)
    switches = made.switches.model_copy(update={"injected": 10})
    (part,) = (part for part in PARTS if part.name == "injected")
    found = judged(part, made.model_copy(update={"recovery": recovery, "switches": switches}))
    assert {check.name: check.passed for check in found.checks}["copies recovered"] == holds


def accepted() -> Acceptance:
    """What an earlier acceptance found: all was well."""
    return Acceptance(
        passed=True,
        lab="lab.yaml",
        fabric="leaf-spine-1x0x2",
        started="2026-11-23T13:47:18+00:00",
        duration_s=1.0,
        device="soft",
        hosts=["h1", "h2"],
        looked_at=[],
        parts=[],
    )


def test_figures_of_each_part_are_below_what_they_are_figures_of(tmp_path: Path) -> None:
    figures = {"sent": 1044, "lost": 18, "retransmitted": 19, "all_reduce_p50_s": 0.134}
    part = PartResult(
        name="trim", about="", passed=True, checks=19, failed=[], figures=figures, report="trim/report.html"
    )
    write(accepted().model_copy(update={"parts": [part]}), tmp_path)
    told = CliRunner().invoke(app, ["report", "--out", str(tmp_path)]).stdout.splitlines()
    assert told[:2] == [
        "    part   sent  lost  sent again  all-reduce  checks     ",
        "ok  trim  1,044    18          19    134.0 ms  all 19 held",
    ]


def test_a_lab_whose_acceptance_breaks_off_is_accepted_no_more(tmp_path: Path) -> None:
    nowhere(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    write(accepted(), out)
    runner = CliRunner()
    assert runner.invoke(app, ["report", "--out", str(out)]).exit_code == 0
    words = ["accept", "--lab", str(tmp_path / "lab.yaml"), "--out", str(out)]
    assert runner.invoke(app, words).exit_code == 1
    assert runner.invoke(app, ["report", "--out", str(out)]).exit_code == 1
    assert list(out.iterdir()) == []


def test_a_second_acceptance_is_refused_and_leaves_the_first_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, out = nowhere(tmp_path), tmp_path / "out"
    out.mkdir()
    refused = []

    def look_meanwhile(site: Site) -> list[Finding]:
        write(accepted(), out)
        with pytest.raises(RunError) as told:
            accept(site, out, Console(file=io.StringIO()))
        refused.append(str(told.value))
        return [Finding("problem", "h1", "off")]

    monkeypatch.setattr("csaud_lab.acceptance.run.look", look_meanwhile)
    with pytest.raises(RunError, match="h1: off"):
        accept(site, out, Console(file=io.StringIO()))
    assert refused == [f"another `csaud lab accept` of {tmp_path}/lab.yaml runs"]
    assert (out / "acceptance.json").exists()

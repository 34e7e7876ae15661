"""What an acceptance leaves behind of what it asks of switches: nothing, however it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from csaud_controller.control.client import ask, wait_programmed
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_controller.run.directory import RunDir
from csaud_lab.acceptance.parts import PARTS, judged, scenario
from csaud_lab.acceptance.run import _as_it_was, _demand
from csaud_lab.site import Lab, Site

from tests.controller.soft import controller_process, run_directory, switch_process
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

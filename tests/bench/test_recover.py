"""Figures of training under failures, from what workers tell."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bench import recover
from bench.recover import Run, _killed, rows_of
from bench.recover_model import of_recovery, of_restarts, young_daly


def run(step_s: float, restart_s: float, again: int) -> Run:
    """Ten steps of one worker, a death after the fifth, from which on `again` steps are done again."""
    events: dict[str, list[tuple[str, float, float]]] = {"begin": [], "end": [], "microbatch": []}
    now, death = 0.0, 0.0
    for who, steps in (("1", range(5)), ("2", range(5 - again, 10))):
        for step in steps:
            events["begin"].append((who, step, now))
            events["microbatch"] += [(who, step, now)] * 2
            now += step_s
            events["end"].append((who, step, now))
        if who == "1":
            death = now
            now += restart_s
    return Run(events, [death])


def test_what_counts_are_steps_made_once_and_the_time_from_a_death_to_the_next() -> None:
    ours, theirs = run(1.0, 1.0, 0), run(1.0, 20.0, 5)
    assert (ours.steps, ours.wall_s, ours.lost(2)) == (10, 11.0, 0.0)
    assert (theirs.steps, theirs.wall_s, theirs.lost(2)) == (10, 35.0, 0.5)
    rows = {row.name: row for row in rows_of(ours, theirs, 2, 0.5)}
    assert rows["effective throughput"].ratio == pytest.approx(35 / 11)
    assert rows["effective throughput"].holds is True
    assert rows["death to the end of the next step, p99"].value == 2.0
    assert rows["death to the end of the next step, p50"].peer_value == 21.0


def test_the_model_is_that_of_young_and_daly() -> None:
    assert young_daly(2.0, 100.0) == 20.0
    assert of_restarts(2.0, 10.0, 100.0) == pytest.approx(1 / (1 + 0.1 + 0.2))
    assert of_recovery(1.0, 100.0) == pytest.approx(1 / 1.01)


@pytest.mark.torch
def test_a_run_that_is_kept_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    made: list[tuple[str, int]] = []

    def fake(how: str, case: dict[str, Any], seed: int, between: float | None) -> Run:
        made.append((how, case["every"]))
        found = run(1.0, 1.0, 0)
        return Run({**found.events, "checkpoint": [("1", 0.2, 1.0)]}, found.deaths)

    monkeypatch.setattr(recover, "_run", fake)
    monkeypatch.setattr(recover.machine, "priority", nullcontext)
    told: list[tuple[str, bool]] = []
    case = {**recover.QUICK, "steps": 10, "microbatches": 2}

    def compared(folder: Path | None) -> recover.Compared:
        return recover.compare(case, 10.0, lambda what, now: told.append((what, now)), folder)

    one = compared(tmp_path)
    assert made == [("restart", 5), ("recover", 2), ("restart", 2)]  # Young and Daly: sqrt(2 * 0.2 * 10) s
    assert [row.value for row in compared(tmp_path).rows()] == [row.value for row in one.rows()]
    assert len(made) == 3 and [now for _, now in told] == [True] * 3 + [False] * 3
    assert told[1][0] == told[4][0] == "recover: 10 steps in 11 s, 1 deaths, seed 1"
    compared(None)
    assert len(made) == 6


def test_who_has_ended_already_is_not_killed() -> None:
    waits = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    assert _killed(waits.pid)
    waits.communicate()
    assert not _killed(waits.pid)

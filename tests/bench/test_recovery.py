"""`python -m bench recovery` from end to end, on tiny sizes: that it runs, and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from bench.__main__ import app
from bench.recovery import QUICK, comparison_cases
from bench.recovery_cases import ADAPTIVE, ORACLE, run

KEYS = {"name", "value", "unit", "peer", "peer_value", "ratio", "target", "holds"}


def test_it_runs_and_writes(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["recovery", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "recovery.json").read_text())
    assert all(row.keys() >= KEYS for row in rows)
    assert {row["peer"] for row in rows} >= {"oracle", "all layers"}
    assert any(row["target"] == "at most 1 x" for row in rows)
    assert (tmp_path / "recovery.svg").read_text().startswith("<?xml")
    assert "**all-to-all**" in (tmp_path / "recovery.md").read_text()


def test_figures_repeat_exactly() -> None:
    case = comparison_cases(QUICK)[0]
    first, second = (run(case, ADAPTIVE, seeds=2, iterations=1) for _ in range(2))
    assert (first.flows == second.flows).all()
    assert (first.completions == second.completions).all()
    assert first.spurious == second.spurious


def test_the_oracle_resends_exactly_what_was_lost() -> None:
    for case in comparison_cases(QUICK):
        outcome = run(case, ORACLE, seeds=1, iterations=2)
        assert outcome.finished
        assert outcome.found_by["loss"] > 0
        assert outcome.found_by["gap"] == outcome.found_by["interval"] == outcome.spurious == 0

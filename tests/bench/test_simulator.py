"""`python -m bench simulator` from end to end, on one small fabric: that it runs, and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from bench.__main__ import app


def test_it_runs_and_writes(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["simulator", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "simulator.json").read_text())
    hop = rows[0]
    assert (hop["name"], hop["unit"], hop["target"]) == ("leaf-spine-4x4x4: a hop", "us", "at most 2 us")
    assert hop["at"]["hosts"] == 16
    assert hop["at"]["hops"] > 50 * 32

"""`python -m bench scale` from end to end, with few ranks: that it runs, and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from bench.__main__ import app


def test_it_runs_and_writes(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["scale", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in json.loads((tmp_path / "scale.json").read_text())}
    assert rows["64 ranks meet on loopback"]["at"]["table_bytes"] < 64 * 60
    assert rows["with a secret, 8 ranks meet on loopback"]["value"] > 0
    # ceil(log2(16)) rounds, each a packet and its acknowledgement
    assert rows["barrier.dissemination of 16 ranks: control packets a rank"]["value"] == 4

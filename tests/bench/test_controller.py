"""`python -m bench controller` from end to end, on tiny sizes: that it runs, and what it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.thorough
def test_all_parts_run(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "bench", "controller", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "controller.json").read_text())
    assert [row["name"] for row in rows if row["value"] <= 0] == [
        "a host's link fails and comes back 100 times in 10 s: updates written, tables computed"
    ]
    assert [row["target"] for row in rows if row["target"] and row["unit"] in ("ms", "cores")] == [
        "at most 20 ms", "at most 20 ms", "at most 0.1 cores", "at most 10 ms", "at most 100 ms",
        "at most 20 ms",
    ]  # fmt: skip

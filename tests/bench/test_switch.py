"""`python -m bench switch` from end to end, on tiny sizes: that it runs, and what it leaves. No figure is
judged: they say nothing at such sizes, and little on a busy machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# The programs are compiled in one folder.
pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("native programs of benchmarks")]

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"name", "value", "unit", "peer", "peer_value", "ratio", "target", "holds"}


def run(out: Path, *parts: str, path: str | None = None) -> list[dict[str, object]]:
    argv = [sys.executable, "-m", "bench", "switch", "--quick", "--out", str(out)]
    for part in parts:
        argv += ["--only", part]
    environment = os.environ | ({} if path is None else {"PATH": path})
    environment.pop("BMV2_FAST", None)
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (out / "switch.svg").read_text().startswith("<?xml")
    rows = json.loads((out / "switch.json").read_text())
    assert all(row.keys() >= KEYS and row["value"] > 0 for row in rows)
    return rows


def test_in_process_and_tables(tmp_path: Path) -> None:
    names = [str(row["name"]) for row in run(tmp_path, "in-process", "tables")]
    assert any(name.startswith("hop in process") for name in names)
    for kind in ("exact", "LPM", "ternary"):
        assert any(name == f"in process, {kind}, 100 entries" for name in names)


@pytest.mark.root
def test_through_interfaces(tmp_path: Path) -> None:
    # Without simple_switch_grpc, whether or not there is one.
    rows = run(
        tmp_path, "forwarding", "latency", path=f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    )
    assert {row["unit"] for row in rows} == {"packets/s", "us"}


@pytest.mark.root
@pytest.mark.bmv2
def test_beside_simple_switch_grpc(tmp_path: Path) -> None:
    peers = {row["peer"] for row in run(tmp_path, "forwarding")}
    assert "simple_switch_grpc, default build" in peers

"""Records that no frame is lost unseen: `python -m tests.evidence.hidden_drops [--target soft|bmv2]`.

Runs the 8:1 incast in every loss-signal mode, on the embedded switch under virtual time and on the real
simple_switch_grpc in real time (root, and the program on PATH), and writes the books of each run to
docs/evidence/hidden-drops.json. Exit status 1 when one of them does not balance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.evidence import incast_bmv2, incast_soft
from tests.evidence.incast import ALARM_AT, DROP_AT, MODES, NO_TRIM_AT, TRIM_AT, Books

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "evidence" / "hidden-drops.json"
ARTIFACTS = ROOT / "p4src" / "artifacts"
SEED = 1


def versions(target: str) -> dict[str, Any]:
    """Of everything that takes part."""
    digest = json.loads((ARTIFACTS / "csaud.digest.json").read_text())
    found: dict[str, Any] = {"csaud": version("csaud"), "p4_program": digest}
    if target == "bmv2":
        found["simple_switch_grpc"] = incast_bmv2.version()
    kernel = subprocess.run(["uname", "-sr"], capture_output=True, text=True, check=True).stdout.strip()
    return {**found, "python": sys.version.split()[0], "kernel": kernel}


def record(target: str, seconds: float, modes: list[str], before: dict[str, Any]) -> dict[str, Any]:
    """The books of these modes on a target; those of the others as they were recorded `before`."""
    run = incast_soft.run if target == "soft" else incast_bmv2.run
    found = {each["mode"]: each for each in before.get("runs", [])}
    for mode in MODES:
        if mode.name not in modes:
            continue
        begun = time.monotonic()
        books: Books = run(mode, seconds, seed=SEED)
        took = round(time.monotonic() - begun, 1)
        say = "balanced" if books.balanced else f"NOT BALANCED: {books.unexplained} {books.hidden}"
        print(
            f"{target:5} {mode.name:10} {sum(books.written.values()):8} frames written, {took:6} s: {say}",
            flush=True,
        )
        found[mode.name] = {**books.as_json(), "took_s": took}
    return {
        "seconds": seconds,
        "time": "virtual" if target == "soft" else "real",
        "seed": SEED,
        "limits": {"trim_at": TRIM_AT, "no_trim_at": NO_TRIM_AT, "drop_at": DROP_AT, "alarm_at": ALARM_AT},
        "versions": versions(target),
        "runs": [found[mode.name] for mode in MODES if mode.name in found],
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.hidden_drops", description=__doc__)
    parser.add_argument("--target", choices=["soft", "bmv2"], action="append", help="default: both")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of each mode; virtual on soft, real on bmv2"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--mode", choices=[m.name for m in MODES], action="append", help="default: all")
    given = parser.parse_args()
    found: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
    for target in given.target or ["soft", "bmv2"]:
        modes = given.mode or [mode.name for mode in MODES]
        found[target] = record(target, given.seconds, modes, found.get(target, {}))
        found[target]["command"] = (
            f"python -m tests.evidence.hidden_drops --target {target} --seconds {given.seconds:g}"
        )
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(found, indent=1) + "\n")
    balanced = all(run["balanced"] for target in found.values() for run in target["runs"])
    return 0 if balanced else 1


if __name__ == "__main__":
    sys.exit(main())

"""Steps of training in an emulated fabric whose links limit them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import native

FABRIC, RATE = "leaf-spine-2x2", "10Mbit"
SHARES = (0.2, 0.5, 0.8)
"""Of a dense step, what communication takes."""
METHODS = {
    "dense": "AdamS, dense",
    "8 bits": "8 bits, error feedback",
    "0.1": "SCAPE, 90 %",
    "0.01": "SCAPE, 99 %",
    "top-k 0.1": "top-k, error feedback (DGC), 90 %",
    "chance 0.1": "by chance, error feedback, 90 %",
}
"""As `scape_worker.py` knows them, and by name."""


@dataclass(frozen=True)
class Effort:
    """What is measured.

    Attributes:
        count: weights of 4 bytes.
        steps: for each share, after one that is not measured.
        methods: of METHODS.
    """

    count: int
    steps: int
    methods: Sequence[str]


WHOLE = Effort(100_000, 3, tuple(METHODS))
QUICK = Effort(20_000, 1, ("dense", "0.1", "0.01"))


class FabricError(Exception):
    """A fabric or a job in it did not do what was asked."""


@dataclass(frozen=True)
class Steps:
    """A method's.

    Attributes:
        step_s: seconds, by share.
        sent: bytes of payload that a rank sends in a step.
        packets: DATA packets that switches counted towards other switches, in a step.
    """

    step_s: Sequence[float]
    sent: float
    packets: float


def measure(effort: Effort) -> dict[str, Steps]:
    """Each method's steps, and as "alone" those of dense AdamS without computing."""
    count, steps = effort.count, effort.steps
    with tempfile.TemporaryDirectory(prefix="csaud-bench-") as name:
        folder = Path(name)
        _net(folder, "up", FABRIC, "--rate", RATE, "--detach", "--out", "out")
        try:
            alone = _job(folder, "dense", [0.0], count, steps)
            pauses = [alone.step_s[0] * (1 - share) / share for share in SHARES]
            found = {method: _job(folder, method, pauses, count, steps) for method in effort.methods}
            return {"alone": alone, **found}
        finally:
            _net(folder, "down")


def _job(folder: Path, method: str, pauses: Sequence[float], count: int, steps: int) -> Steps:
    told = folder / "told.json"
    case = {"count": count, "steps": steps, "method": method, "pauses": list(pauses)}
    worker = str(native.ROOT / "bench/scape_worker.py")
    _net(folder, "job", "--", sys.executable, worker, str(told), json.dumps(case))
    found = json.loads(told.read_text())
    report = json.loads((folder / "out/report.json").read_text())
    packets = sum(uplink["data"] for uplink in report["uplinks"])
    return Steps(found["step_s"], found["sent"], packets / (len(pauses) * (steps + 1)))


def _net(folder: Path, *arguments: str) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "CSAUD_RUN"}
    environ["PYTHONPATH"] = os.pathsep.join([str(native.ROOT), *sys.path])
    command = [sys.executable, "-m", "csaud", "net", *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FabricError(f"csaud net {arguments[0]}: {(done.stdout + done.stderr).strip()[-500:]}")

"""Instructions that one hop takes, counted by valgrind: a figure that the machine's load does not change.

Two runs of different lengths; the difference is free of what comes before the first packet.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile

from bench import native
from bench.results import Result, result

_SHORT, _LONG = 2_000, 12_000


def measure() -> list[Result]:
    """No rows where valgrind is not installed."""
    if shutil.which("valgrind") is None:
        return []
    rows = []
    for spray in ("ecmp", "entropy", "random", "round_robin", "host_directed"):
        counted = _count(spray, _LONG) - _count(spray, _SHORT)
        rows.append(result(f"instructions of a hop, {spray}", counted / (_LONG - _SHORT), "instructions"))
    return rows


def _count(spray: str, packets: int) -> int:
    with tempfile.TemporaryDirectory() as directory:
        argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out",
                str(native.path("csaud_switch_hop")), str(native.PROGRAM), "--hops", "1", "--bytes", "98",
                "--spray", spray, "--packets", str(packets), "--different", "64",
                "--samples", "0"]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise native.NativeError(f"valgrind: {done.stderr[-500:]}")
    return int(found[1])

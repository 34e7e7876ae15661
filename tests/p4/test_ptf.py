"""PTF runs the tests of this folder on a switch that it knows by its P4Runtime address and its cables, as it
it would on hardware: here on the embedded switch, a process with veth ports.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from csaud_softswitch.exchange.namespace import Namespace

from tests.p4.rig.switch import PORTS

pytest.importorskip("ptf", reason="ptf is not installed")
pytestmark = pytest.mark.root

ROOT = Path(__file__).resolve().parents[2]
PTF = Path(sys.executable).parent / "ptf"
LIMIT_S = 240


@pytest.fixture
def wires(tmp_path: Path) -> Iterator[Namespace]:
    """A namespace with a veth pair for each port, and the embedded switch on one end of all."""
    namespace = Namespace(f"csaud-f{os.getpid()}", PORTS)
    ready = tmp_path / "ready"
    argv = [sys.executable, "-m", "csaud_softswitch", "--no-p4", "--device-id", "1",
            "--grpc-server-addr", "127.0.0.1:9559", "--ready-file", str(ready)]  # fmt: skip
    for port in PORTS:
        argv += ["-i", f"{port}@{Namespace.interface(port)}"]
    with (tmp_path / "switch.log").open("wb") as log:
        switch = subprocess.Popen(namespace.command(argv), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while not ready.exists():
            assert switch.poll() is None, (tmp_path / "switch.log").read_text()
            assert time.monotonic() < deadline, "the switch was not ready within 120 s"
            time.sleep(0.05)
        yield namespace
    finally:
        switch.terminate()
        switch.wait(10)
        namespace.close()


@pytest.mark.thorough
def test_ptf_passes_on_the_embedded_switch(wires: Namespace, tmp_path: Path) -> None:
    argv = [sys.executable, str(PTF), "--test-dir", str(ROOT / "tests" / "ptf"), "--pypath", str(ROOT),
            "--log-dir", str(tmp_path / "logs"), "--qlen", "10000",
            "--test-params", "quiet_s=0.03;link_s=0.3"]  # fmt: skip
    for port in PORTS:
        argv += ["-i", f"{port}@to{port}"]
    argv.append("each_once")
    run = subprocess.run(wires.command(argv), cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said[-4000:]
    count = re.search(r"Ran (\d+) tests", said)
    assert count is not None and int(count[1]) > 70, said[-1000:]

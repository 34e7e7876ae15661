"""A whole job, captured at every host's port: the frames on the wire are those of the books."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.capture.fabrics import PATIENCE_S, capturing
from tests.topologies.runs import net_run, small_scenario
from tests.wireshark.tshark import needs_tshark, run

HOST_PORTS = ("l1:3", "l1:4", "l2:3", "l2:4")
DATA = "0"


@needs_tshark
@pytest.mark.root
@pytest.mark.thorough
def test_the_frames_of_a_job_are_those_of_the_books(tmp_path: Path) -> None:
    scenario = small_scenario(tmp_path, sizes=(1, 1021, 65_536), repeats=1, loss=0.05)
    files = {port: tmp_path / f"{port.replace(':', '-')}.pcapng" for port in HOST_PORTS}
    options = ("--scenario", str(scenario), "--cli")
    with net_run(tmp_path / "out", *options, stdin=subprocess.PIPE) as job, ExitStack() as captures:
        job.read_until("takes the fabric down")
        processes = [
            captures.enter_context(capturing(port, "--run", job.path, "--out", file))
            for port, file in files.items()
        ]
        assert job.process.stdin is not None
        job.process.stdin.write("scenario\nexit\n")
        job.process.stdin.flush()
        assert job.wait() == 0, job.output
        for process in processes:
            process.wait(PATIENCE_S)
            assert process.stderr is not None
            assert "the switch has ended" in process.stderr.read()
    types: Counter[str] = Counter()
    for file in files.values():
        wanted = ["-e", "csaud.type", "-e", "csaud.icrc_status", "-e", "_ws.malformed"]
        lines = run(
            ["-r", str(file), "-Y", "csaud", "-o", "csaud.verify_icrc:TRUE", "-T", "fields", *wanted]
        ).splitlines()
        types.update(line.split("\t")[0] for line in lines)
        assert {tuple(line.split("\t")[1:]) for line in lines} == {("1", "")}
    recovery = job.report()["recovery"]
    assert types[DATA] == recovery["sent"] + recovery["received"]

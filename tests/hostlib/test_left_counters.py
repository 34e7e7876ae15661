"""Counters that ranks leave behind when their communicator closes or their process ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hostlib.jobs import PATIENCE, free_port, loopback_address

SUMS = """
import csaud, numpy as np, os, signal
comm = csaud.init()
for elements in (50_000, 70_000):
    comm.all_reduce(np.ones(elements, np.float32))
"""


def left_by(folder: Path, *programs: str) -> list[dict[str, Any]]:
    """What is left in `folder` by a job with a program a rank, sorted by rank and time."""
    base = loopback_address().rpartition(".")[0]
    port = free_port(f"{base}.1")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                **{"RANK": str(rank), "WORLD_SIZE": str(len(programs))},
                **{"MASTER_ADDR": f"{base}.1", "MASTER_PORT": str(port)},
                **{"CSAUD_ADDRESS": f"{base}.{rank + 1}", "CSAUD_STATS_DIR": str(folder)},
            },
        )
        for rank, program in enumerate(programs)
    ]
    for process in processes:
        process.wait(PATIENCE)
    files = [json.loads(path.read_text()) for path in folder.iterdir()]
    return sorted(files, key=lambda file: (file["rank"], file["time"]))


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("comm.close()", "closed"),
        ("", "ended"),
        ("raise SystemExit(3)", "ended"),
        ("with comm: raise ValueError('of the test')", "failed"),
    ],
)
def test_every_rank_leaves_what_it_has_counted(tmp_path: Path, end: str, how: str) -> None:
    left = left_by(tmp_path, *[SUMS + end] * 2)
    assert [(file["rank"], file["world"], file["how"]) for file in left] == [(0, 2, how), (1, 2, how)]
    for name in ("tx_data", "tx_control"):
        sent, received = (
            sum(file["stats"][key] for file in left) for key in (name, name.replace("tx", "rx"))
        )
        assert received == sent > 0 or how == "failed"
    sums = [[(each["number"], each["bytes"]) for each in file["all_reduces"]] for file in left]
    assert sums == [[(0, 200_000), (1, 280_000)]] * 2
    assert all(each["seconds"] > 0 for file in left for each in file["all_reduces"])
    assert all(file["flow_times"] for file in left)
    for file in left:
        assert [span["number"] for span in file["spans"]] == [0, 1]
        for span in file["spans"]:
            ((begin, end),) = span["waited"]
            assert file["time"] - 600 < span["started"] <= begin and span["ended"] <= end <= file["time"]


def test_each_communicator_of_a_process_leaves_its_own(tmp_path: Path) -> None:
    twice = f"with csaud.init() as comm:\n    comm.barrier()\nimport csaud\n{SUMS}\ncomm.close()"
    left = left_by(tmp_path, *["import csaud\n" + twice] * 2)
    assert [file["rank"] for file in left] == [0, 0, 1, 1]
    assert [len(file["all_reduces"]) for file in left] == [0, 2, 0, 2]


def test_who_is_killed_leaves_nothing_and_who_shrinks_leaves_both_epochs(tmp_path: Path) -> None:
    killed = SUMS + f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    survivor = (
        SUMS
        + "try:\n    comm.barrier()\nexcept csaud.PeerUnreachable:\n    comm = comm.shrink()\ncomm.close()"
    )
    left = left_by(tmp_path, survivor, survivor, killed)
    assert [(file["rank"], file["world"], file["how"]) for file in left] == [
        (0, 3, "failed"),
        (0, 2, "closed"),
        (1, 3, "failed"),
        (1, 2, "closed"),
    ]


def test_a_folder_that_cannot_be_written_to_fails_no_job(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = "os.environ['CSAUD_STATS_DIR'] + '/file/x'"
    program = SUMS.replace("csaud.init()", f"csaud.init(stats_dir={folder}, trace_dir={folder})")
    done = subprocess.run(
        [sys.executable, "-c", program + "comm.close()"],
        env={**os.environ, "CSAUD_STATS_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0
    assert "rank 0 leaves no counters in" in done.stderr
    assert f"rank 0 leaves no trace in {tmp_path}/file/x: [Errno 20] Not a directory" in done.stderr

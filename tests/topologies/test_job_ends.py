"""How jobs of users' own programs end: with a full disk, with processes that left their rank, with a reader
that is gone."""

from __future__ import annotations

import contextlib
import os
import subprocess

import pytest
from csaud_runs.find import all_runs

from tests.topologies.fabrics import OUTSIDE, waiting_fabric
from tests.topologies.runs import CSAUD_NET, processes_of

pytestmark = [pytest.mark.root, pytest.mark.xdist_group("job_ends")]


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def fabric(small_disk, tmp_path_factory):
    with waiting_fabric(
        tmp_path_factory.mktemp("fabric"), "leaf-spine-2x2", out=small_disk / "out"
    ) as fabric:
        yield fabric


@pytest.fixture
def run_path(fabric):
    (run,) = [run for run in all_runs() if run.started_in() == fabric.folder]
    return run.path


def test_processes_that_have_left_their_rank_end_with_the_job(fabric, run_path):
    program = "import subprocess; subprocess.Popen(['sleep', '3331'], start_new_session=True)"
    done = fabric.python(program, ("--ranks", "2"))
    assert done.returncode == 0, done.stderr
    assert [command for command in processes_of(run_path).values() if "sleep 3331" in command] == []


def test_a_full_disk_costs_logs_and_report_not_the_program_nor_its_status(fabric, small_disk):
    line = "x" * 60
    room = os.statvfs(small_disk)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize - 200_000))
    script = f"i=0; while [ $i -lt 8000 ]; do echo $i {line}; i=$((i+1)); done; exit 7"
    with contextlib.ExitStack() as after:
        after.callback(filler.unlink)
        done = fabric.job("sh", "-c", script, options=("--ranks", "2"))
    assert done.returncode == 7
    shown = done.stdout.splitlines()
    assert all(f"[rank {rank}] {count} {line}" in shown for rank in range(2) for count in (0, 4000, 7999))
    assert done.stderr.count("what follows is shown and not logged") == 1
    assert f"csaud: {fabric.out}: the report cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (fabric.out / "report.json").exists()


def test_the_status_is_that_of_the_rank_where_nobody_reads_what_is_said(fabric):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        command = [*CSAUD_NET, "job", "--ranks", "1", "--", "sh", "-c", "echo here; exit 3"]
        done = subprocess.run(command, cwd=fabric.folder, env=OUTSIDE, stdout=nobody, stderr=nobody)
    assert done.returncode == 3


def test_a_rank_that_a_signal_without_a_name_has_killed_is_said_so(fabric):
    done = fabric.job("sh", "-c", "kill -40 $$", options=("--ranks", "1"))
    assert done.returncode == 128 + 40
    assert "csaud: rank 0 (h1) failed first: killed by signal 40" in done.stderr


def test_communicators_with_other_numbers_of_paths_are_in_one_report(fabric):
    program = (
        "import csaud, numpy as np\n"
        "for paths in (16, 32):\n"
        "    with csaud.init(paths=paths) as comm:\n"
        "        comm.all_reduce(np.ones(20_000, np.float32))\n"
    )
    done = fabric.python(program, ("--ranks", "2"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = fabric.report()
    assert report.books.balanced and report.all_reduce.count == 2

"""How jobs of users' own programs end: with a full disk, with processes that left their rank, with a reader
that is gone; and what ends with a command that a signal ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import pytest
from csaud_runs.find import all_runs
from csaud_topologies.isolation.supervisor import end_run

from tests.support.marks import thorough
from tests.topologies.fabrics import OUTSIDE, waiting_fabric
from tests.topologies.runs import CSAUD_NET, PATIENCE_S, processes_of, wait_for

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


@pytest.mark.thorough
def test_the_status_is_that_of_the_rank_where_nobody_reads_what_is_said(fabric):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        command = [*CSAUD_NET, "job", "--ranks", "1", "--", "sh", "-c", "echo here; exit 3"]
        done = subprocess.run(command, cwd=fabric.folder, env=OUTSIDE, stdout=nobody, stderr=nobody)
    assert done.returncode == 3


@pytest.mark.thorough
def test_a_rank_that_a_signal_without_a_name_has_killed_is_said_so(fabric):
    done = fabric.job("sh", "-c", "kill -40 $$", options=("--ranks", "1"))
    assert done.returncode == 128 + 40
    assert "csaud: rank 0 (h1) failed first: killed by signal 40" in done.stderr


@pytest.mark.thorough
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


def test_a_command_inside_ends_with_the_one_that_entered(fabric, run_path):
    command = [*CSAUD_NET, "exec", "--host", "h1", "--", "sleep", "3332"]
    entered = subprocess.Popen(command, cwd=fabric.folder, env=OUTSIDE)

    def sleeps() -> bool:
        return any("sleep 3332" in line and "nsenter" not in line for line in processes_of(run_path).values())

    try:
        wait_for(sleeps, "the command in the fabric")
        entered.terminate()
        assert entered.wait(PATIENCE_S) != 0
        wait_for(lambda: not sleeps(), "the end of the command in the fabric", within_s=20)
    finally:
        entered.kill()


@pytest.mark.parametrize("signum", [signal.SIGTERM, thorough(signal.SIGHUP)])
def test_a_signal_while_a_detached_fabric_comes_up_leaves_nothing(tmp_path, signum):
    up = subprocess.Popen([*CSAUD_NET, "up", "leaf-spine-2x2", "--detach"], cwd=tmp_path, env=OUTSIDE)

    def run():
        return [run for run in all_runs() if run.started_in() == tmp_path]

    try:
        wait_for(run, "the beginning of the run")
        up.send_signal(signum)
        assert up.wait(PATIENCE_S) == 128 + signum
        assert run() == []
    finally:
        up.kill()
        for left in run():
            end_run(left)


def test_of_two_fabrics_in_one_folder_one_comes_up_and_the_other_names_it(tmp_path):
    command = [*CSAUD_NET, "up", "leaf-spine-2x2", "--detach", "--out", "out"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    ups = [subprocess.Popen(command, cwd=tmp_path, env=OUTSIDE, **pipes) for _ in range(3)]
    try:
        ended = [(up.communicate(timeout=PATIENCE_S), up.returncode) for up in ups]
        assert sorted(status for _, status in ended) == [0, 1, 1]
        assert all("in use by a run of pid" in said for (_, said), status in ended if status)
        assert "its end: csaud net down" in (tmp_path / "out" / "fabric.log").read_text()
    finally:
        for left in all_runs():
            if left.started_in() == tmp_path:
                end_run(left)


def test_a_terminal_that_is_closed_takes_its_fabric_down(tmp_path):
    ours, its = os.openpty()
    command = [
        "setsid",
        "--ctty",
        "--wait",
        *CSAUD_NET,
        "up",
        "leaf-spine-2x2",
        "--out",
        str(tmp_path / "out"),
    ]
    up = subprocess.Popen(command, cwd=tmp_path, env=OUTSIDE, stdin=its, stdout=its, stderr=its)
    os.close(its)
    said = b""
    try:
        while b"its end: csaud net down" not in said:
            said += os.read(ours, 4096)
        (run,) = [run for run in all_runs() if run.started_in() == tmp_path]
        supervisor = run.processes()["supervisor"]
        os.close(ours)
        assert up.wait(PATIENCE_S) == 0
        assert not supervisor.is_alive() and not run.path.exists()
    finally:
        up.kill()
        for left in all_runs():
            if left.started_in() == tmp_path:
                end_run(left)

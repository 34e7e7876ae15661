"""Run directories and processes: a process is its pid and its start time, and no other is ever touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from csaud_runs import directory
from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError
from csaud_runs.find import find_run
from csaud_runs.process import Process
from csaud_topologies.isolation import supervisor


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.delenv("CSAUD_RUN", raising=False)
    monkeypatch.setattr(directory, "ROOT", tmp_path)
    return tmp_path


def test_process_is_alive_until_it_ends(sleeper):
    process = Process.of(sleeper.pid)
    assert process.is_alive()
    assert process.kill(signal.SIGKILL)
    sleeper.wait()
    assert not process.is_alive()
    assert not process.kill(signal.SIGTERM)


def test_another_process_with_the_same_pid_is_left_alone(sleeper):
    earlier = Process(sleeper.pid, Process.of(sleeper.pid).started - 1)
    assert not earlier.is_alive()
    assert not earlier.kill(signal.SIGKILL)
    assert sleeper.poll() is None


def test_handlers_of_another_process_are_seen():
    program = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: None); print(1, flush=True)"
    program += "; sys.stdin.read()"
    handler = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        handler.stdout.readline()
        process = Process.of(handler.pid)
        assert process.catches(signal.SIGUSR1)
        assert not process.catches(signal.SIGUSR2)
    finally:
        handler.communicate()
    assert not process.catches(signal.SIGUSR1)


def test_no_live_run_says_how_to_start_one(root):
    with pytest.raises(RunError, match="start one with `csaud net up`"):
        find_run(root=root)


def test_a_folder_that_is_no_run_is_refused(root):
    with pytest.raises(RunError, match=r"no pids\.json"):
        find_run(root / "nothing")


def test_ending_a_run_ends_its_processes_and_no_others(root, sleeper):
    other = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        run = RunDir(root / "mine")
        run.path.mkdir()
        stale = Process(other.pid, Process.of(other.pid).started - 1)
        run.write_processes({"supervisor": stale, "init": Process.of(sleeper.pid)})
        assert supervisor.end_run(run)
        assert sleeper.wait() == -signal.SIGKILL
        assert other.poll() is None
        assert not run.path.exists()
    finally:
        other.kill()
        other.wait()


def test_output_folder_takes_one_run_at_a_time(tmp_path):
    out = tmp_path / "out"
    with supervisor.locked(out):
        holder = [
            sys.executable,
            "-c",
            "import sys, pathlib; from csaud_topologies.isolation import supervisor\n",
        ]
        holder[2] += f"with supervisor.locked(pathlib.Path({str(out)!r})): pass"
        second = subprocess.run(holder, capture_output=True, text=True, check=False)
        assert f"in use by a run of pid {os.getpid()}" in second.stderr
        assert "OUT=" in second.stderr and "--out" in second.stderr
    with supervisor.locked(out):
        pass


def test_output_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / ".lock").symlink_to("/dev/full")
    with (
        pytest.raises(RunError, match=f"--out {tmp_path}: cannot be written: "),
        supervisor.locked(tmp_path),
    ):
        pass


def test_end_of_a_run_is_seen_though_its_signal_went_to_another_thread(root, monkeypatch):
    run = RunDir.create(root)
    init = f"until [ -e {run.pids} ]; do :; done; echo 3 > {run.ended}"
    monkeypatch.setattr(supervisor, "NAMESPACES", ("sh", "-c", f"({init}); exit 1", "unshare"))
    wait, waits = signal.sigtimedwait, []

    def wait_once_it_has_ended(watched, seconds):
        if not waits:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        waits.append(seconds)
        assert seconds <= 1.0, "the signal may not come again"
        return wait(watched, seconds)

    monkeypatch.setattr(signal, "sigtimedwait", wait_once_it_has_ended)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert supervisor._run_isolated(run, ctrl_c_ends=True) == 3
    finally:
        over.set()
        other.join()
    assert len(waits) == 1


@pytest.mark.parametrize(("ended", "status"), [("130", 130), (None, 128 + signal.SIGKILL)])
def test_status_of_a_run_is_what_its_init_wrote_however_unshare_ends(root, monkeypatch, capfd, ended, status):
    run = RunDir.create(root)
    write = f"echo {ended} > {run.ended}" if ended else ":"
    init = f"until [ -e {run.pids} ]; do :; done; {write}"
    monkeypatch.setattr(supervisor, "NAMESPACES", ("sh", "-c", f"({init}); exit 1", "unshare"))
    assert supervisor._run_isolated(run, ctrl_c_ends=True) == status
    assert ("the run was killed" in capfd.readouterr().err) == (ended is None)

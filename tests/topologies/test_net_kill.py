"""Whatever is killed, the run ends, says what happened, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.marks import thorough
from tests.topologies.runs import (
    CSAUD_NET,
    NetRun,
    net_run,
    processes_of,
    small_scenario,
    wait_for,
)

pytestmark = pytest.mark.root


@pytest.fixture
def endless(tmp_path):
    """A run whose job goes on for as long as it is let."""
    scenario = small_scenario(tmp_path, sizes=(262_144,), repeats=100_000, loss=0.01)
    with net_run(tmp_path / "out", "--scenario", str(scenario), "--set", "workers.count=3") as run:
        yield run


def the_job_runs(run: NetRun) -> None:
    """Wait until every rank is at work."""
    run.read_until("ranks have found each other")


def nothing_is_left(path) -> None:
    wait_for(lambda: not processes_of(path), "the end of every process of the run")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        thorough("csaud_softswitch", "softswitch was killed by SIGKILL"),
        thorough("unshare --net", "the run was killed; its processes and namespaces are gone"),
        ("csaud_topologies.run.init", "the run was killed; its processes and namespaces are gone"),
    ],
)
def test_killed_process_ends_the_run_with_a_message(endless, words, says):
    the_job_runs(endless)
    path = endless.path
    pids = [
        pid
        for pid, line in processes_of(path).items()
        if words in line and ("unshare" in line) == ("unshare" in words)
    ]
    os.kill(pids[0], signal.SIGKILL)
    assert endless.wait() not in (0, None)
    assert says in endless.output
    nothing_is_left(path)
    assert not path.exists()


def test_killed_worker_is_named_by_the_others_typed_errors(endless):
    the_job_runs(endless)
    path = endless.path
    victim = next(
        pid
        for pid, line in processes_of(path).items()
        if "workloads.allreduce worker" in line and b"\0RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes()
    )
    os.kill(victim, signal.SIGKILL)
    assert endless.wait() == 1
    assert "rank 1 (h3): killed by SIGKILL" in endless.output
    assert "PeerUnreachable: rank 1 is unreachable" in endless.output
    nothing_is_left(path)
    assert not path.exists()


def test_killed_supervisor_takes_everything_with_it_and_clean_removes_the_rest(endless):
    the_job_runs(endless)
    path = endless.path
    os.kill(endless.process.pid, signal.SIGKILL)
    endless.wait()
    nothing_is_left(path)
    cleaned = subprocess.run([*CSAUD_NET, "clean", "--run", str(path)], capture_output=True, text=True)
    # The kernel may still be taking the namespaces down, which counts as running; and any run that starts
    # on this machine, such as one of a test beside this one, sweeps up what dead ones left.
    said = cleaned.stdout.startswith((f"{path}: removed", f"{path}: ended and removed"))
    assert said or f"{path}: no such directory" in cleaned.stderr, cleaned
    assert not path.exists()


@pytest.mark.parametrize("at_once", [False, thorough(True)], ids=["while the job runs", "while it starts"])
@pytest.mark.parametrize("signum", [signal.SIGINT, thorough(signal.SIGTERM)])
def test_ctrl_c_and_kill_are_quiet_and_clean(endless, signum, at_once):
    if not at_once:
        the_job_runs(endless)
    path = endless.path
    if signum == signal.SIGINT:  # as the terminal does
        os.killpg(endless.process.pid, signum)
    else:
        os.kill(endless.process.pid, signum)
    assert endless.wait() == 128 + signum, endless.output
    assert "interrupted" in endless.output
    assert "Traceback" not in endless.output
    nothing_is_left(path)
    assert not path.exists()


@pytest.mark.thorough
def test_clean_ends_a_live_run(endless):
    the_job_runs(endless)
    path = endless.path
    cleaned = subprocess.run(
        [*CSAUD_NET, "clean", "--run", str(path)], capture_output=True, text=True, check=True
    )
    assert f"{path}: ended and removed" in cleaned.stdout
    assert endless.wait() != 0
    nothing_is_left(path)
    assert not path.exists()


@pytest.mark.thorough
def test_a_run_that_does_not_come_down_is_killed(endless):
    the_job_runs(endless)
    path = endless.path
    init = json.loads((path / "pids.json").read_text())["init"]["pid"]
    os.kill(init, signal.SIGSTOP)
    os.kill(endless.process.pid, signal.SIGTERM)
    assert endless.wait() == 128 + signal.SIGTERM
    assert "interrupted; the fabric did not end within 20 s and was killed" in endless.output
    nothing_is_left(path)
    assert not path.exists()


@pytest.mark.thorough
def test_a_signal_from_outside_its_container_ends_a_run(tmp_path):
    """Where its sender has no pid, as with `docker stop`."""
    scenario = small_scenario(tmp_path, sizes=(262_144,), repeats=100_000)
    own_run = ("sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh")
    container = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *own_run)
    with net_run(tmp_path / "out", "--scenario", str(scenario), prefix=container) as run:
        the_job_runs(run)
        [inside] = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
        os.kill(int(inside), signal.SIGTERM)
        run.wait()
        assert "interrupted; the fabric is gone" in run.output

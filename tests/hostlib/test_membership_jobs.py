"""Membership of real jobs on loopback: ranks that are stopped, that are killed, that join."""

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostlib.jobs import Job, run
from tests.support.etcd import HOST, etcd
from tests.support.marks import thorough

SETTINGS = {"mode": "udp", "dead_after": 1.0}
COUNT = 10_000


def test_a_rank_that_was_stopped_while_the_others_went_on_ends_with_an_error() -> None:
    """Not as a job of one: it is told that the others go on without it."""
    arguments = {"count": COUNT, "timeout": 20.0, "settings": SETTINGS}
    with Job(4, "stopped", arguments) as job:
        job.wait_for("running")
        stopped, others = job.workers[0], job.workers[1:]
        stopped.kill(signal.SIGSTOP)
        for place, worker in enumerate(others):
            lost = worker.wait_for("lost")
            assert (lost["rank"], lost["agreed"], lost["failed"]) == (0, 11, [0])
            again = worker.wait_for("met again")
            assert (again["rank"], again["size"]) == (place, 3)
        stopped.kill(signal.SIGCONT)
        assert stopped.wait_for("end")["error"] == "Evicted"
        for worker in others:
            worker.send_line("")
        assert [worker.wait_for("end")["error"] for worker in others] == [None] * 3


def test_of_two_ranks_only_the_lower_one_goes_on_alone() -> None:
    arguments = {"count": COUNT, "timeout": 3.0, "settings": SETTINGS}
    for dead, expected in ((1, None), (0, "NoQuorum")):
        with Job(2, "left", arguments) as job:
            job.wait_for("running")
            job.workers[dead].kill()
            assert job.workers[1 - dead].wait_for("end")["error"] == expected


def test_spare_ranks_and_returned_ones_join_at_an_epochs_begin() -> None:
    """The second comes in by the door of the first; ranks that were there keep their order."""
    arguments = {"until": 4, "timeout": 20.0, "settings": {"mode": "udp"}}
    with Job(2, "grows", arguments) as job:
        first = job.newcomer("grows", {**arguments, "join": job.workers[1].wait_for("door")["door"]})
        job.newcomer("grows", {**arguments, "join": f"{HOST}:1,{first.wait_for('door')['door']}"})
        ends = [worker.wait_for("end") for worker in job.workers]
    assert [end["error"] for end in ends] == [None] * 4
    assert [end["place"] for end in ends] == [[rank, 4] for rank in range(4)]
    assert [end["sizes"] for end in ends] == [[2, 3, 4], [2, 3, 4], [3, 4], [4]]
    assert [end["joined"] for end in ends] == [[[], [2], [3]]] * 2 + [[[2], [3]], [[3]]]


def test_a_newcomer_with_other_settings_is_refused_by_name() -> None:
    with Job(2, "grows", {"until": 3, "timeout": 20.0, "settings": {"mode": "udp"}}) as job:
        door = job.workers[0].wait_for("door")["door"]
        end = job.newcomer("grows", {"join": door, "settings": {"window": 7}}).wait_for("end")
        assert end["error"] == "ConfigError"
        assert "window must be the same at every rank: 0 at this job, 7 at the newcomer" in end["message"]


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("window", (0, 8)),
        thorough("shared_window", (128, 64)),
        thorough("paths", (16, 4)),
        thorough("all_reduce", ("auto", "ring")),
    ],
)
def test_settings_that_must_agree_are_refused_by_name_at_every_rank(setting: str, values: tuple) -> None:
    with Job(3, "sums", {"sums": [[1000, "int32", 1]], "settings_of": {"2": {setting: values[1]}}}) as job:
        each = f"{values[0]} at rank 0 and rank 1, {values[1]} at rank 2"
        words = f"{setting} must be the same at every rank: {each}"
        assert [(end["error"], end["message"]) for end in job.ends()] == [("ConfigError", words)] * 3


def test_no_quorum_is_left_and_nobody_else_says_so() -> None:
    """Two of five: by themselves they cannot know that the others do not go on."""
    with Job(5, "left", {"count": COUNT, "timeout": 600.0, "settings": SETTINGS}) as job:
        job.wait_for("running")
        for worker in job.workers[:3]:
            worker.kill()
        for end in job.ends([3, 4]):
            assert end["error"] == "NoQuorum", end
            assert end["message"].startswith("ranks 0, 1 and 2 of 5 are gone: too few are left")


HOLDS_A_STORE = """
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
input()
"""


@contextlib.contextmanager
def tcp_store(folder: Path) -> Iterator[str]:
    pytest.importorskip("torch")
    command = [sys.executable, "-c", HOLDS_A_STORE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"tcpstore://{HOST}:{process.stdout.readline().strip()}"
        finally:
            process.kill()


@pytest.mark.parametrize(
    "store", [pytest.param(etcd, marks=pytest.mark.etcd), tcp_store], ids=["etcd", "tcpstore"]
)
def test_with_a_store_that_outlives_them_one_of_four_goes_on(store, tmp_path: Path) -> None:
    with store(tmp_path / "store") as arbiter:
        wait_for(arbiter)
        settings = {**SETTINGS, "arbiter": arbiter}
        with Job(4, "left", {"count": COUNT, "timeout": 20.0, "settings": settings}) as job:
            job.wait_for("running")
            for worker in job.workers[:3]:
                worker.kill()
            (end,) = job.ends([3])
    assert (end["error"], end.get("place")) == (None, [0, 1])


def wait_for(arbiter: str) -> None:
    """Until it answers."""
    from csaud.network.connections import connect

    host, _, port = arbiter.partition("://")[2].partition(":")
    connect(host, int(port), 30.0).close()


@pytest.mark.parametrize(
    ("arbiter", "words"),
    [
        ("etcd://127.0.0.1:1", "etcd at 127.0.0.1:1: .*refused"),
        ("zookeeper://here:1", "expected majority, tcpstore://host:port or etcd://host:port"),
        ("tcpstore://", "PyTorch|torchrun's agent keeps no store here"),
    ],
)
def test_an_arbiter_that_is_not_there_is_named_at_once(arbiter: str, words: str) -> None:
    with Job(1, "sums", {"sums": [], "settings": {"arbiter": arbiter}}) as job:
        (end,) = job.ends()
        assert end["error"] == "ConfigError"
        assert re.search(words, end["message"]), end["message"]


def test_a_job_of_one_goes_on_alone() -> None:
    (end,) = run(1, "grows", {"until": 1, "timeout": 2.0})
    assert end["place"] == [0, 1]

"""Whole jobs on loopback: several processes, real sockets, results held against the reference bit by bit."""

import random
import signal
from pathlib import Path

import pytest

from tests.hostlib.jobs import PATIENCE, SLOWER, Job, Worker, loopback_address, run
from tests.support.marks import thorough

SIZES = [
    [1, "float32", 5],
    [1023, "float64", 3],  # odd
    [1024, "float32", 5],  # 4 KB
    [1, "int64", 1],
    [0, "int32", 1],
    [65_537, "int32", 2],
    [262_144, "float32", 2],  # 1 MB
    [2_097_152, "float32", 1],  # 8 MB
]
MODES = [pytest.param("raw", marks=pytest.mark.root), "udp"]
COUNTERS_OF_BAD_PACKETS = (
    "rx_bad_length",
    "rx_bad_icrc",
    "rx_bad_magic",
    "rx_bad_qkey",
    "rx_stale_epoch",
    "rx_bad_index",
    "rx_early_dropped",
    "rx_queue_drops",
    "tx_errors",
)
RETRANSMISSIONS = ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")


def balanced(ends: list[dict]) -> None:
    """On loopback nothing is lost: what all ranks sent is what all received, and nothing is odd."""
    for mine in COUNTERS_OF_BAD_PACKETS:
        assert [end["stats"][mine] for end in ends] == [0] * len(ends), mine
    for kind in ("data", "control", "bytes"):
        sent = sum(end["stats"][f"tx_{kind}"] for end in ends)
        received = sum(end["stats"][f"rx_{kind}"] for end in ends)
        assert sent == received, kind


@pytest.mark.parametrize(("world", "mode"), [(2, "udp"), (5, "raw"), thorough(2, "raw"), thorough(5, "udp")])
def test_sums_are_those_of_the_reference(mode, world):
    sizes = SIZES if world == 2 else SIZES[:-1]  # the reference of five ranks takes long
    ends = run(world, "sums", {"sums": sizes, "settings": {"mode": mode}})
    balanced(ends)
    if world == 2:
        # Between two, each message is acknowledged and no result depends on luck: nothing is sent twice.
        assert sum(end["stats"][kind] for end in ends for kind in RETRANSMISSIONS) == 0


@pytest.mark.thorough
def test_eight_ranks():
    balanced(run(8, "sums", {"sums": [[1, "float32", 3], [262_144, "float32", 2]]}))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("world", "count"), [thorough(2, 10_000), (5, 1000), thorough(4, 1)])
def test_every_collective(mode, world, count):
    balanced(run(world, "collectives", {"count": count, "settings": {"mode": mode}}))


def test_a_job_of_one_rank():
    (end,) = run(1, "sums", {"sums": [[1000, "float32", 1]]})
    assert end["stats"]["tx_data"] == 0


def test_small_packets_and_windows_give_the_same_sums():
    settings = {"mtu": 256, "window": 1, "paths": 1}
    balanced(run(3, "sums", {"sums": [[5000, "float32", 1], [1, "int32", 1]], "settings": settings}))


@pytest.mark.parametrize("mode", ["raw", thorough("udp")])
def test_ranks_with_their_own_modes_understand_each_other(mode):
    """One rank on UDP sockets in a job whose others choose for themselves."""
    with Job(3, "sums", {"sums": [[50_000, "float32", 2]]}, environ={"CSAUD_MODE": mode}) as job:
        assert [end["error"] for end in job.ends()] == [None] * 3


@pytest.mark.parametrize("mode", ["raw", thorough("udp")])
def test_two_jobs_that_meet_at_one_address_do_not_see_each_other(mode):
    arguments = {"sums": [[100_000, "float32", 3]], "settings": {"mode": mode}}
    with (
        Job(2, "sums", arguments, master="127.0.0.1") as one,
        Job(2, "sums", arguments, master="127.0.0.1") as two,
    ):
        balanced(one.ends())
        balanced(two.ends())


@pytest.mark.parametrize("mode", ["raw", thorough("udp")])
def test_a_killed_rank_is_named_by_all_others(mode):
    with Job(4, "endless", {"count": 10_000, "settings": {"mode": mode}}) as job:
        job.wait_for("running")
        job.workers[2].kill()
        ends = job.ends([0, 1, 3])
        for end in ends:
            assert (end["error"], end["rank"]) == ("PeerUnreachable", 2), end
        assert all(worker.process.wait(PATIENCE) == 1 for rank, worker in enumerate(job.workers) if rank != 2)


def test_rank_0_can_be_killed_too():
    """It hosts the rendezvous, which nobody needs any more."""
    with Job(3, "endless", {"count": 100}) as job:
        job.wait_for("running")
        job.workers[0].kill()
        for end in job.ends([1, 2]):
            assert (end["error"], end["rank"]) == ("PeerUnreachable", 0), end


@pytest.mark.parametrize(("dead", "mode"), [(0, "raw"), (2, "udp"), thorough(0, "udp"), thorough(2, "raw")])
def test_those_that_are_left_go_on_in_a_new_epoch(mode, dead):
    """Whether the rank that dies hosted the rendezvous or not."""
    arguments = {"count": 10_000, "failures": 1, "settings": {"mode": mode, "dead_after": 1.0}}
    with Job(4, "reformed", arguments) as job:
        job.wait_for("running")
        job.workers[dead].kill()
        left = [rank for rank in range(4) if rank != dead]
        ends = job.ends(left)
        assert [(end["error"], end.get("members")) for end in ends] == [
            (None, [[place, 3]]) for place in range(3)
        ]


def test_a_rank_that_is_stopped_for_two_seconds_is_waited_for():
    arguments = {"count": 10_000, "turns": 200, "settings": {"dead_after": 60.0}}
    with Job(3, "endless", arguments) as job:
        job.wait_for("running")
        stopped = job.workers[random.Random(1).randrange(3)]
        stopped.kill(signal.SIGSTOP)
        with pytest.raises(AssertionError, match="within 2 s"):  # the others cannot go on without it
            job.workers[0 if stopped is not job.workers[0] else 1].wait_for("end", timeout=2)
        stopped.kill(signal.SIGCONT)
        assert [end["error"] for end in job.ends()] == [None] * 3


def test_a_rank_that_computes_with_pythons_lock_held_causes_no_retransmission():
    with Job(3, "busy", {"count": 100_000, "rank": 1, "seconds": 4.5}) as job:
        ends = job.ends()
        assert job.workers[1].wait_for("computed")["seconds"] >= 4.5  # longer than dead_after
    assert [end["error"] for end in ends] == [None] * 3
    for kind in (*RETRANSMISSIONS, "rx_duplicates"):
        assert [end["stats"][kind] for end in ends] == [0, 0, 0], kind
    assert sum(end["stats"]["tx_probe"] for end in ends) > 0  # it was asked, and its thread answered


@pytest.mark.parametrize(("count", "op"), [(1, "sum"), (2_000_000, "sum"), (1000, "average")])
def test_a_collective_ends_while_python_computes(tmp_path: Path, count: int, op: str):
    """All its steps and additions, also those of a rank whose Python has not run a line of this library."""
    flag = tmp_path / "flag"
    flag.write_bytes(b"\0")
    run(2, "computes", {"count": count, "op": op, "flag": str(flag)})


def test_waiting_burns_no_cpu():
    with Job(2, "wait_for_nobody") as job:
        waiting, idle = job.workers
        idle.wait_for("idle")
        waiting.wait_for("waiting")
        before = [cpu_seconds(worker) for worker in job.workers]
        with pytest.raises(AssertionError, match="within 2 s"):
            waiting.wait_for("end", timeout=2)
        used = [cpu_seconds(worker) - start for worker, start in zip(job.workers, before, strict=True)]
        assert max(used) < 0.1 * SLOWER, used
        idle.send_line("")
        job.ends()


def cpu_seconds(worker: Worker) -> float:
    """User and system time of a process with all its threads, as /proc/PID/schedstat's nanoseconds."""
    total = 0
    for task in Path(f"/proc/{worker.process.pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total * 1e-9


def test_ctrl_c_ends_a_wait_and_tells_the_others():
    with Job(3, "wait_for_nobody") as job:
        for rank, event in ((0, "waiting"), (1, "idle"), (2, "idle")):
            job.workers[rank].wait_for(event)
        job.workers[1].send_line("")  # waits in the barrier, too
        job.workers[0].kill(signal.SIGINT)
        (end,) = job.ends([0])
        assert end["error"] == "KeyboardInterrupt"
        assert job.workers[0].wait_for("after")["rank"] == 0, "what it calls then names itself"
        (told,) = job.ends([1])
        assert (told["error"], told["rank"]) == ("Aborted", 0)


def test_ctrl_c_before_a_wait_tells_the_others_too():
    with Job(2, "interrupted_before_it_waits", {"settings": {"timeout": 20.0}}) as job:
        ends = job.ends()
        assert [end["error"] for end in ends] == ["KeyboardInterrupt", "Aborted"]
        assert job.workers[0].wait_for("after")["rank"] == 0


def test_an_error_in_the_application_ends_the_others_at_once():
    with Job(3, "part_early", {"rank": 1, "raises": True, "settings": {"dead_after": 30.0}}) as job:
        ends = job.ends()
    assert [end["error"] for end in ends] == ["Aborted", "ZeroDivisionError", "Aborted"]
    assert [ends[rank]["rank"] for rank in (0, 2)] == [1, 1]


def test_a_rank_that_just_ends_is_missed_by_those_who_wait_for_it():
    with Job(3, "part_early", {"rank": 2, "raises": False, "leaves_open": True}) as job:
        (left,) = job.ends([2])
        assert job.workers[2].process.wait(PATIENCE) == 0
        ends = job.ends([0, 1])
    assert left["error"] is None
    assert [(end["error"], end["rank"]) for end in ends] == [("PeerUnreachable", 2)] * 2


def test_communicators_that_nobody_closes_disturb_nobody():
    with Job(3, "sums", {"sums": [[1000, "float32", 2]], "leaves_open": True}) as job:
        assert [end["error"] for end in job.ends()] == [None] * 3
        assert [worker.process.wait(PATIENCE) for worker in job.workers] == [0] * 3
        assert [worker.errors for worker in job.workers] == [[], [], []]


def test_a_collective_that_takes_too_long_raises_timeout():
    with Job(2, "wait_for_nobody", {"settings": {"timeout": 0.5}}) as job:
        (end,) = job.ends([0])
        assert end["error"] == "Timeout" and "longer than 0.5 s" in end["message"]


def test_a_second_rank_at_one_address_is_refused_in_udp_mode():
    address = loopback_address()
    settings = {"mode": "udp", "address": address, "store_timeout": 6 * SLOWER}
    with Job(2, "sums", {"sums": [], "settings": settings}) as job:
        ends = job.ends()
    errors = {end["error"] for end in ends}
    assert "ConfigError" in errors
    assert any(f"another process uses {address} for RoCE" in end["message"] for end in ends if end["error"])

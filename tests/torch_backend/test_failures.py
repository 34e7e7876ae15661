"""What ends a job, and what is left of one: errors of torch that name the rank, and no thread."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.torch_backend.ranks import Ranks

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("torch")]


def test_the_others_name_a_rank_that_died():
    with Ranks(3, CSAUD_DEAD_AFTER="1") as ranks:
        ranks.run("barriers")
        name = ranks.start("endless")
        ranks.workers[1].kill()
        for rank in (0, 2):
            told = ranks.workers[rank].wait_for(name)
            assert told["kind"] == "DistBackendError"
            assert "all_reduce in group 0: PeerUnreachable: rank 1 is unreachable" in told["message"]
        name = ranks.start("after_the_end", ranks=(0, 2))
        for rank in (0, 2):
            told = ranks.workers[rank].wait_for(name)
            assert told["error"] is None, told["error"]
            assert told["result"] == []  # threads that are left


def test_a_backward_pass_of_ddp_names_a_rank_that_died():
    with Ranks(2, CSAUD_DEAD_AFTER="1") as ranks:
        for _ in range(2):  # buckets are made anew before the second one
            ranks.run("ddp_step")
        name = ranks.start("ddp_step", ranks=(0,))
        ranks.workers[1].kill()
        told = ranks.workers[0].wait_for(name)
        assert told["kind"] == "RuntimeError"
        words = "DistBackendError: csaud: all_reduce in group 0: PeerUnreachable: rank 1 is unreachable"
        assert words in told["message"]


def test_who_is_late_is_told():
    with Ranks(3) as ranks:
        for told in ranks.run("late_for_a_monitored_barrier"):
            assert told in ("", "Rank 1 failed to pass monitoredBarrier in 300 ms", "Not there: 1")
        late = ranks.run("work_that_takes_too_long")
        ended = " has not ended within its timeout of "
        words = "it waits for messages from rank 1"
        assert f"DistBackendError: csaud: recv from rank 1 in group 0{ended}0.2 s; {words}" in late[0]
        kinds = {"dense": "DistBackendError", "future": "RuntimeError", "sparse": "DistBackendError"}
        for group, (how, kind) in enumerate(kinds.items(), 1):
            ends = ranks.start("group_that_times_out", how=how)
            told = [worker.wait_for(ends) for worker in ranks.workers]
            call = "all_reduce of a sparse tensor" if how == "sparse" else "all_reduce"
            assert told[0]["kind"] == kind, how
            assert f"csaud: {call} in group {group}{ended}1 s; {words}" in told[0]["message"]


@pytest.mark.parametrize("settings", [{}, {"window": 16}], ids=["of the job", "a job of its own"])
def test_a_group_whose_ranks_do_not_come_names_them(settings):
    """As torch.distributed counts them, at each rank that came."""
    with Ranks(4) as ranks:
        for members, came, missing in (
            ([0, 1, 2, 3], (0, 2), "ranks 1, 3"),
            ([1, 3], (1,), "rank 3"),
            ([1, 2], (2,), "rank 1"),
        ):
            name = ranks.start("group_without_a_peer", ranks=came, members=members, **settings)
            for rank in came:
                told = ranks.workers[rank].wait_for(name)
                words = f"csaud: {missing} did not come within 1 s (argument timeout of "
                assert told["kind"] == "DistBackendError", told["error"]
                assert told["message"].startswith(words) and "\n" not in told["message"]


def test_groups_begin_and_end_again_and_again(tmp_path):
    with Ranks(2) as ranks:
        assert ranks.run("begins_again", folder=str(tmp_path)) == [[]] * 2


def test_without_pytorch_it_says_what_to_install():
    block = "import sys; sys.modules['torch'] = None; import csaud.torch"
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: csaud.torch needs PyTorch")
    assert done.stderr.splitlines()[-1].endswith("pip install 'csaud[torch]'")


def test_a_missing_rank_is_named(tmp_path):
    script = (
        "import torch.distributed as dist, csaud.torch, datetime\n"
        f"dist.init_process_group('csaud', 'file://{tmp_path}/store', datetime.timedelta(seconds=1), 3, 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "DistBackendError: csaud: ranks 1, 2 did not come within 1 s" in done.stderr, done.stderr


def test_settings_come_through_pg_options(two):
    assert two.run("with_options") == [["ValueError", "csaud: process group", "no setting 'windwo'"]] * 2

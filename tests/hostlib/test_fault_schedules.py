"""Whatever befalls packets and ranks: all data arrives exactly, or every rank learns which one is dead.

A schedule that fails is made as small as it can be and printed. CSAUD_SCHEDULES says how many are drawn in
all (`make nightly` draws a million); the number of a batch is its seed.
"""

from __future__ import annotations

import os

from csaud import _core

from tests.hostlib.core_support import EPOCH, S
from tests.hostlib.fault_schedules import (
    DEAD_AFTER,
    Outcome,
    Schedule,
    body,
    play,
    schedules,
)
from tests.support.drawn import batches, drawn

Status = _core.Status
SCHEDULES = int(os.environ.get("CSAUD_SCHEDULES", "6000"))
A_BATCH = 250
A_CHECK = min(A_BATCH, max(1, SCHEDULES // 3))
"""Schedules of a batch for each of the three properties."""
ANEW = 1_000
"""Number of the first message of a job that begins again."""
a_third = batches(SCHEDULES // 3, A_BATCH)


def check_received(outcome: Outcome, schedule: Schedule, first: int = 0) -> None:
    """A receive that ended well holds what was sent, and nothing is done to it afterwards."""
    for rank, id_, index, receive in outcome.posts:
        completion = outcome.results.get((rank, id_))
        if receive and completion is not None and completion.status == Status.ok:
            assert outcome.net.received(rank, id_) == body(first + index, schedule.messages[index])


def check_exact(schedule: Schedule) -> None:
    outcome = play(schedule)
    net = outcome.net
    assert net.settle(net.now + 300 * S), f"{net.unfinished} posts unfinished"
    outcome.collect()
    assert {completion.status for completion in outcome.results.values()} <= {Status.ok}
    assert len(outcome.results) == len(outcome.posts)
    check_received(outcome, schedule)
    assert net.unbalanced() == ""


def check_named(schedule: Schedule) -> None:
    outcome = play(schedule)
    net = outcome.net
    net.run_until(net.now + 4 * DEAD_AFTER)
    outcome.collect()
    for rank, id_, _, _ in outcome.posts:
        if rank in outcome.dead:
            continue
        completion = outcome.results.get((rank, id_))
        assert completion is not None, f"rank {rank} waits for ever"
        assert completion.status in (Status.ok, Status.peer_unreachable)
        if completion.status == Status.peer_unreachable:
            assert completion.rank in outcome.dead
    check_received(outcome, schedule)


def check_begins_again(schedule: Schedule) -> None:
    """In the middle of everything the ranks, the dead ones too, meet again in a new epoch and send under the
    same names; what is still under way harms nobody."""
    net = play(schedule).net
    net.set_hook(None)
    net.begin_again(EPOCH + 1)
    again = Outcome(net, schedule.world)
    for index, message in enumerate(schedule.messages):
        src, dst = message.src, message.dst(schedule.world)
        again.posts.append((dst, net.post_recv(dst, src, message.size, coll_seq=1 + index), index, True))
        net.post_send(src, dst, body(ANEW + index, message), coll_seq=1 + index)
    assert net.settle(net.now + 300 * S)
    again.collect()
    assert {completion.status for completion in again.results.values()} == {Status.ok}
    check_received(again, schedule, ANEW)


@a_third
def test_all_data_arrives_exactly(batch: int) -> None:
    drawn(batch, A_CHECK, schedules(), check_exact)


@a_third
def test_a_dead_rank_is_named_by_all_that_wait_for_it(batch: int) -> None:
    drawn(batch, A_CHECK, schedules(kills=True), check_named)


@a_third
def test_a_job_that_begins_again_takes_nothing_of_the_one_before(batch: int) -> None:
    drawn(batch, A_CHECK, schedules(kills=True), check_begins_again)

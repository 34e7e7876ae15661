"""What the next run of a schedule is told of the earlier ones."""

import csaud_testnet
import numpy as np
import pytest
from csaud import _core
from csaud.collectives.executor import Collective, Execution, Prepared
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.registry import build
from csaud.collectives.timing import UNKNOWN, Expected, StepTimes

LONG = 1 << 13  # elements of an array whose halves are no short messages
MS = 1_000_000


def test_the_first_run_expects_nothing() -> None:
    assert StepTimes().expect(10, 0) == UNKNOWN == Expected(0, 0)


def test_a_step_starts_where_the_one_before_ended() -> None:
    times = StepTimes()
    for _ in range(100):
        times.learn(1_000, [1_000 + 2 * MS, 1_000 + 5 * MS])
    assert times.expect(7_000, 0) == UNKNOWN
    assert times.expect(7_000, 1) == Expected(7_000 + 2 * MS, 0)


def test_what_varies_is_learned() -> None:
    times = StepTimes()
    for turn in range(400):
        times.learn(0, [(10 + turn % 3) * MS, 20 * MS])
    assert MS // 2 < times.expect(0, 1).jitter < MS


def test_steps_that_receive_nothing_end_with_the_one_before() -> None:
    times = StepTimes()
    times.learn(0, [4 * MS, 0, 6 * MS])
    assert times.expect(0, 2) == Expected(4 * MS, 2 * MS)


def test_a_schedule_of_another_length_starts_anew() -> None:
    times = StepTimes()
    times.learn(0, [1 * MS])
    times.learn(0, [3 * MS, 4 * MS])
    assert times.expect(0, 1).start == 3 * MS


def test_collectives_are_told_apart_and_old_ones_forgotten() -> None:
    def make(times: StepTimes) -> Collective:
        return Collective(build("all_reduce.ring", 0, 1, 4, 4), np.dtype(float), ranks=[0], times=times)

    prepared = Prepared()
    first = prepared.of("first", make)
    first.times.learn(0, [MS, 2 * MS])
    assert first.times.expect(0, 1) != UNKNOWN
    assert prepared.of("first", make) is first
    for other in range(300):
        assert prepared.of(other, make).times.expect(0, 1) == UNKNOWN
    assert prepared.of("first", make).times.expect(0, 1) == UNKNOWN


def test_256_collectives_are_remembered_and_of_more_the_latest_used() -> None:
    def make(times: StepTimes) -> Collective:
        schedule = build("barrier.dissemination", 0, 2, 0, 1)
        return Collective(schedule, np.dtype(float), ranks=[0, 1], times=times)

    prepared = Prepared()
    made = [prepared.of(name, make) for name in range(256)]
    for _ in range(2):
        assert [prepared.of(name, make) for name in range(256)] == made
    assert prepared.of(0, make) is made[0]  # used again: 1 is now the oldest
    prepared.of("one more", make)
    assert prepared.of(0, make) is made[0]
    assert prepared.of(2, make) is made[2]
    assert prepared.of(1, make) is not made[1]


def test_what_is_not_fixed_keeps_its_times_and_nothing_else() -> None:
    def make(times: StepTimes) -> Collective:
        return Collective(build("all_reduce.ring", 0, 1, 4, 4), np.dtype(float), ranks=[0], times=times)

    prepared = Prepared()
    first = prepared.of("v", make, fixed=False)
    second = prepared.of("v", make, fixed=False)
    assert second is not first
    assert second.times is first.times


def test_an_execution_learns_and_tells() -> None:
    """Receives of step s end s + 1 ms after the begin; what is posted tells when it is expected."""
    schedule = build("all_reduce.ring", 0, 4, 64, 100)
    collective = Collective(schedule, np.dtype(float), REDUCTIONS["sum"], ranks=range(4))
    executor = csaud_testnet.Executor(0)
    for turn in range(50):
        begin = turn * 100 * MS
        run = Execution(collective, turn, np.zeros(64))
        executor.start(run.native, begin)
        told: dict[tuple[bool, int], _core.Hints] = {}
        open_ = []
        while not run.ended:
            for post in executor.take():
                told[post.is_send, post.step] = post.hints
                open_.append(post)
            open_.sort(key=lambda post: post.step)
            post = open_.pop(0)
            now = begin + (post.step + 1) * MS
            assert executor.complete(post.id, post.is_send, _core.Status.ok, post.peer, now)
            while executor.work(now):
                pass
    assert told[False, 0].expected_start == 0
    for step in range(1, schedule.steps):
        hints = told[False, step]
        assert begin < hints.expected_start < begin + 10 * MS


def test_a_transfer_that_fails_fails_all_that_is_in_flight_and_what_comes_after() -> None:
    schedule = build("all_reduce.ring", 0, 2, LONG, LONG)
    collective = Collective(schedule, np.dtype(float), REDUCTIONS["sum"], ranks=range(2))
    runs = [Execution(collective, turn, np.zeros(LONG)) for turn in range(3)]
    executor = csaud_testnet.Executor(0)
    for run in runs[:2]:
        executor.start(run.native, 0)
    posts = executor.take()
    for post in posts:
        assert not runs[1].native.release()  # it has transfers under way
        assert executor.complete(post.id, post.is_send, _core.Status.peer_unreachable, 1, 5)  # its own
    assert not executor.complete(posts[0].id, posts[0].is_send, _core.Status.ok, 1, 5)  # and over
    for run in runs[:2]:
        assert not run.ended
        assert run.native.failure.status == _core.Status.peer_unreachable
        assert run.native.release()  # nothing is under way
    executor.start(runs[2].native, 9)
    assert executor.take() == []
    assert runs[2].native.failure.rank == 1


def test_a_short_all_reduce_is_over_before_its_messages_are_acknowledged() -> None:
    """They are sent from copies, so its caller may change the array; if one fails, what comes after hears of
    it."""
    schedule = build("all_reduce.halving_doubling", 0, 2, 4, 1 << 20)
    collective = Collective(schedule, np.dtype(float), REDUCTIONS["sum"], ranks=range(2))
    executor = csaud_testnet.Executor(0)
    array = np.ones(4)
    first, second = Execution(collective, 0, array), Execution(collective, 1, np.ones(4))
    executor.start(first.native, 0)
    received, sent = executor.take()
    assert sent.is_send and not received.is_send
    received.write(np.full(4, 2.0).tobytes())
    assert executor.complete(received.id, False, _core.Status.ok, 1, 1)
    assert first.ended and first.native.release()
    array[:] = 0
    assert sent.read() == np.ones(4).tobytes()
    executor.start(second.native, 2)
    assert executor.complete(sent.id, True, _core.Status.peer_unreachable, 1, 3)
    assert first.ended and second.native.failure.status == _core.Status.peer_unreachable


def test_who_only_sends_hears_that_it_has_arrived() -> None:
    schedule = build("broadcast.tree", 0, 2, 4, 1 << 20)
    run = Execution(Collective(schedule, np.dtype(float), ranks=range(2)), 0, np.ones(4))
    executor = csaud_testnet.Executor(0)
    executor.start(run.native, 0)
    [sent] = executor.take()
    assert not run.ended
    assert executor.complete(sent.id, True, _core.Status.ok, 1, 1)
    assert run.ended


def test_copies_that_are_not_acknowledged_yet_are_limited() -> None:
    schedule = build("all_reduce.halving_doubling", 0, 2, 1, 1 << 20)
    collective = Collective(schedule, np.dtype(float), REDUCTIONS["sum"], ranks=range(2))
    executor = csaud_testnet.Executor(0)
    runs = [Execution(collective, turn, np.ones(1)) for turn in range(1000)]
    sent = []
    for run in runs:
        executor.start(run.native, 0)
        posts = executor.take()
        sent += [post for post in posts if post.is_send]
        for post in posts:
            assert post.is_send or executor.complete(post.id, False, _core.Status.ok, 1, 1)
    ended = sum(run.ended for run in runs)
    assert 0 < ended < 100
    for post in sent:
        assert executor.complete(post.id, True, _core.Status.ok, 1, 2)
    assert all(run.ended for run in runs)


def test_a_long_reduction_is_cut_and_others_go_on_between_its_pieces() -> None:
    count = 1 << 18
    schedule = build("all_reduce.ring", 0, 2, count, count)
    collective = Collective(schedule, np.dtype(np.float32), REDUCTIONS["sum"], ranks=range(2))
    array = np.ones(count, np.float32)
    run, small = Execution(collective, 0, array), np.ones(4, np.float32)
    executor = csaud_testnet.Executor(0)
    executor.start(run.native, 0)
    [coming] = [post for post in executor.take() if not post.is_send and post.step == 0]
    coming.write(np.full(coming.bytes // 4, 2, np.float32).tobytes())
    assert executor.complete(coming.id, False, _core.Status.ok, 1, 0)
    assert executor.take() == []
    assert executor.work(0)
    assert 0 < int((array == 3).sum()) < count // 2
    of_small = Collective(
        build("all_reduce.ring", 0, 2, 4, 4), small.dtype, REDUCTIONS["sum"], ranks=range(2)
    )
    other = Execution(of_small, 1, small)
    executor.start(other.native, 0)
    for post in executor.take():
        assert executor.complete(post.id, post.is_send, _core.Status.ok, 1, 0)
    for post in executor.take():
        assert executor.complete(post.id, post.is_send, _core.Status.ok, 1, 0)
    assert other.ended
    while executor.work(0):
        pass
    assert int((array == 3).sum()) == count // 2
    assert [post.step for post in executor.take()] == [1]


@pytest.mark.parametrize("messages", [3, 100_000, 100_001, 200_000, 250_001])
def test_the_latest_times_of_messages_are_kept_in_the_order_in_which_they_ended(messages: int) -> None:
    oldest = max(1, messages - 100_000 + 1)
    assert csaud_testnet.kept_flow_times(messages) == list(range(oldest, messages + 1))

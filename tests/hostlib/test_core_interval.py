"""The adaptive interval: what it learns of reordering, when it hurries; and the path of a repair."""

from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from tests.hostlib.core_support import DATA, MS, US, Drop, content, first_copy, network, transfer

RTT = 10 * US
PATHS = 16
MESSAGE = content(40 * 64)


def learned(late: dict[int, int], periods: int = 1) -> tuple[int, int]:
    """delta and sigma after so many periods in which first copies came late on these paths, by so much."""
    estimator = csaud_testnet.ReorderEstimator()
    for period in range(1, periods + 1):
        for path, time in late.items():
            estimator.filled(time, path, PATHS)
        for _ in range(128):
            estimator.arrived(period * 10 * RTT, RTT)
    return estimator.delta, estimator.sigma(RTT)


def test_what_is_late_on_a_few_paths_is_no_measure_for_the_others() -> None:
    assert learned({}) == learned({0: 300 * US, 8: 300 * US}, periods=20) == (0, RTT // 16)


def test_what_is_late_on_most_paths_is_learned() -> None:
    delta, sigma = learned(dict.fromkeys(range(PATHS), 5 * US), periods=20)
    assert 4 * US < delta <= 5 * US
    assert sigma < US


def test_what_was_learned_is_forgotten_where_nothing_is_late_any_more() -> None:
    estimator = csaud_testnet.ReorderEstimator()
    for path in range(PATHS):
        estimator.filled(5 * US, path, PATHS)
    for period in range(1, 12):
        for _ in range(128):
            estimator.arrived(period * 10 * RTT, RTT)
    assert estimator.delta < 10


def allowed(*lates: int) -> int:
    """What is allowed for queues after DATA was each of these late for a while."""
    estimator = csaud_testnet.QueueingEstimator()
    for late in lates:
        for _ in range(100):
            estimator.sample(late)
    return int(estimator.allowance)


def test_a_delay_that_stays_is_allowed_for_and_hardly_more() -> None:
    """However short it is, and whatever was before: an eighth and a quarter of what is left, in whole
    nanoseconds, are nothing in the end, 7 of the mean and 10 of the deviation."""
    for late in range(2_000):
        assert -8 < allowed(late) - late <= 7 + 4 * 10
    for before in (10, 5 * US):
        for late in range(0, 3_000, 37):
            assert -8 < allowed(before, late) - late <= 7 + 4 * 10


@pytest.mark.parametrize("apart", [100 * US, 150 * US, 250 * US])
def test_a_first_message_may_come_slowly(apart: int) -> None:
    """Its sender has other things to send in between, as in an all-to-all: no reason to ask."""
    on_the_wire = 96 + 48
    net = network(timer_tick=US, pace_bps=on_the_wire * 8 * 1_000_000_000 // apart)
    transfer(net, content(20 * 64))
    assert net.stats(0)["rx_state"] == 0


@pytest.mark.parametrize(("hurry", "first"), [(True, "drop"), (False, "drop"), (True, "trim")])
def test_holes_are_reported_sooner_once_something_was_lost_silently(hurry: bool, first: str) -> None:
    """Packets 20 us apart on a round trip of 100 us: much of the interval is the margin for their gaps."""
    net = network(
        window=64, rate_bps=64_000_000, timer_tick=US, tx_ts_unit_ns=100, interval_hurry=hurry,
        parity=False, link={"rate_bps": 64_000_000},
    )  # fmt: skip
    took = []
    times: dict[int, int] = {}  # by attempt

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.pkt_idx != 30:
            return None
        times[p.attempt] = p.now
        return None if p.attempt else first if p.coll_seq == 3 else "drop"

    for coll_seq in range(1, 6):
        net.set_hook(hook if coll_seq > 2 else None)  # from then on round trips and gaps are known
        transfer(net, MESSAGE, coll_seq=coll_seq)
        net.run_until(net.now + MS)
        if coll_seq > 2:
            took.append(times[1] - times[0])
    if not hurry:
        assert took == pytest.approx([took[0]] * 3, rel=0.1)
    elif first == "drop":
        assert max(took[1:]) < 0.9 * took[0]
    else:
        assert took[0] < took[2] < 0.9 * took[1]


@pytest.mark.parametrize(
    ("hurry", "scheduled", "beside", "round_trips"),
    [
        (True, True, True, 1.5),
        (True, False, False, 2),
        (True, None, False, 2),
        (False, True, False, 1.5),
        (False, True, True, 2),
        (False, False, False, 2),
    ],
)  # fmt: skip
def test_what_a_schedule_waits_for_is_asked_for_sooner(
    hurry: bool, scheduled: bool | None, beside: bool, round_trips: float
) -> None:
    """After half a round trip, then sent again in a whole one: in a hurry, or where no other rank's messages
    are awaited beside it. Of what is not posted yet (None) nobody knows who waits for it."""
    net = network(3, window=64, timer_tick=US, tx_ts_unit_ns=100, parity=False)
    times: dict[int, int] = {}  # by attempt

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.dst != 1 or p.pkt_idx != 30:
            return None
        times[p.attempt] = p.now
        return None if p.attempt else "drop"

    last = 4 if hurry else 3
    for coll_seq in range(1, last + 1):  # of the first two nothing is lost: round trips and gaps are known
        net.set_hook(hook if coll_seq > 2 else None)
        if beside and coll_seq == last:
            net.post_recv(1, 2, 64, coll_seq=1, scheduled=True)
        is_early = scheduled is None and coll_seq == last
        if not is_early:
            net.post_recv(1, 0, len(MESSAGE), coll_seq=coll_seq, scheduled=scheduled is not False)
        net.post_send(0, 1, MESSAGE, coll_seq=coll_seq)
        net.run_until(net.now + MS)
        if is_early:
            net.post_recv(1, 0, len(MESSAGE), coll_seq=coll_seq, scheduled=True)
    assert net.stats(0)["rtx_interval"] == last - 2
    assert times[1] - times[0] == pytest.approx(round_trips * 100 * US, rel=0.1)


def test_repairs_leave_the_round_of_paths_as_it_is() -> None:
    """First copies take the paths that they would have taken without losses."""
    paths = []
    for lost in ((), (3, 11, 12, 30)):
        hook = Drop(first_copy(*lost))
        net = network(hook=hook, paths=PATHS, window=64, path_policy=_core.PathPolicy.oblivious)
        for coll_seq in range(1, 4):
            transfer(net, MESSAGE, coll_seq=coll_seq)
        assert hook.hit == 3 * len(lost)
        paths.append([path for kind, _, attempt, path in hook.seen if kind == DATA and attempt == 0])
    assert paths[0] == paths[1]


def test_a_repair_takes_a_path_on_which_nothing_was_lost() -> None:
    bad = {1, 2, 3, 5}
    hook = Drop(lambda p: p.type == DATA and p.path_id in bad)
    net = network(hook=hook, paths=8, window=64)
    transfer(net, MESSAGE)
    repairs = [path for kind, _, attempt, path in hook.seen if kind == DATA and attempt > 0]
    assert repairs
    assert not set(repairs) & bad

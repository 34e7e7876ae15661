"""Several messages to one peer: a short one does not wait for long ones; else none changes its place."""

from itertools import pairwise
from typing import Any

import pytest

from tests.hostlib.core_support import DATA, MS, STATE, S, content, network

PACE = 1_000_000  # bit/s: about 1.5 ms a packet, so that messages wait for each other
PACKET = 64


class Going:
    """The messages of first copies, in the order in which these go."""

    def __init__(self) -> None:
        self.order: list[int] = []

    def __call__(self, p: Any) -> None:
        if p.type == DATA and p.attempt == 0:
            self.order.append(p.coll_seq)

    def last(self, coll_seq: int) -> int:
        """How many packets had gone when its last one did."""
        return len(self.order) - self.order[::-1].index(coll_seq)


def posted(
    net: Any, coll_seq: int, packets: int, *, receive: bool = True, messages: int = 1, **hints: Any
) -> None:
    """So many messages of one call, of so many packets each."""
    for chunk in range(messages):
        if receive:
            net.post_recv(1, 0, packets * PACKET, coll_seq=coll_seq, chunk=chunk)
        net.post_send(0, 1, content(packets * PACKET), coll_seq=coll_seq, chunk=chunk, **hints)


def test_a_short_message_does_not_wait_for_a_long_one_that_is_under_way() -> None:
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    posted(net, 1, 200)
    net.run_until(30 * MS)
    begun = len(going.order)
    assert 10 < begun < 50
    posted(net, 2, 3)
    assert net.settle(100 * S)
    assert begun + 3 <= going.last(2) <= begun + 4
    assert len(going.order) == 203


@pytest.mark.parametrize(
    ("first", "second"),
    [((40, {}), (40, {})), ((40, {}), (21, {})), ((40, {"cls": 2}), (3, {})), ((40, {"cls": 1}), (3, {}))],
    ids=["equal", "a little shorter", "more important", "urgent"],
)
def test_otherwise_messages_go_as_they_were_posted(
    first: tuple[int, dict[str, Any]], second: tuple[int, dict[str, Any]]
) -> None:
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    for coll_seq, (packets, hints) in enumerate((first, second), 1):
        posted(net, coll_seq, packets, **hints)
    assert net.settle(100 * S)
    assert going.order == [1] * first[0] + [2] * second[0]


def test_short_messages_without_end_make_a_long_one_wait_twice_as_long_at_most() -> None:
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    posted(net, 1, 100)
    for coll_seq in range(2, 100):
        posted(net, coll_seq, 4)
    assert net.settle(100 * S)
    assert 150 < going.last(1) <= 200


def test_what_is_awaited_is_not_kept_waiting_by_what_has_no_credit() -> None:
    """The short ones' receives come only when the long message is over."""
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=8)
    posted(net, 1, 60)
    net.run_until(20 * MS)
    for coll_seq in range(2, 8):
        posted(net, coll_seq, 5, receive=False)
    net.run_until(400 * MS)
    assert going.order.count(1) == 60
    for coll_seq in range(2, 8):
        net.post_recv(1, 0, 5 * PACKET, coll_seq=coll_seq)
    assert net.settle(100 * S)
    assert len(going.order) == 90


def test_what_is_awaited_goes_on_at_once_when_what_passed_it_has_no_credit_left() -> None:
    """Not only when nothing is under way any more, and the receiver asks again. A packet of it is lost
    before, whereby its sender learns that it is awaited.
    """
    times: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type == DATA and p.attempt == 0:
            times.append(p.now)
        return "drop" if p.type == DATA and p.attempt == 0 and p.coll_seq == 1 and p.pkt_idx == 5 else None

    net = network(2, hook=hook, pace_bps=PACE, window=8)
    posted(net, 1, 400)
    net.run_until(60 * MS)
    posted(net, 2, 20, receive=False)
    net.run_until(400 * MS)
    assert len(times) > 300
    assert max(later - time for time, later in pairwise(times)) < 3 * MS
    net.post_recv(1, 0, 20 * PACKET, coll_seq=2)
    assert net.settle(100 * S)


def test_a_long_message_that_is_awaited_is_passed_by_what_has_no_credit_for_all_of_itself() -> None:
    """A packet of the long one is lost: the receiver asks for it, so its sender knows that it is awaited."""
    told: list[int] = []

    going = Going()

    def hook(p: Any) -> str | None:
        going(p)
        if p.type == STATE:
            told.append(p.now)
        return "drop" if p.type == DATA and p.attempt == 0 and p.coll_seq == 1 and p.pkt_idx == 5 else None

    net = network(2, hook=hook, pace_bps=PACE, window=32)
    posted(net, 1, 400)
    net.run_until(60 * MS)
    assert told
    begun = len(going.order)
    posted(net, 2, 40)
    assert net.settle(100 * S)
    assert going.last(2) <= begun + 41
    assert len(going.order) == 440


def test_a_call_of_many_messages_is_as_long_as_all_of_them() -> None:
    """What is shorter than it, and longer than each of its messages, goes before those that never went."""
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    posted(net, 1, 20, messages=30)
    posted(net, 2, 80)
    assert net.settle(100 * S)
    assert going.last(2) <= 82
    assert len(going.order) == 680


class GoingBySize:
    """The numbers of packets of the messages of first copies, in the order in which these go."""

    def __init__(self) -> None:
        self.order: list[int] = []

    def __call__(self, p: Any) -> None:
        if p.type == DATA and p.attempt == 0:
            self.order.append(p.pkt_total)


def test_messages_of_one_call_go_as_they_were_posted() -> None:
    """A shorter one among them as well."""
    going = GoingBySize()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    for chunk, packets in enumerate((50, 30, 3)):
        net.post_recv(1, 0, packets * PACKET, coll_seq=1, chunk=chunk)
        net.post_send(0, 1, content(packets * PACKET), coll_seq=1, chunk=chunk)
    assert net.settle(100 * S)
    assert going.order == [50] * 50 + [30] * 30 + [3] * 3


def test_of_a_call_no_more_goes_before_a_long_one_than_if_it_were_one_message() -> None:
    """Each of its messages is far shorter than what is left of the long one, three of them are not."""
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    posted(net, 1, 400)
    net.run_until(330 * MS)
    left = 400 - len(going.order)
    assert 100 <= left < 139
    posted(net, 2, 25, messages=5)
    assert net.settle(100 * S)
    assert going.order[400 - left :] == [2] * 50 + [1] * left + [2] * 75


def test_who_did_not_get_before_a_longer_one_has_every_third_place_the_shortest_first() -> None:
    """The second message has let the third pass, and may let pass no other one."""
    going = Going()
    net = network(2, hook=going, pace_bps=PACE, window=32)
    posted(net, 1, 300)
    posted(net, 2, 100)
    posted(net, 3, 50)
    net.run_until(10 * MS)
    begun = len(going.order)
    posted(net, 4, 40)
    posted(net, 5, 8)
    assert net.settle(100 * S)
    assert going.last(5) <= begun + 3 * 8
    assert going.last(3) == 59
    assert 3 * 40 - 2 <= going.last(4) - going.last(3) <= 3 * 40 + 2
    assert going.last(2) == 199
    assert going.last(1) == 498

"""Several messages to one peer: a short one does not wait for long ones; else none changes its place."""

from typing import Any

import pytest

from tests.hostlib.core_support import DATA, MS, S, content, network

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


def posted(net: Any, coll_seq: int, packets: int, receive: bool = True, **hints: Any) -> None:
    if receive:
        net.post_recv(1, 0, packets * PACKET, coll_seq=coll_seq)
    net.post_send(0, 1, content(packets * PACKET), coll_seq=coll_seq, **hints)


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

"""In which order lost packets are sent again: class, slack, chain, holes, attempt; and what new data gets."""

from typing import Any

import pytest

from tests.hostlib.core_support import ACK, DATA, MS, S, content, network, transfer

SIZE = 4 * 64
PACE = 1_000_000  # bit/s: about 1.5 ms a packet, so that what was found waits in the queue

STOP = 30 * MS

SEEN, ECHO = 0x01, 0x02  # flags of the control part

# Pairs of messages: what the one that must go first says of itself, and the other.
RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "class": ({"cls": 1, "due": 60 * S, "chain": 0}, {"cls": 4, "due": 1 * S, "chain": 9}),
    "slack": ({"due": 30 * S, "chain": 0}, {"due": 31 * S, "chain": 9}),
    "slack before none": ({"due": 50 * S}, {"chain": 9}),
    "overdue before class 3": ({"cls": 4, "due": 1}, {"cls": 3, "due": 60 * S}),
    "chain": ({"due": 30 * S, "chain": 9}, {"due": 30 * S, "chain": 8}),
    "chain alone": ({"chain": 2}, {"chain": 1}),
}


def resent(
    first: dict[str, Any], second: dict[str, Any], *, first_holes: int = 4, second_holes: int = 4
) -> str:
    """Both messages lose packets, and the sender hears of it all at once: whose copies go in which order."""
    order: list[int] = []
    holes = {1: first_holes, 2: second_holes}

    def hook(p: Any) -> str | None:
        if p.type != DATA:
            return "drop" if p.now < STOP else None  # no report comes before the sender is stopped
        if p.attempt == 0:
            return "drop" if p.pkt_idx < holes[p.coll_seq] else None
        order.append(p.coll_seq)
        return None

    net = network(2, hook=hook, pace_bps=PACE, window=32)
    for coll_seq in (1, 2):
        net.post_recv(1, 0, SIZE, coll_seq=coll_seq)
    # The one that must wait is posted first, so that the order of posting does not decide.
    net.post_send(0, 1, content(SIZE), coll_seq=2, **second)
    net.post_send(0, 1, content(SIZE), coll_seq=1, **first)
    net.run_until(STOP)
    net.stop(0)
    net.run_until(300 * MS)  # the receiver has reported both by now
    order.clear()
    net.resume(0)
    assert net.settle(100 * S)
    return "".join(map(str, order))


@pytest.mark.parametrize("rule", RULES)
def test_what_is_waited_for_most_goes_first(rule: str) -> None:
    assert resent(*RULES[rule]).startswith("11112222")


def test_with_nothing_else_to_tell_the_message_with_fewer_holes_is_completed_first() -> None:
    assert resent({}, {}, first_holes=2, second_holes=4).startswith("112222")


def test_of_many_messages_the_one_with_the_least_slack_goes_first_each_time() -> None:
    """Twelve messages of a packet each, all lost, heard of together and in another order."""
    dues = {coll_seq: (coll_seq * 7 % 13) * S + 20 * S for coll_seq in range(1, 13)}
    order: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type != DATA:
            return "drop" if p.now < STOP else None
        if p.attempt == 0:
            return "drop"
        order.append(p.coll_seq)
        return None

    net = network(2, hook=hook, pace_bps=PACE, window=32)
    for coll_seq, due in dues.items():
        net.post_recv(1, 0, 64, coll_seq=coll_seq)
        net.post_send(0, 1, content(64), coll_seq=coll_seq, due=due)
    net.run_until(STOP)
    net.stop(0)
    net.run_until(300 * MS)
    order.clear()
    net.resume(0)
    assert net.settle(100 * S)
    assert order[:12] == sorted(dues, key=dues.__getitem__)


def test_fewer_holes_count_more_than_more_attempts() -> None:
    """The message with more holes has lost its packets several times already."""
    order: list[tuple[int, int]] = []
    begin = 300 * MS
    stop = begin + STOP

    def hook(p: Any) -> str | None:
        if p.type != DATA:
            return "drop" if begin <= p.now < stop else None  # no report of either comes then
        order.append((p.coll_seq, p.attempt))
        if p.coll_seq == 2:
            return "drop" if p.now < stop else None
        return "drop" if p.pkt_idx < 2 and p.attempt == 0 else None

    net = network(2, hook=hook, pace_bps=PACE, window=32)
    for coll_seq in (1, 2):
        net.post_recv(1, 0, SIZE, coll_seq=coll_seq)
    net.post_send(0, 1, content(SIZE), coll_seq=2)
    net.run_until(begin)
    assert max(attempt for _, attempt in order) >= 1
    net.post_send(0, 1, content(SIZE), coll_seq=1)
    net.run_until(stop)
    net.stop(0)
    net.run_until(stop + 900 * MS)  # the receiver has reported both by now
    order.clear()
    net.resume(0)
    assert net.settle(100 * S)
    assert [coll_seq for coll_seq, attempt in order if attempt][:2] == [1, 1]


def pending(due: int) -> list[bool]:
    """A message has lost its first packets, and as many wait that never went: which copies are repairs."""
    order: list[bool] = []

    def hook(p: Any) -> str | None:
        if p.type == DATA:
            order.append(p.attempt > 0)
            return "drop" if p.attempt == 0 and p.coll_seq == 1 else None
        return "drop" if p.now < STOP else None

    net = network(2, hook=hook, pace_bps=PACE, window=32)
    net.post_recv(1, 0, 8 * 64, coll_seq=1)
    net.post_recv(1, 0, 8 * 64, coll_seq=2)
    net.post_send(0, 1, content(8 * 64), coll_seq=1, due=due)
    net.run_until(STOP)
    net.stop(0)
    net.run_until(300 * MS)
    order.clear()
    net.post_send(0, 1, content(8 * 64), coll_seq=2)
    net.resume(0)
    assert net.settle(100 * S)
    return order


def test_repairs_with_slack_leave_every_second_place_to_new_data() -> None:
    assert pending(60 * S)[:16] == [True, False] * 8


def test_repairs_that_are_late_take_all_places() -> None:
    assert pending(1)[:16] == [True] * 8 + [False] * 8


def test_what_the_copies_say_of_themselves() -> None:
    """Class 3 with slack and 2 without; what is late asks not to be cut."""
    seen: dict[int, set[tuple[int, bool]]] = {1: set(), 2: set()}

    def hook(p: Any) -> str | None:
        if p.type == DATA and p.attempt == 1:
            seen[p.coll_seq].add((p.cls, bool(p.flags & 0x08)))
        return "drop" if p.type == DATA and p.attempt == 0 else None

    net = network(2, hook=hook)
    for coll_seq, due in ((1, 1), (2, 60 * S)):
        net.post_recv(1, 0, SIZE, coll_seq=coll_seq)
        net.post_send(0, 1, content(SIZE), coll_seq=coll_seq, due=due)
    assert net.settle(100 * S)
    assert seen == {1: {(2, True)}, 2: {(3, False)}}


def test_an_urgent_message_does_not_wait_for_what_was_posted_before_it() -> None:
    """Neither for packets of a message that has begun, nor for others behind it; those go on afterwards."""
    net = network(2, pace_bps=PACE, window=16)
    first: dict[int, int] = {}

    def hook(p: Any) -> None:
        if p.type == DATA:
            first.setdefault(p.coll_seq, p.now)

    net.set_hook(hook)
    receives = {seq: net.post_recv(1, 0, 40 * 64, coll_seq=seq) for seq in (1, 2, 3)}
    for seq in (1, 2):
        net.post_send(0, 1, content(40 * 64, seq), coll_seq=seq)
    net.run_until(10 * MS)
    net.post_send(0, 1, content(40 * 64, 3), coll_seq=3, cls=1)
    assert net.settle(60 * S)
    assert all(net.received(1, receive) == content(40 * 64, seq) for seq, receive in receives.items())
    assert first[1] < first[3] < first[2]
    done = {c.id: c.finished_ns for c in net.completions(1)}
    ends = {seq: done[receive] for seq, receive in receives.items()}
    assert ends[3] < ends[1] < ends[2]
    assert net.unbalanced() == ""


def test_an_ack_gives_its_sender_a_round_trip() -> None:
    """It echoes the packet that completed the message; one that answers no packet echoes none."""
    sent: list[int] = []
    acks: list[tuple[int, int]] = []

    def hook(p: Any) -> None:
        if p.type == DATA:
            sent.append(p.tx_ts)
        if p.type == ACK:
            acks.append((p.control_flags & (SEEN | ECHO), p.newest_tx_ts))

    net = network(2, hook=hook)
    net.run_until(MS)
    transfer(net, content(SIZE), coll_seq=1)
    assert acks == [(SEEN | ECHO, sent[-1])]
    acks.clear()
    net.post_send(0, 1, content(64), coll_seq=2)
    net.run_until(net.now + MS // 2)
    net.post_recv(1, 0, 64, coll_seq=2)
    assert net.settle(net.now + 60 * S)
    assert [flags for flags, _ in acks] == [0]

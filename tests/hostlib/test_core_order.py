"""In which order lost packets are sent again, what new data gets, and what goes before it."""

from typing import Any

from tests.hostlib.core_support import ACK, DATA, MS, STATE, S, content, network, transfer

SIZE = 4 * 64
PACE = 1_000_000  # bit/s: about 1.5 ms a packet, so that what was found waits in the queue

SEEN, ECHO = 0x01, 0x02  # flags of the control part


def acquainted(hook: Any) -> tuple[Any, int]:
    """A network whose two ranks know each other's clocks, and when rank 0 is to be stopped."""
    net = network(2, pace_bps=PACE, window=32)
    transfer(net, content(64), coll_seq=100)
    net.set_hook(hook)
    return net, net.now + 30 * MS


def test_what_was_found_first_goes_first() -> None:
    """Twelve messages of a packet each, all lost, heard of in another order than they were posted in."""
    heard: list[int] = []
    order: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type == STATE:
            heard.append(p.coll_seq)
        if p.type != DATA:
            return "drop" if p.now < stop else None  # no report comes before the sender is stopped
        if p.attempt == 0:
            return "drop"
        order.append(p.coll_seq)
        return None

    net, stop = acquainted(hook)
    posted = [coll_seq * 7 % 13 for coll_seq in range(1, 13)]
    for coll_seq in posted:
        net.post_send(0, 1, content(64), coll_seq=coll_seq)
    for coll_seq in range(1, 13):
        net.post_recv(1, 0, 64, coll_seq=coll_seq)
    net.run_until(stop)
    net.stop(0)
    heard.clear()
    net.run_until(stop + 270 * MS)
    order.clear()
    net.resume(0)
    assert net.settle(100 * S)
    assert order[:12] == list(dict.fromkeys(heard))
    assert order[:12] != posted


def test_repairs_go_before_new_data() -> None:
    """A message has lost its first packets, and as many wait that never went."""
    repairs: list[bool] = []

    def hook(p: Any) -> str | None:
        if p.type == DATA:
            repairs.append(p.attempt > 0)
            return "drop" if p.attempt == 0 and p.coll_seq == 1 else None
        return "drop" if p.now < stop else None

    net, stop = acquainted(hook)
    net.post_recv(1, 0, 8 * 64, coll_seq=1)
    net.post_recv(1, 0, 8 * 64, coll_seq=2)
    net.post_send(0, 1, content(8 * 64), coll_seq=1)
    net.run_until(stop)
    net.stop(0)
    net.run_until(stop + 270 * MS)
    repairs.clear()
    net.post_send(0, 1, content(8 * 64), coll_seq=2)
    net.resume(0)
    assert net.settle(100 * S)
    assert repairs[:16] == [True] * 8 + [False] * 8


def test_what_the_copies_say_of_themselves() -> None:
    """Class 3, or that of their message where it is more urgent, which then asks not to be cut."""
    seen: dict[int, set[tuple[int, bool]]] = {4: set(), 2: set(), 0: set()}

    def hook(p: Any) -> str | None:
        if p.type == DATA and p.attempt == 1:
            seen[p.coll_seq].add((p.cls, bool(p.flags & 0x08)))
        return "drop" if p.type == DATA and p.attempt == 0 else None

    net = network(2, hook=hook)
    for cls in seen:
        net.post_recv(1, 0, SIZE, coll_seq=cls)
        net.post_send(0, 1, content(SIZE), coll_seq=cls, cls=cls)
    assert net.settle(100 * S)
    assert seen == {4: {(3, False)}, 2: {(2, True)}, 0: {(0, True)}}


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

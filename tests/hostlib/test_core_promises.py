"""What the design promises, as counts in virtual time: a slow rank is no loss, new data never waits for what
was lost, and packets have no ACK of their own."""

from typing import Any

import pytest

from tests.hostlib.core_support import DATA, MS, US, content, network, retransmitted, total

ROUND_TRIP = 100 * US
STEP = 10 * ROUND_TRIP  # that a rank computes between two steps; the slow one takes 100 times as long


@pytest.mark.parametrize("late_at", ["sending", "receiving", "both"])
def test_a_rank_that_computes_a_hundred_times_longer_causes_no_retransmission(late_at: str) -> None:
    """Its progress thread answers meanwhile, NOT_STARTED, SENT or NOT_READY; nobody takes that for a loss."""
    world, slow, size = 4, 2, 64 * 20
    net = network(world)
    posts: list[tuple[int, int, int, bool]] = []  # time, rank, step, send
    for rank in range(world):
        pause = STEP * (100 if rank == slow else 1)
        for step in range(3):
            computed = (step + 1) * pause
            posts.append((computed if late_at != "receiving" else step * STEP, rank, step, True))
            posts.append((computed if late_at != "sending" else step * STEP, rank, step, False))
    receives = []
    for at, rank, step, send in sorted(posts):
        net.run_until(at)
        if send:
            net.post_send(rank, (rank + 1) % world, content(size, rank), coll_seq=1, step=step)
        else:
            left = (rank - 1) % world
            receives.append((rank, left, net.post_recv(rank, left, size, coll_seq=1, step=step)))
    assert net.settle(net.now + 60_000 * MS)
    assert all(net.received(rank, receive) == content(size, left) for rank, left, receive in receives)
    assert retransmitted(net, world) == {}
    assert total(net, "rx_duplicates", world) == 0
    assert total(net, "tx_state", world) + total(net, "tx_probe", world) > 0  # somebody did ask
    assert net.unbalanced() == ""


def finished(net: Any, messages: int, packets: int) -> dict[int, int]:
    """When each of several messages, posted at once, was received; ns after the post."""
    receives = {
        net.post_recv(1, 0, packets * 64, coll_seq=number): number for number in range(1, messages + 1)
    }
    for number in range(1, messages + 1):
        net.post_send(0, 1, content(packets * 64), coll_seq=number)
    begun = net.now
    assert net.settle(net.now + 60_000 * MS)
    return {receives[c.id]: c.finished_ns - begun for c in net.completions(1) if c.id in receives}


def test_new_data_never_waits_for_recovery() -> None:
    """A packet of the first message is lost a dozen times over; those after it arrive as if nothing was."""
    messages, packets = 5, 40
    lost = []

    def hook(p: Any) -> str | None:
        if p.type == DATA and p.coll_seq == 1 and p.pkt_idx == 5 and len(lost) < 12:
            lost.append(p.attempt)
            return "drop"
        return None

    undisturbed = finished(network(window=16), messages, packets)
    disturbed = finished(network(window=16, hook=hook), messages, packets)
    assert len(lost) == 12
    assert disturbed[1] > max(disturbed[number] for number in range(2, messages + 1))
    for number in range(2, messages + 1):
        # One place in sixteen is taken meanwhile, and what that costs is whole round trips, of few.
        assert disturbed[number] <= 1.2 * undisturbed[number]


@pytest.mark.parametrize("path_mtu", [1024, 4096])
def test_packets_have_no_ack_of_their_own(path_mtu: int) -> None:
    """News of the window every eighth packet, an ACK a message, and now and then a question: in all, a
    control packet for five of data."""
    messages, packets = 8, 256
    rate = path_mtu * 8 * 200_000  # a packet in 5 us, so that the window covers the round trip
    net = network(path_mtu=path_mtu, rate_bps=rate, link={"rate_bps": rate})
    payload = path_mtu - 32
    for number in range(1, messages + 1):
        net.post_recv(1, 0, packets * payload, coll_seq=number)
        net.post_send(0, 1, bytes(packets * payload), coll_seq=number)
    assert net.settle(60_000 * MS)
    data, control = total(net, "tx_data"), total(net, "tx_control")
    assert data == messages * packets
    assert total(net, "tx_ack") == messages
    assert total(net, "tx_credit") <= data / 8 + messages
    assert control <= data / 5
    data_bytes = data * (48 + path_mtu + 4)
    control_bytes = total(net, "tx_bytes") - data_bytes
    assert control_bytes / data_bytes <= {1024: 0.02, 4096: 0.005}[path_mtu]


@pytest.mark.parametrize("lost", [0, 1])
def test_receives_that_wait_ask_seldom(lost: int) -> None:
    """Each asks its sender less and less often; when that begins at last, losses heal as fast as ever."""
    receives, wait = 20, 1_000 * MS
    dropped = []

    def hook(p: Any) -> str | None:
        if p.type == DATA and len(dropped) < lost:
            dropped.append(p.pkt_idx)
            return "drop"
        return None

    net = network(hook=hook, timer_tick=10 * US)
    net.post_recv(1, 0, 1, coll_seq=1000)
    net.post_send(0, 1, b"x", coll_seq=1000)
    dropped.extend([0] * lost)  # not this one
    assert net.settle(net.now + wait)
    dropped.clear()
    before, begun = net.stats(1)["tx_state"], net.now
    waiting = [net.post_recv(1, 0, 1, coll_seq=number) for number in range(1, receives + 1)]
    net.run_until(begun + wait)
    assert net.stats(1)["tx_state"] - before <= 8 * receives
    net.run_until(begun + 10 * wait)
    assert net.stats(1)["tx_state"] - before <= (8 + 9 * 3) * receives
    for number in range(1, receives + 1):
        net.post_send(0, 1, b"y", coll_seq=number)
    net.run_until(net.now + 20 * ROUND_TRIP)
    assert [net.received(1, receive) for receive in waiting] == [b"y"] * receives
    assert total(net, "rx_duplicates") == 0

"""Exactly chosen packets are lost, late or doubled: the message arrives, and the books say what happened."""

import itertools
from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from tests.hostlib.core_support import (
    ABORT,
    ACK,
    CREDIT,
    DATA,
    MS,
    PROBE,
    PROBE_RSP,
    STATE,
    US,
    Drop,
    content,
    first_copy,
    network,
    retransmitted,
    total,
    transfer,
)

PACKETS = 40
MESSAGE = content(PACKETS * 64 - 5)
TYPES = {"ACK": ACK, "STATE": STATE, "CREDIT": CREDIT, "PROBE": PROBE, "PROBE_RSP": PROBE_RSP}


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 64 * 511 + 1, 64 * 512])
def test_sizes(size: int) -> None:
    net = network()
    transfer(net, content(size))
    assert retransmitted(net) == {}
    assert total(net, "tx_data") == max(1, -(-size // 64))
    assert net.unbalanced() == ""


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("attempts", [1, 2, 5])
@pytest.mark.parametrize("lost", [[0], [PACKETS - 1], range(PACKETS), [0, PACKETS - 1], range(1, PACKETS, 2)])
def test_data_lost_again_and_again(lost: list[int], attempts: int, ordered: bool) -> None:
    hook = Drop(lambda p: p.type == DATA and p.pkt_idx in lost and p.attempt < attempts)
    net = network(hook=hook, ordered=ordered)
    transfer(net, MESSAGE)
    assert hook.hit == len(lost) * attempts
    assert sum(retransmitted(net).values()) == hook.hit
    assert net.unbalanced() == ""


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("times", [1, 3, 8])
def test_the_first_control_packets_of_a_kind_are_lost(kind: str, times: int) -> None:
    """Several messages with holes, more packets than the window: each kind of control packet is needed."""
    data_lost = Drop(lambda p: p.type == DATA and p.pkt_idx in (3, PACKETS - 1) and p.attempt == 0)
    control_lost = Drop(lambda p: p.type == TYPES[kind], times)
    net = network(window=8)
    net.set_hook(lambda p: control_lost(p) or data_lost(p))
    for coll_seq in range(1, 6):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert net.unbalanced() == ""
    assert total(net, "rx_bad_index") == 0
    if kind in ("ACK", "STATE", "CREDIT"):
        assert control_lost.hit == times


@pytest.mark.parametrize("kind", ["ACK", "STATE", "PROBE_RSP"])
def test_all_of_a_kind_are_lost_for_half_a_second(kind: str) -> None:
    data_lost = Drop(first_copy(3, PACKETS - 1))
    net = network(window=8)
    net.set_hook(lambda p: "drop" if p.type == TYPES[kind] and p.now < 500 * MS else data_lost(p))
    transfer(net, MESSAGE)
    assert net.unbalanced() == ""


def test_a_lost_ack_is_healed_by_the_probe_and_costs_no_data() -> None:
    hook = Drop(lambda p: p.type == ACK, 3)
    net = network(hook=hook)
    transfer(net, MESSAGE)
    assert retransmitted(net) == {}
    assert total(net, "tx_probe") >= 3
    assert net.unbalanced() == ""


@pytest.mark.parametrize("late", [10 * MS, 100 * MS, 1_000 * MS])
def test_a_lost_ack_of_what_waited_for_its_receive_costs_its_sender_nothing(late: int) -> None:
    """By then the sender asks so seldom that it would stand for a quarter of the time that it waited."""

    whole = content(100)  # so it has all come when its receive is posted

    def finished(lost: int) -> int:
        net = network(hook=Drop(lambda p: p.type == ACK, lost))
        net.post_send(0, 1, whole, coll_seq=1)
        net.run_until(late)
        net.post_recv(1, 0, len(whole), coll_seq=1)
        assert net.settle(late + 2_000 * MS)
        assert net.unbalanced() == ""
        return int(net.completions(0)[0].finished_ns)

    assert finished(1) - finished(0) < MS


def test_acks_lost_in_a_row_each_cost_one_wait() -> None:
    """A sender that gets no answer does not back off at once: what is silent is the network."""

    def finished(lost: int) -> int:
        net = network(hook=Drop(lambda p: p.type == ACK, lost))
        net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
        net.post_send(0, 1, MESSAGE, coll_seq=1)
        assert net.settle(1_000 * MS)
        return int(net.completions(0)[0].finished_ns)

    # The first wait is for a round trip that nobody has measured yet.
    times = [finished(lost) for lost in range(1, 5)]
    waits = [late - early for early, late in itertools.pairwise(times)]
    assert max(waits) < 1.5 * min(waits), waits


@pytest.mark.parametrize("remembered", [0, 1, 2])
def test_done_is_known_long_after_the_message_is_forgotten(remembered: int) -> None:
    """The names remembered are few, the sender asks for a message that the watermark alone knows."""
    hold = Drop(lambda p: p.type == ACK and p.coll_seq == 1 and p.now < 300 * MS)
    net = network(hook=hold, finished_memory=remembered, dead_after=8_000 * MS)
    net.post_recv(1, 0, 10, coll_seq=1)
    first = net.post_send(0, 1, bytes(10), coll_seq=1)
    for coll_seq in range(2, 12):
        net.post_recv(1, 0, 10, coll_seq=coll_seq)
        net.post_send(0, 1, bytes(10), coll_seq=coll_seq)
    net.run_until(100 * MS)
    assert first not in [c.id for c in net.completions(0)]
    assert net.settle(10_000 * MS)
    assert first in [c.id for c in net.completions(0)]
    assert hold.hit > 1
    assert retransmitted(net) == {}


def test_each_data_copy_doubled_is_counted_and_delivered_once() -> None:
    net = network()
    net.set_hook(lambda p: ("duplicate", 30 * US) if p.type == DATA else None)
    transfer(net, MESSAGE)
    assert retransmitted(net) == {}
    assert total(net, "rx_duplicates") == PACKETS
    assert net.unbalanced() == ""


def test_a_copy_that_arrives_long_after_the_message_is_a_duplicate() -> None:
    net = network()
    net.set_hook(lambda p: ("duplicate", 2_000 * MS) if p.type == DATA else None)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(1_000 * MS)
    before = bytes(net.received(1, receive))
    assert net.settle(10_000 * MS)
    assert net.received(1, receive) == before == MESSAGE
    assert total(net, "rx_duplicates") == PACKETS
    assert total(net, "messages_received") == 1
    assert net.unbalanced() == ""


def test_every_control_packet_doubled_changes_nothing() -> None:
    net = network(window=8)
    lost = Drop(first_copy(3, 9, PACKETS - 1))
    net.set_hook(lambda p: lost(p) if p.type == DATA else ("duplicate", 70 * US))
    transfer(net, MESSAGE)
    assert sum(retransmitted(net).values()) == 3
    assert net.unbalanced() == ""


def test_late_is_not_lost_but_costs_a_spurious_copy_that_is_booked() -> None:
    """A packet 20 round trips late is resent; the late one is then a duplicate: no loss in the books."""
    net = network()
    net.set_hook(lambda p: ("delay", 2_000 * US) if first_copy(5)(p) else None)
    transfer(net, MESSAGE)
    assert sum(retransmitted(net).values()) == total(net, "rx_duplicates") == 1
    assert net.unbalanced() == ""


def test_reordering_within_the_window_resends_nothing() -> None:
    """Every second packet takes a quarter round trip longer, as on a slower path."""
    net = network(window=64)
    net.set_hook(lambda p: ("delay", 25 * US) if p.type == DATA and p.pkt_idx % 2 else None)
    for coll_seq in range(1, 20):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert retransmitted(net) == {}
    assert 0 < total(net, "rx_reordered") < total(net, "rx_data")


@pytest.mark.parametrize("held_up", [1 * MS, 20 * MS, 300 * MS])
def test_a_sender_held_up_before_it_sends_resends_nothing(held_up: int) -> None:
    """Its process lost the CPU with packets in hand: they look old when the receiver's reports are read."""
    net = network()
    transfer(net, MESSAGE)
    for coll_seq in range(2, 12):
        net.hold_up(0, held_up)
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


@pytest.mark.parametrize("stopped", [20 * MS, 300 * MS])
def test_a_sender_stopped_after_its_first_packets_resends_nothing(stopped: int) -> None:
    """The receiver, which never heard of it, asked before they came, and cannot say when that was."""
    net = network()
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    while not net.last_packet(1, STATE):
        net.run_until(net.now + US)
    net.set_hook(lambda p: "drop" if p.src == 1 else None)  # nothing else is heard of it
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(net.now + US)
    net.stop(0)
    net.run_until(net.now + stopped)
    net.set_hook(None)
    net.resume(0)
    assert net.settle(10_000 * MS)
    assert net.received(1, receive) == MESSAGE
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


def test_the_interval_learns_the_reordering() -> None:
    """Paths differ by more than the first guess: what is spurious at first stops."""
    net = network(link={"path_skew": 150 * US}, window=64)
    spurious = []
    for coll_seq in range(1, 60):
        before = sum(retransmitted(net).values())
        transfer(net, MESSAGE, coll_seq=coll_seq)
        spurious.append(sum(retransmitted(net).values()) - before)
    assert sum(spurious[-20:]) == 0, spurious
    assert net.unbalanced() == ""


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_the_interval_learns_the_reordering_where_packets_are_lost_too(seed: int) -> None:
    """There it is a round trip at least, and what is late on the slower paths comes after that."""
    net = network(link={"path_skew": 150 * US}, window=64)
    chance = csaud_testnet.Chance()
    chance.drop_data, chance.seed = 0.002, seed
    net.set_chance(chance)
    spurious = []
    for coll_seq in range(1, 60):
        before = total(net, "rx_duplicates")
        transfer(net, content(400 * 64), coll_seq=coll_seq)
        spurious.append(total(net, "rx_duplicates") - before)
    assert sum(spurious[-20:]) == 0 < sum(spurious), spurious
    assert net.unbalanced() == ""


def test_corrupted_packets_are_lost_packets() -> None:
    hook = Drop(first_copy(5, 6), verdict="corrupt")
    net = network(hook=hook)
    transfer(net, MESSAGE)
    assert total(net, "rx_bad_icrc") == 2
    assert sum(retransmitted(net).values()) == 2
    assert net.unbalanced() == ""


@pytest.mark.parametrize("late_by", [0, 1 * MS, 100 * MS])
def test_receive_posted_after_the_data(late_by: int) -> None:
    net = network()
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(late_by)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    assert net.settle(10_000 * MS)
    assert net.received(1, receive) == MESSAGE
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


def test_early_data_of_many_peers_fits_the_pool() -> None:
    """Credit is never larger than the pool, whatever the number of peers; so early data is never dropped."""
    world = 20
    net = network(world, early_pool_packets=40, window=32)
    data = content(64 * 100)
    for src in range(1, world):
        net.post_send(src, 0, data, coll_seq=1)
    net.run_until(200 * MS)
    assert net.stats(0)["rx_early"] == 2 * (world - 1)  # 40 packets shared by 19 peers
    receives = [net.post_recv(0, src, len(data), coll_seq=1) for src in range(1, world)]
    assert net.settle(60_000 * MS)
    assert all(net.received(0, r) == data for r in receives)
    assert retransmitted(net, world) == {}
    assert net.unbalanced() == ""


def test_a_posted_message_behind_one_that_is_not_posted() -> None:
    """The first message has taken all credit and waits in the early pool; the second one gets through."""
    net = network(window=16)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.post_send(0, 1, MESSAGE[::-1], coll_seq=2)
    net.run_until(10 * MS)
    second = net.post_recv(1, 0, len(MESSAGE), coll_seq=2)
    net.run_until(100 * MS)
    assert [c.id for c in net.completions(1)] == [second]
    assert net.received(1, second) == MESSAGE[::-1]
    first = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    assert net.settle(10_000 * MS)
    assert net.received(1, first) == MESSAGE
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


def test_posts_that_cannot_be() -> None:
    net = network()
    with pytest.raises(ValueError, match="at most"):
        net.post_send(0, 1, bytes(net.max_message_bytes + 1))
    with pytest.raises(ValueError, match="rank 9"):
        net.post_send(0, 9, b"")
    net.post_send(0, 1, b"x", coll_seq=1)
    with pytest.raises(ValueError, match="under way"):
        net.post_send(0, 1, b"x", coll_seq=1)
    net.post_recv(1, 0, 1, coll_seq=1)
    with pytest.raises(ValueError, match="posted before"):
        net.post_recv(1, 0, 1, coll_seq=1)


@pytest.mark.parametrize("later", [0, 100, 3000])
def test_the_name_of_a_finished_send_is_refused(later: int) -> None:
    """However many messages ended since, whose names displace it where names are remembered."""
    net = network(finished_memory=64)
    for coll_seq in range(1, later + 2):
        transfer(net, b"x", coll_seq=coll_seq)
    with pytest.raises(ValueError, match="post_send: a message of this name was sent to this rank before"):
        net.post_send(0, 1, b"y", coll_seq=1)
    transfer(net, b"z", coll_seq=later + 2)  # nothing is half done


def test_one_name_goes_to_several_ranks() -> None:
    net = network(3)
    for dst in (1, 2):
        transfer(net, b"x", dst=dst)


@pytest.mark.parametrize(("sent", "expected"), [(640, 64), (40, 24), (200, 201)])
def test_sizes_that_contradict_end_with_protocol(sent: int, expected: int) -> None:
    """Whether or not both make the same number of packets."""
    net = network()
    net.post_send(0, 1, content(sent), coll_seq=1)
    net.post_recv(1, 0, expected, coll_seq=1)
    net.run_until(10_000 * MS)
    assert [c.status for c in net.completions(1)] == [_core.Status.protocol]


def test_hooks_see_every_kind_of_packet() -> None:
    """Guards the other tests here: a kind that never occurred was never lost. The books of both
    sides have as many of each."""
    seen = set()
    lost = Drop(first_copy(3, PACKETS - 1))

    def hook(p: Any) -> str | None:
        seen.add(p.type)
        return lost(p)

    net = network(window=8, hook=hook)
    net.post_recv(1, 0, 10, coll_seq=77)
    transfer_in_background = net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(10 * MS)
    net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.run_until(400 * MS)
    assert transfer_in_background in [c.id for c in net.completions(0)]
    for kind in ("ack", "state", "credit", "probe", "probe_rsp", "control"):
        assert total(net, f"rx_{kind}") == total(net, f"tx_{kind}") > 0, kind
    net.abort(0)
    net.run_until(900 * MS)
    assert seen == {DATA, ACK, STATE, CREDIT, PROBE, PROBE_RSP, ABORT}

"""What an endpoint keeps: of peers at rest, of messages under way; and that a peer's rest goes unnoticed."""

from typing import Any

import csaud_testnet
import pytest

from tests.hostlib.core_support import (
    MS,
    S,
    content,
    network,
    retransmitted,
    total,
    transfer,
)

RECORD = 256  # bytes of an active message
PEER = 64  # bytes of an idle peer
MESSAGE = content(40 * 64 - 5)


def used(net: Any, rank: int, *names: str) -> int:
    memory = net.memory(rank)
    return sum(memory[name] for name in names)


@pytest.mark.parametrize("world", [300, 1_000])
def test_an_idle_peer(world: int) -> None:
    net = network(world)
    assert used(net, 0, "peers", "active_peers", "ecn", "timers") < PEER * world


def test_an_active_message() -> None:
    net = network(2, window=1)
    net.set_hook(lambda p: "drop")
    before = {rank: net.memory(rank) for rank in (0, 1)}
    count = 4_000
    for number in range(count):
        net.post_recv(1, 0, 512 * 64, coll_seq=number)
        net.post_send(0, 1, b"x", coll_seq=number)
    for rank, name in ((0, "sends"), (1, "receives")):
        records = used(net, rank, name) - before[rank][name]
        assert records / count < RECORD
    # The sends have sent nothing but the one packet that their window allows: the others hold no copies.
    assert used(net, 0, "copies") <= 4 * 512 * 12


def test_a_peer_rests_and_goes_on_where_it_stopped() -> None:
    net = network(2, window=8, peer_rest=1 * S)
    for coll_seq in range(1, 4):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    awake = [net.memory(rank)["active_peers"] for rank in (0, 1)]
    net.run_until(net.now + 3 * S)
    resting = [net.memory(rank)["active_peers"] for rank in (0, 1)]
    assert all(less < more for less, more in zip(resting, awake, strict=True))
    for coll_seq in range(4, 8):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert retransmitted(net) == {}
    assert total(net, "tx_data") == 7 * 40
    assert net.unbalanced() == ""


def test_what_comes_early_is_reported_with_its_payload() -> None:
    net = network(2)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(5 * MS)
    early = net.stats(1)["rx_early"]
    assert early > 16 and used(net, 1, "early") >= early * 64


def test_names_of_what_is_over_are_counted_and_bounded() -> None:
    """Those of the latest messages are kept one by one, by their senders, too."""
    net = network(2)
    none = [used(net, rank, "finished") for rank in (0, 1)]
    for number in range(0, 400, 2):
        transfer(net, b"x", coll_seq=number)
    for rank in (0, 1):
        assert none[rank] < used(net, rank, "finished") <= none[rank] + 400 * 64


def test_each_peer_that_is_sent_to_is_counted() -> None:
    net = network(4)
    told = [used(net, 0, "active_peers")]
    for peer in (1, 2, 3):
        net.post_recv(peer, 0, len(MESSAGE))
        net.post_send(0, peer, MESSAGE)
        assert net.settle(net.now + 1 * S)
        told.append(used(net, 0, "active_peers"))
    assert told == sorted(set(told))


def test_losses_that_switches_told_of_are_counted() -> None:
    net = network(2)
    net.set_hook(lambda p: "trim" if p.type == 0 and p.attempt == 0 and p.pkt_idx % 2 else None)
    none = used(net, 1, "notices")
    for number in range(1, 11):
        transfer(net, MESSAGE, coll_seq=number)
    assert net.stats(1)["rx_loss_notices"] == 200
    assert 200 * 16 <= used(net, 1, "notices") - none <= 200 * 256


def test_a_path_tracker_that_rested_takes_the_first_number_as_it_comes() -> None:
    tracker = csaud_testnet.PathTracker(known=False)
    tracker.on_loss(16, 900)  # says nothing to who does not know where the path is
    assert tracker.on_data(16, 1_000, True) == (0, 0)
    assert tracker.on_data(16, 1_001, True) == (0, 0)
    assert tracker.on_data(16, 1_004, True) == (1_002, 2)


def test_a_rest_between_marks_counts_none_twice() -> None:
    net = network(2, peer_rest=S)
    net.set_hook(lambda p: "mark" if p.type == 0 and p.pkt_idx % 2 else None)
    for coll_seq in range(1, 4):
        transfer(net, MESSAGE, coll_seq=coll_seq)
        net.run_until(net.now + 5 * S)
    net.set_hook(None)
    for coll_seq in range(4, 8):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert net.stats(1)["rx_ecn"] == net.counts()["data_marked"] == 3 * 20
    assert net.path_stats(0)["tx_path_ecn"] == net.path_stats(1)["rx_path_ecn"]


def test_messages_with_holes_share_what_they_need_beyond_their_records() -> None:
    net = network(2)
    net.set_hook(lambda p: "drop" if p.type != 0 or p.pkt_idx == 3 else None)
    for number in range(200):
        net.post_recv(1, 0, len(MESSAGE), coll_seq=number)
    for number in range(200):
        net.post_send(0, 1, MESSAGE, coll_seq=number)
    net.run_until(net.now + 20 * MS)
    assert 0 < used(net, 1, "arrivals") <= 64 * 256


def test_a_record_that_was_another_messages_tells_nothing_of_that() -> None:
    """Else a hole would seem to be there since long before its message began, and be asked for at once."""
    store = csaud_testnet.ArrivalStore()
    for began in (0, S):
        arrivals = csaud_testnet.ArrivalHistory()
        arrivals.note(store, now=began + 1 * MS, high=1, holes=False)
        arrivals.note(store, now=began + 2 * MS, high=9, holes=True)
        assert arrivals.passed(5) == began + 2 * MS
        arrivals.reset(store)


def test_sends_that_wait_hold_no_timers() -> None:
    """4,000 sends to one rank, of which the window lets one begin: the others are woken by it alone."""
    net = network(2, window=1)
    net.set_hook(lambda p: "drop")
    count = 4_000
    for number in range(count):
        net.post_send(0, 1, b"x", coll_seq=number)
    net.run_until(net.now + 100 * MS)
    assert used(net, 0, "timers") < 10 * count  # a timer would take 28

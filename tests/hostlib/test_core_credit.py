"""Credit: whatever the order in which sends and receives are posted, and however small the pool for early
packets, what both ends have posted completes."""

import random
from typing import Any

import csaud_testnet
import pytest

from tests.hostlib.core_support import S, content, network, retransmitted, total, transfer


def check_books(net: Any, world: int, pool: int) -> None:
    """Nothing is lost but in the fabric, and where there are more peers than the pool holds packets, here."""
    if pool >= world - 1:
        assert net.unbalanced() == ""
    made_good = sum(retransmitted(net, world).values()) + total(net, "rx_by_parity", world)
    again = made_good - total(net, "rx_duplicates", world)
    assert again == net.counts()["data_dropped"] + total(net, "rx_early_dropped", world)


@pytest.mark.parametrize(("world", "pool"), [(2, 16), (2, 1), (4, 48), (130, 129), (130, 20)])
def test_what_nobody_awaits_never_stops_what_is_awaited(world: int, pool: int) -> None:
    """Every peer sends two long messages to rank 0, which posts the receives of the second ones first, and
    those of the first ones only when these have completed."""
    net = network(world, early_pool_packets=pool)
    size = 40 * 64
    later = {src: net.post_recv(0, src, size, coll_seq=2) for src in range(1, world)}
    for src in range(1, world):
        net.post_send(src, 0, content(size, src), coll_seq=1)
        net.post_send(src, 0, content(size, 1000 + src), coll_seq=2)
    net.run_until(5 * S)
    assert {c.id for c in net.completions(0)} == set(later.values())
    assert all(net.received(0, id_) == content(size, 1000 + src) for src, id_ in later.items())
    first = {src: net.post_recv(0, src, size, coll_seq=1) for src in range(1, world)}
    assert net.settle(net.now + 10 * S)
    assert all(net.received(0, id_) == content(size, src) for src, id_ in first.items())
    check_books(net, world, pool)


@pytest.mark.parametrize(("world", "packets"), [(1025, 32), (1026, 31)])
def test_a_rank_of_many_may_be_ahead_by_its_whole_window(world: int, packets: int) -> None:
    """By default; of 1,025 others only by a share of the pool."""
    net = network(world)
    net.post_send(1, 0, content(40 * 64), coll_seq=1)
    net.run_until(S)
    assert net.stats(0)["rx_early"] == packets


@pytest.mark.parametrize(("beyond", "ahead"), [(0, 1), (4, 5), (31, 32)])
def test_room_beyond_a_packet_of_each_belongs_to_whoever_sends(beyond: int, ahead: int) -> None:
    """Of 39 others one sends, and then sends more than is awaited."""
    net = network(40, window=32, early_pool_packets=39 + beyond)
    transfer(net, content(400 * 64), coll_seq=1)
    net.post_send(0, 1, content(400 * 64), coll_seq=2)
    net.run_until(net.now + S)
    assert net.stats(1)["rx_early"] == ahead


def test_credit_grows_with_the_window_and_never_becomes_less_again() -> None:
    """Who is awaited has taken in advance what each packet that is consumed brings."""
    grant = csaud_testnet.CreditGrant(32)
    assert grant.consumed(1, 40, budget=100) == 92
    assert grant.open == 40
    assert grant.consumed(10, 128, budget=20) == 0
    assert grant.open == 60
    for window in (32, 1, 60):
        assert grant.consumed(50, window, budget=7) == 7
        assert grant.open == 60


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_posting(seed: int) -> None:
    """Ten messages between each pair, sends posted in one order, each receive only when the ones before it in
    another order have completed, some data and control lost."""
    chance = random.Random(seed)
    loss = csaud_testnet.Chance()
    loss.drop_data = loss.drop_control = chance.choice([0.0, 0.05])
    loss.seed = seed
    world, size = 4, 20 * 64
    pool = chance.choice([1, 3, 16])
    net = network(world, early_pool_packets=pool, window=chance.choice([1, 4, 32]))
    net.set_chance(loss)
    pairs = [(src, dst) for src in range(world) for dst in range(world) if src != dst]
    for src, dst in pairs:
        for coll_seq in chance.sample(range(10), 10):
            cls = chance.choice([0, 4])
            net.post_send(src, dst, content(size, coll_seq), coll_seq=coll_seq, cls=cls)
    orders = {pair: chance.sample(range(10), 10) for pair in pairs}
    for turn in range(10):
        posted = {}
        for (src, dst), order in orders.items():
            posted[dst, net.post_recv(dst, src, size, coll_seq=order[turn])] = order[turn]
        net.run_until(net.now + 20 * S)
        done = {(rank, c.id) for rank in range(world) for c in net.completions(rank)}
        assert posted.keys() <= done
        assert all(net.received(*key) == content(size, coll_seq) for key, coll_seq in posted.items())
    assert net.settle(net.now + 20 * S)
    check_books(net, world, pool)


@pytest.mark.parametrize("shaping", [False, True])
def test_a_few_packets_are_not_worth_a_packet_of_news(shaping: bool) -> None:
    """From a quarter of the window on they are, also of a peer that was never heard before."""
    net = network(window=32, shaping=shaping)
    transfer(net, content(3 * 64))
    assert net.stats(1)["tx_credit"] == 0
    transfer(net, content(40 * 64), coll_seq=2)
    assert 1 <= net.stats(1)["tx_credit"] <= 40 // 8

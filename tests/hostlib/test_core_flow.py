"""Flow control: credit that is lost, and news of the window. Queues are those of `tests/sim/test_flow.py`."""

from typing import Any

import pytest
from csaud import _core

from tests.hostlib.core_support import (
    CREDIT,
    EPOCH,
    MS,
    QKEY,
    US,
    S,
    content,
    network,
    total,
)


@pytest.mark.parametrize("lost", [0.5, 1.0])
def test_lost_credit_heals(lost: float) -> None:
    """Every other CREDIT is lost, or all of them: PROBEs bring the news, too."""
    seen = []

    def hook(p: Any) -> str | None:
        if p.type != CREDIT:
            return None
        seen.append(p.number)
        return "drop" if lost == 1 or len(seen) % 2 else None

    net = network(2, hook=hook, window=8)
    receive = net.post_recv(1, 0, 200 * 64, coll_seq=1)
    net.post_send(0, 1, content(200 * 64), coll_seq=1)
    assert net.settle(60_000 * MS)
    assert net.received(1, receive) == content(200 * 64)
    assert seen
    assert total(net, "rx_duplicates") == 0


def tell(net: Any, size: int, arrived: int = 0) -> None:
    """Rank 0 hears from rank 1 of room, and of the window; `arrived`: first copies so far."""
    window = {"control_flags": 0x10, "path_first": size, "path_count": arrived}
    ends = {"src_ipv4": 0x0A000002, "dst_ipv4": 0x0A000001, "src_qpn": 257, "dst_qpn": 256, "ip_id": 1}
    ports = {"src_port": 0xC000, "dst_port": 4791, "ttl": 9}
    job = {"type": CREDIT, "epoch": EPOCH, "qkey": QKEY, "from_rank": 1, "credit": 32}
    net.inject(0, bytes(_core.wire.encode({**job, **window, **ends, **ports})))


def test_news_of_a_larger_window_counts_though_nothing_more_has_arrived() -> None:
    """All that was sent is lost; then the receiver tells of room for more."""
    net = network(2, window=32, shared_window=8, hook=lambda p: "drop" if p.src == 0 else None)
    net.post_send(0, 1, content(64 * 64), coll_seq=1, fan_in=4)
    net.run_until(100 * US)
    assert net.stats(0)["tx_data"] == 2
    tell(net, size=12)
    net.run_until(net.now + 10 * US)
    assert net.stats(0)["tx_data"] == 12


@pytest.mark.parametrize(("size", "sent"), [(1, 1), (2, 3), (3, 4)])
def test_who_may_have_more_than_one_packet_under_way_waits_for_no_turn(size: int, sent: int) -> None:
    """Of 40 senders, who take turns, ours is the first: its next turn is far away."""
    settings = {"window": 32, "shared_window": 8, "rate_bps": 1_000_000, "rtt_initial": S}
    net = network(2, hook=lambda p: "drop" if p.src == 0 else None, **settings)
    net.post_send(0, 1, content(8 * 64), coll_seq=1, fan_in=40)
    net.run_until(100 * US)
    assert net.stats(0)["tx_data"] == 1
    tell(net, size, arrived=1)
    net.run_until(net.now + 10 * US)
    assert net.stats(0)["tx_data"] == sent


@pytest.mark.parametrize(
    ("shaping", "senders", "each"), [(True, 1, 32), (True, 2, 16), (True, 4, 8), (False, 4, 32)]
)
def test_senders_are_told_their_parts_of_what_may_be_under_way_to_a_rank(
    shaping: bool, senders: int, each: int
) -> None:
    """With windows that are fixed each has all of it."""
    net = network(1 + senders, window=32, shared_window=32, shaping=shaping)
    for src in range(1, 1 + senders):
        net.post_recv(0, src, 400 * 64, coll_seq=1)
        net.post_send(src, 0, content(400 * 64), coll_seq=1)
    net.run_until(MS)
    _, news = _core.wire.decode_any(net.last_packet(0, CREDIT))
    assert news["path_first"] == each
    assert net.settle(1_000 * MS)
    assert total(net, "rx_duplicates", 1 + senders) == 0


ALONE = {"scheduled": True}
OF_ALL_TO_ALL = {"scheduled": True, "fan_in": 1}


@pytest.mark.parametrize(
    ("hints", "senders", "size"),
    [(ALONE, 1, 128), (OF_ALL_TO_ALL, 1, 128), ({}, 1, 32), (ALONE, 2, 32), (OF_ALL_TO_ALL, 2, 32)],
)
def test_a_window_grows_to_four_times_its_size_where_nobody_else_is_to_send(
    hints: dict[str, Any], senders: int, size: int
) -> None:
    """As the schedule says. Of a transfer without one nobody knows, nor while another one sends, too."""
    net = network(1 + senders, window=32, shared_window=512)
    for src in range(1, 1 + senders):
        for chunk in range(6):
            net.post_recv(0, src, 500 * 64, coll_seq=1, chunk=chunk, **hints)
            net.post_send(src, 0, content(500 * 64), coll_seq=1, chunk=chunk)
    while net.stats(0)["rx_data"] < 2000 * senders:  # of 3,000 of each
        net.run_until(net.now + 10 * US)
    _, news = _core.wire.decode_any(net.last_packet(0, CREDIT))
    assert news["path_first"] == size
    assert net.settle(1_000 * MS)
    assert total(net, "rx_duplicates", 1 + senders) == 0


def test_a_sender_that_nobody_awaits_is_answered() -> None:
    """Shaped to less than the receiver thinks, before any receive is posted: the last packet asks."""
    net = network(2, window=32, shared_window=8, timer_tick=10 * US)
    hints = {"fan_in": 4}
    net.post_send(0, 1, content(30 * 64), coll_seq=1, **hints)
    while net.stats(1)["rx_early"] < 30:
        assert net.now < 3 * MS
        net.run_until(net.now + 50 * US)
    assert net.stats(0)["tx_probe"] <= 2
    net.post_recv(1, 0, 30 * 64, coll_seq=1, **hints)
    assert net.settle(10_000 * MS)

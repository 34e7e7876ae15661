"""Flow control: an incast is shaped from its first packet, windows react to marks, and nothing deadlocks."""

import random
from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from bench.virtual_collectives import Outcome, Workload, run
from tests.hostlib.core_support import (
    CREDIT,
    EPOCH,
    MS,
    QKEY,
    US,
    config,
    content,
    link_model,
    network,
    total,
)

SENDERS = 16
SHARED = 64  # packets; about two bandwidth-delay products of the links below
FABRIC = {"latency": 20 * US, "rate_bps": 1_000_000_000, "nic_queue": 2}


def incast(link: dict[str, Any], **settings: Any) -> Outcome:
    chance = csaud_testnet.Chance()
    settings = {"shared_window": SHARED, "timer_tick": 10 * US, **settings}
    outcome = run(
        Workload("incast", SENDERS + 1, 100), config(**settings), link_model(**FABRIC, **link), chance
    )
    assert outcome.finished
    assert len(outcome.flows) == SENDERS
    return outcome


def test_an_incast_is_shaped_from_its_first_packet() -> None:
    """No queue ever holds more than the shared window, so one that has room for it loses nothing."""
    outcome = incast({"drop_at": SHARED})
    assert outcome.fabric["deepest_queue"] < SHARED
    assert outcome.fabric["data_dropped"] == 0
    assert outcome.stats["tx_data"] == SENDERS * 100 + outcome.stats["rx_duplicates"]


LARGE = 4096 - 32  # payload of a packet beside which control packets count for little
FAST = {"latency": 5 * US, "rate_bps": 100_000_000_000, "nic_queue": 2}
LARGE_PACKET = 14 + 20 + 8 + 12 + 8 + 4096 + 4
TURNS = {"shared_window": SHARED, "timer_tick": 10 * US, "path_mtu": 4096, "rate_bps": FAST["rate_bps"]}


@pytest.mark.parametrize("senders", [80, 512])
def test_more_senders_than_packets_that_may_be_under_way_take_turns(senders: int) -> None:
    """From the first packet on, and without letting the link idle: within 6 % of what its bytes take."""
    packets = 6
    outcome = run(
        Workload("incast", senders + 1, packets), config(**TURNS), link_model(**FAST), csaud_testnet.Chance()
    )
    assert outcome.finished
    assert outcome.fabric["deepest_queue"] < SHARED
    assert outcome.stats["rx_duplicates"] == 0
    ideal = senders * packets * LARGE_PACKET * 8 / 100  # ns at 100 Gb/s
    assert outcome.completions[0] < 1.06 * ideal + 3 * FAST["latency"]


def test_turns_of_clocks_that_differ_need_no_deep_queue() -> None:
    """Senders begin whenever they are ready, within 400 us: turns meet at random."""
    senders, packets, seed = 200, 4, 11
    net = network(senders + 1, link=FAST, **TURNS)
    size, chance = packets * LARGE, random.Random(seed)
    receives = {src: net.post_recv(0, src, size, coll_seq=1, fan_in=senders) for src in range(1, senders + 1)}
    for begin, src in sorted((chance.randrange(400 * US), src) for src in receives):
        net.run_until(begin)
        net.post_send(src, 0, bytes(size), coll_seq=1, fan_in=senders)
    assert net.settle(10_000 * MS)
    assert all(net.received(0, receive) == bytes(size) for receive in receives.values())
    assert net.counts()["deepest_queue"] < SHARED


def test_a_fixed_window_overruns_the_same_queue() -> None:
    outcome = incast({"drop_at": SHARED}, shaping=False)
    assert outcome.fabric["data_dropped"] > SHARED
    assert incast({}, shaping=False).fabric["deepest_queue"] > 4 * SHARED


def test_the_shaped_incast_keeps_the_link_busy() -> None:
    """Within 10 % of the time that its bytes take on the receiver's link; the round trip is unknown yet."""
    packet = 14 + 80 + 64 + 4
    ideal = SENDERS * 100 * packet * 8  # ns at 1 Gb/s
    assert incast({}).completions[0] < 1.1 * ideal + 3 * FABRIC["latency"]


def test_marks_on_late_packets_shrink_the_window() -> None:
    """Two senders of which nobody foretold, a queue that marks at 8 packets and has room for 100."""

    def dropped(**settings: Any) -> list[int]:
        link = {**FABRIC, "mark_at": 8, "drop_at": 100}
        net = network(3, link=link, timer_tick=10 * US, shared_window=1000, window=128, **settings)
        after = []
        for coll_seq in range(1, 5):
            receives = []
            for src in (1, 2):
                receives.append(net.post_recv(0, src, 400 * 64, coll_seq=coll_seq))
                net.post_send(src, 0, content(400 * 64, src), coll_seq=coll_seq)
            assert net.settle(net.now + 10_000 * MS)
            assert [net.received(0, r) for r in receives] == [content(400 * 64, src) for src in (1, 2)]
            after.append(net.counts()["data_dropped"])
        return after

    shaped, fixed = dropped(), dropped(shaping=False)
    assert shaped[0] < 0.75 * fixed[0]  # until the first news
    assert shaped[-1] == shaped[0]  # and never again
    assert fixed[-1] > 3 * fixed[0]


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


@pytest.mark.parametrize("pattern", ["ring", "all_to_all", "incast"])
@pytest.mark.parametrize("shared", [1, 5])
def test_the_smallest_windows_under_loss_end(pattern: str, shared: int) -> None:
    chance = csaud_testnet.Chance()
    chance.drop_data = chance.drop_control = 0.1
    chance.seed = 7
    outcome = run(
        Workload(pattern, 6, 40, limit=60_000 * MS),
        config(shared_window=shared, window=4),
        link_model(**FABRIC),
        chance,
    )
    assert outcome.finished


def test_news_of_a_larger_window_counts_though_nothing_more_has_arrived() -> None:
    """All that was sent is lost; then the receiver tells of room for more."""
    net = network(2, window=32, shared_window=8, hook=lambda p: "drop" if p.src == 0 else None)
    net.post_send(0, 1, content(64 * 64), coll_seq=1, fan_in=4)
    net.run_until(100 * US)
    assert net.stats(0)["tx_data"] == 2
    news = {"type": CREDIT, "epoch": EPOCH, "qkey": QKEY, "control_flags": 0x10, "path_first": 12}
    ends = {"src_ipv4": 0x0A000002, "dst_ipv4": 0x0A000001, "src_qpn": 257, "dst_qpn": 256, "ip_id": 1}
    ports = {"src_port": 0xC000, "dst_port": 4791, "ttl": 9}
    net.inject(0, bytes(_core.wire.encode({**news, **ends, **ports, "from_rank": 1, "credit": 32})))
    net.run_until(net.now + 10 * US)
    assert net.stats(0)["tx_data"] == 12


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

"""Running numbers of a few bits: every wrap-around happens within a test."""

import random
from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from tests.hostlib.core_support import (
    ACK,
    DATA,
    MS,
    PROBE,
    PROBE_RSP,
    US,
    Drop,
    config,
    content,
    first_copy,
    network,
    only,
    retransmitted,
    total,
    transfer,
)
from tests.hostlib.forged import between

MESSAGE = content(200 * 64)


@pytest.mark.parametrize("detector", ["loss", "gap", "interval", "probe"])
def test_each_detector_across_the_wrap(detector: str) -> None:
    """16 path numbers on each of 4 paths, 128 credits: 200 packets wrap them many times, 3 % are lost."""
    hook = Drop(first_copy(*range(5, 199, 30)), verdict="trim" if detector == "loss" else "drop")
    net = network(
        hook=hook, ordered=True, window=16, path_seq_bits=4, credit_bits=7, tx_ts_bits=16, **only(detector)
    )
    for coll_seq in range(1, 4):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert retransmitted(net) == {detector: hook.hit}
    assert net.unbalanced() == ""


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_the_count_of_marks_wraps(lost: float) -> None:
    """16 marks on each of 4 paths until it wraps; some of the control packets that tell of them are lost."""
    chance = random.Random(1)

    def hook(p: Any) -> str | None:
        if p.type == DATA:
            return "mark" if p.pkt_idx % 3 == 0 else None
        return "drop" if chance.random() < lost else None

    net = network(hook=hook, window=16, ecn_bits=4, path_policy=_core.PathPolicy.oblivious)
    for coll_seq in range(1, 6):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    net.set_hook(None)
    transfer(net, MESSAGE[:64], coll_seq=6)  # control packets tell what is left to tell
    marked = net.path_stats(1)["rx_path_ecn"]
    assert min(marked) > 3 * 16
    untold = [seen - told for seen, told in zip(marked, net.path_stats(0)["tx_path_ecn"], strict=True)]
    assert all(0 <= count < 8 for count in untold), untold


def test_coll_seq_wraps() -> None:
    net = network(finished_memory=4)
    for i in range(-20, 20):
        transfer(net, MESSAGE[:100], coll_seq=i & 0xFFFFFFFF)
    assert retransmitted(net) == {}


@pytest.mark.parametrize("numbers", [1 << 31, (1 << 31) + 50, 3 << 30])
def test_who_sends_again_after_many_numbers_is_heard(numbers: int) -> None:
    """A source that was silent while the others' collectives went on, by more than half of all numbers."""
    net = network(finished_memory=4)
    for begin in (0, numbers, 2 * numbers):
        for i in range(begin, begin + 20):
            transfer(net, MESSAGE[:100], coll_seq=i & 0xFFFFFFFF)
        with pytest.raises(ValueError, match="posted before"):  # long forgotten by name
            net.post_recv(1, 0, 100, coll_seq=begin & 0xFFFFFFFF)
    assert retransmitted(net) == {}


def test_packets_alone_make_no_later_message_a_finished_one() -> None:
    """Names below those that were forgotten count as finished; what a network repeats and reorders, or
    somebody makes up, forgets none, of whichever number."""
    net = network(finished_memory=2)
    copies = []
    net.set_hook(lambda p: copies.append(p.number) or ("duplicate", 3 * MS))
    for i in range(1, 7):
        transfer(net, MESSAGE[:100], coll_seq=i)
    made_up = {"src_rank": 0, "pkt_idx": 0, "pkt_total": 1, "from_rank": 0, "credit": 4, "path_id": 0}
    for coll_seq in range(1_000, 1_020):
        for kind in (DATA, PROBE, PROBE_RSP):
            net.inject(1, between(0, 1, type=kind, coll_seq=coll_seq, **made_up))
        acknowledged = {**made_up, "src_rank": 0, "from_rank": 1}
        net.inject(0, between(1, 0, type=ACK, coll_seq=coll_seq, **acknowledged))
    for i in (7, 999, 1_020):
        transfer(net, MESSAGE[:100], coll_seq=i)
    assert copies


def test_tx_ts_wraps_while_packets_are_under_way() -> None:
    """4,096 ticks of 1 us: the clock wraps every 4 ms, messages take several."""
    net = network(window=8, tx_ts_bits=12, link={"latency": 200 * US}, hook=Drop(first_copy(7, 55, 199)))
    for coll_seq in range(1, 20):
        transfer(net, MESSAGE, coll_seq=coll_seq, fan_in=1)
        net.run_until(net.now + coll_seq * 777 * US)
    assert net.unbalanced() == ""
    assert sum(retransmitted(net).values()) + total(net, "rx_by_parity") == 19 * 3
    assert total(net, "rx_by_parity") > 10


def test_attempts_beyond_255() -> None:
    """The number of a copy has 8 bits; a packet may be lost more often."""
    hook = Drop(first_copy(3))
    net = network(hook=hook, link={"latency": 5 * US})
    lost = []

    def drop(p: object) -> str | None:
        if p.type == 0 and p.pkt_idx == 3 and len(lost) < 300:  # type: ignore[attr-defined]
            lost.append(p.attempt)  # type: ignore[attr-defined]
            return "drop"
        return None

    net.set_hook(drop)
    transfer(net, MESSAGE, limit=2_000_000 * MS)
    assert len(lost) == 300
    assert sum(retransmitted(net).values()) == 300
    assert net.unbalanced() == ""


@pytest.mark.parametrize("bits", [3, 4, 8, 16])
def test_path_tracker(bits: int) -> None:
    tracker, size = csaud_testnet.PathTracker(), 1 << bits
    for seq in range(3 * size):
        if seq % 5 == 3:
            continue  # lost
        gap = tracker.on_data(bits, seq % size, True)
        assert gap == (((seq - 1) % size, 1) if seq % 5 == 4 else (0, 0)) or (seq % 5 != 4 and gap[1] == 0)


def test_path_tracker_reported_holes_are_no_gaps() -> None:
    tracker = csaud_testnet.PathTracker()
    assert tracker.on_data(16, 0, True)[1] == 0
    for seq in (1, 2, 4):
        tracker.on_loss(16, seq)
    # 1, 2 and 4 were reported; a notice never advances the path.
    assert tracker.on_data(16, 5, True) == (3, 1)
    assert tracker.on_data(16, 3, True)[1] == 0  # overtaken: no news
    assert tracker.on_data(16, 8, False)[1] == 0  # the sender does not hold the path to be FIFO
    assert tracker.on_data(16, 9, True)[1] == 0


@pytest.mark.parametrize("beyond", [{"coll_seq": 1 << 32}, {"step": 1 << 16}, {"chunk": 1 << 16}])
def test_numbers_for_which_the_header_has_no_room_are_refused(beyond: dict[str, int]) -> None:
    net = network()
    with pytest.raises(TypeError):
        net.post_send(0, 1, b"x", **beyond)
    with pytest.raises(TypeError):
        net.post_recv(1, 0, 1, **beyond)


def test_a_world_of_more_ranks_than_the_header_can_name_is_refused() -> None:
    settings = config()
    settings.world, settings.rank = 65_535, 65_534  # a rank and their number have 16 bits
    with pytest.raises(TypeError):
        settings.world = 65_536

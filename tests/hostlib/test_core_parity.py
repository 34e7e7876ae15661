"""Parity: what is lost is given back without being sent again, and the books say so."""

from typing import Any

import csaud_testnet
import pytest

from tests.hostlib.core_support import (
    ACK,
    MS,
    PARITY,
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


def with_rows(rows: int, hook: Any = None, **settings: Any) -> Any:
    return network(hook=hook, window=64, parity=True, parity_rows=rows, **settings)


@pytest.mark.parametrize("lost", [[11], [PACKETS - 1], [0, PACKETS - 1], [37, 38, 39]])
def test_as_many_losses_as_rows_are_given_back(lost: list[int]) -> None:
    hook = Drop(first_copy(*lost))
    net = with_rows(len(lost), hook, detect_interval=False, detect_probe=False)
    transfer(net, MESSAGE)
    assert total(net, "rx_by_parity") == len(lost)
    assert total(net, "tx_parity") == total(net, "rx_parity") == len(lost)
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


def test_more_losses_than_rows_are_sent_again_and_parity_helps_with_the_rest() -> None:
    hook = Drop(first_copy(3, 11, 39))
    net = with_rows(1, hook)
    transfer(net, MESSAGE)
    assert 2 <= sum(retransmitted(net).values()) <= 3
    assert net.unbalanced() == ""


@pytest.mark.parametrize("chained", [True, False])
def test_rows_of_a_chain_go_before_what_follows_and_others_where_the_link_would_idle(chained: bool) -> None:
    sent: list[Any] = []
    net = with_rows(2, lambda p: sent.append((p.type == PARITY, p.coll_seq)), pace_bps=100_000_000)
    for number in (1, 2):
        net.post_recv(1, 0, len(MESSAGE), coll_seq=number)
        net.post_send(0, 1, MESSAGE, coll_seq=number, chained=chained)
    assert net.settle(net.now + 1000 * MS)
    rows = [place for place, (parity, _) in enumerate(sent) if parity]
    follows = sent.index((False, 2))
    assert (rows[1] < follows) is chained


def test_lost_parity_is_a_loss_and_nobody_misses_it() -> None:
    hook = Drop(lambda p: p.type == PARITY)
    net = with_rows(2, hook)
    transfer(net, MESSAGE)
    assert net.counts()["parity_dropped"] == total(net, "tx_parity") - total(net, "rx_parity") == 2
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


def test_parity_comes_before_its_receive_is_posted_and_is_of_no_use() -> None:
    net = with_rows(1, Drop(first_copy(5)))
    net.post_send(0, 1, MESSAGE)
    net.run_until(net.now + 5 * MS)
    receive = net.post_recv(1, 0, len(MESSAGE))
    assert net.settle(net.now + 1000 * MS)
    assert net.received(1, receive) == MESSAGE
    assert total(net, "rx_by_parity") == 0
    assert net.unbalanced() == ""


def test_the_memory_of_rows_is_told_at_both_ends() -> None:
    """A payload each, made by the dozen, and some records."""
    net = with_rows(8, Drop(first_copy(3)), path_mtu=4096)
    transfer(net, content(40 * 4000))
    for rank in (0, 1):
        assert 8 * 4000 < net.memory(rank)["parity"] < 64 * 4096


def test_parity_tells_of_a_lost_tail() -> None:
    """Nothing else is sent after it: without parity the receiver waits for what may still be on its way."""
    took = []
    for rows in (0, 1):
        net = network(window=64, parity=rows > 0, parity_rows=rows)
        for number in range(20):  # to learn how long a round trip is
            transfer(net, MESSAGE, coll_seq=number + 2)
        net.set_hook(Drop(first_copy(38, 39)))
        net.post_recv(1, 0, len(MESSAGE))
        net.post_send(0, 1, MESSAGE)
        assert net.settle(net.now + 1000 * MS)
        (done,) = net.completions(1)
        took.append(done.finished_ns - done.started_ns)
    assert took[1] < took[0]


def run(rate: float, messages: int, fan_in: int = 1, message: bytes = MESSAGE, **settings: Any) -> Any:
    """Messages in turn, of a rank to which nobody else sends, as it knows."""
    net = network(window=64, parity=True, **settings)
    chance = csaud_testnet.Chance()
    chance.drop_data, chance.seed = rate, 7
    net.set_chance(chance)
    for number in range(messages):
        transfer(net, message, coll_seq=number + 1, fan_in=fan_in)
    assert net.unbalanced() == ""
    return net


def test_without_loss_there_is_no_parity() -> None:
    assert total(run(0, 50), "tx_parity") == 0


def test_silent_losses_bring_as_much_parity_as_they_need() -> None:
    net = run(0.01, 150)
    lost = total(net, "tx_data") - total(net, "rx_data")
    assert lost > 30
    assert total(net, "rx_by_parity") > lost / 2
    assert 150 < total(net, "tx_parity") < 150 * 5


def test_many_losses_of_one_long_message_are_no_burst() -> None:
    """Four of 400 packets are lost, each by itself: rows are for those that may be at the message's end."""
    net = run(0.01, 60, message=content(400 * 64))
    assert total(net, "tx_data") - total(net, "rx_data") > 200
    assert 60 < total(net, "tx_parity") < 60 * 6


def test_one_message_tells_how_far_apart_packets_to_a_peer_go() -> None:
    """Until then all of a message is at risk; what is lost early in it is sent again before it ends."""
    net = network(3, window=64, parity=True, pace_bps=10**8)
    chance = csaud_testnet.Chance()
    chance.drop_data, chance.seed = 0.03, 7
    net.set_chance(chance)
    rows = []
    for number in range(64):
        to = 1 if number < 60 else 2
        if number == 60:
            net.set_chance(csaud_testnet.Chance())
        sent = total(net, "tx_parity")
        net.post_recv(to, 0, 400 * 64, coll_seq=number, fan_in=1)
        net.post_send(0, to, content(400 * 64), coll_seq=number, fan_in=1)
        assert net.settle(net.now + 1000 * MS)
        rows.append(total(net, "tx_parity") - sent)
    first, *later = rows[60:]
    assert all(0 < each <= first / 2 for each in later)


def test_a_link_that_was_mended_is_forgotten_to_have_lost() -> None:
    """By the traffic since then, however much was before: 1 % of 280,000 packets were lost, then none."""
    net = network(window=256, parity=True)
    sent = []
    for number in range(1, 3 * 1400):
        chance = csaud_testnet.Chance()
        chance.drop_data, chance.seed = 0.01 if number < 1400 else 0, number
        net.set_chance(chance)
        transfer(net, content(200 * 64), coll_seq=number, fan_in=1)
        sent.append(total(net, "tx_parity"))
    assert sent[1400] - sent[1300] > 300
    assert sent[-1] == sent[-500]


@pytest.mark.parametrize("fan_in", [0, 2])
def test_where_others_may_send_there_is_no_parity(fan_in: int) -> None:
    net = run(0.01, 150, fan_in=fan_in)
    assert total(net, "tx_data") - total(net, "rx_data") > 30
    assert total(net, "tx_parity") == 0


def test_without_loss_there_is_one_ack_a_message() -> None:
    assert total(run(0, 50), "tx_ack") == 50


@pytest.mark.parametrize(("parity", "world", "acks"), [(True, 2, 2), (True, 40, 4), (False, 40, 1)])
def test_where_packets_are_lost_an_ack_has_copies(parity: bool, world: int, acks: int) -> None:
    """A sender whose first ACK is lost otherwise finds that out by its probe. The more ranks, the more are
    waited for at once."""
    net = network(world, window=64, parity=parity)
    chance = csaud_testnet.Chance()
    chance.drop_data, chance.seed = 0.02, 7
    net.set_chance(chance)
    for number in range(30):  # rank 1 learns what it loses
        transfer(net, MESSAGE, src=1, dst=0, coll_seq=number + 1)
    net.set_chance(csaud_testnet.Chance())
    sent = total(net, "tx_ack")
    net.set_hook(Drop(lambda p: p.type == ACK, times=1))
    began = net.now
    net.post_recv(1, 0, len(MESSAGE))
    net.post_send(0, 1, MESSAGE)
    assert net.settle(net.now + 1000 * MS)
    (done,) = net.completions(0)
    probed = total(net, "tx_ack") - sent - acks
    assert (probed == 0) == parity
    assert (done.finished_ns - began < 300 * US) == parity
    assert net.unbalanced() == ""


def test_told_losses_bring_none() -> None:
    net = network(window=64, parity=True)
    chance = csaud_testnet.Chance()
    chance.trim, chance.seed = 0.02, 7
    net.set_chance(chance)
    for number in range(100):
        transfer(net, MESSAGE, coll_seq=number + 1, fan_in=1)
    assert total(net, "rtx_loss") > 30
    assert total(net, "tx_parity") == 0
    assert net.unbalanced() == ""


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_lost_late_or_doubled_the_message_is_whole(seed: int) -> None:
    net = with_rows(1 + seed % 3, link={"jitter": 80 * US, "latency": 50 * US})
    chance = csaud_testnet.Chance()
    chance.drop_data = chance.drop_control = 0.08
    chance.trim = 0.02
    chance.late, chance.late_by = 0.2, 300 * US
    chance.seed = seed
    net.set_chance(chance)
    for number in range(20):
        transfer(net, content(1 + (seed * 977 + number * 331) % 9000, number), coll_seq=number + 1)
    assert net.unbalanced() == ""
    assert total(net, "rx_by_parity") > 0

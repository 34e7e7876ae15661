"""Each of the four detectors finds a loss alone, and each copy sent again is booked under its finder."""

import itertools
from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from tests.hostlib.core_support import (
    DATA,
    LOSS,
    MS,
    STATE,
    US,
    Drop,
    content,
    first_copy,
    network,
    only,
    retransmitted,
    total,
    transfer,
)

PACKETS = 40
MESSAGE = content(PACKETS * 64 - 5)
MIDDLE = first_copy(11)


def check(net: Any, hook: Drop, **expected: int) -> None:
    assert retransmitted(net) == expected
    assert total(net, "rx_duplicates") == 0
    assert net.unbalanced() == ""
    assert hook.hit > 0


def test_loss_notice() -> None:
    hook = Drop(MIDDLE, verdict="trim")
    net = network(hook=hook, **only("loss"))
    transfer(net, MESSAGE)
    check(net, hook, loss=1)
    assert total(net, "rx_loss_notices") == 1


def test_path_gap() -> None:
    hook = Drop(MIDDLE)
    net = network(hook=hook, ordered=True, **only("gap"))
    transfer(net, MESSAGE)
    check(net, hook, gap=1)


def test_what_was_told_of_a_long_gap_is_of_that_gap_alone() -> None:
    """The first 63 are lost, a LOSS tells of the sixth; after the next one the sixth that follows is lost."""

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.attempt != 0 or not (p.pkt_idx < 63 or p.pkt_idx == 64 + 5):
            return None
        return "trim" if p.pkt_idx == 5 else "drop"

    net = network(hook=hook, ordered=True, paths=1, window=128, **only("loss", "gap"))
    transfer(net, content(100 * 64))
    assert retransmitted(net) == {"loss": 1, "gap": 62 + 1}


@pytest.mark.parametrize("ordered", [False, True])
def test_interval(ordered: bool) -> None:
    hook = Drop(MIDDLE)
    net = network(hook=hook, ordered=ordered, **only("interval"))
    transfer(net, MESSAGE)
    check(net, hook, interval=1)


def test_probe() -> None:
    hook = Drop(MIDDLE)
    net = network(hook=hook, **only("probe"))
    transfer(net, MESSAGE)
    check(net, hook, probe=1)


@pytest.mark.parametrize(("detector", "verdict"), [("loss", "trim"), ("interval", "drop"), ("probe", "drop")])
@pytest.mark.parametrize("which", ["first", "last", "all", "only one"])
def test_where_the_loss_is(detector: str, verdict: str, which: str) -> None:
    """The end of a message has no later packet that would show its loss; an only packet has nothing else."""
    size = 1 if which == "only one" else PACKETS
    lost = {"first": [0], "last": [PACKETS - 1], "all": range(PACKETS), "only one": [0]}[which]
    hook = Drop(first_copy(*lost), verdict=verdict)
    net = network(hook=hook, window=64, **only(detector))
    transfer(net, content(size * 64))
    check(net, hook, **{detector: len(lost)})


def test_a_detector_that_is_off_retransmits_nothing() -> None:
    net = network(hook=Drop(MIDDLE, verdict="trim"), ordered=True, **only())
    net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    assert not net.settle(1_000 * MS)
    assert retransmitted(net) == {}
    assert total(net, "rx_loss_notices") == 1  # the books go on


def test_fastest_first() -> None:
    """With all of them on, what a switch reports is the switch's, a hole in a path is the path's."""
    net = network(hook=Drop(MIDDLE, verdict="trim"), ordered=True)
    transfer(net, MESSAGE)
    assert retransmitted(net) == {"loss": 1}

    net = network(hook=Drop(MIDDLE), ordered=True)
    transfer(net, MESSAGE)
    assert retransmitted(net) == {"gap": 1}

    net = network(hook=Drop(MIDDLE))
    transfer(net, MESSAGE)
    assert retransmitted(net) == {"interval": 1}


def recovery_time(**settings: Any) -> int:
    """From the first transmission of the message until its completion, packet 39 of 40 lost once; in ns."""
    net = network(
        hook=Drop(first_copy(PACKETS - 1), verdict=settings.pop("verdict", "drop")), window=64, **settings
    )
    transfer(net, MESSAGE, coll_seq=1)  # the round trip is known after this one
    net.set_hook(Drop(first_copy(PACKETS - 1), verdict="drop"))
    net.post_send(0, 1, MESSAGE, coll_seq=2)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=2)
    begun = net.now
    assert net.settle(net.now + 10_000 * MS)
    done = next(c for c in net.completions(1) if c.id == receive)
    return int(done.finished_ns) - begun


def test_a_lost_tail_is_found_by_the_interval_within_a_few_round_trips() -> None:
    round_trip = 100 * US
    interval, probe = recovery_time(**only("interval")), recovery_time(**only("probe"))
    assert 2 * round_trip <= interval < 4 * round_trip
    assert interval < probe < 20 * round_trip


def test_a_receiver_that_was_stopped_reads_what_came_before_it_asks_for_it() -> None:
    """Also after a report of the same message, and each time. It wakes 10 us before it has read all."""
    net = network(window=16, **only("interval"))
    transfer(net, MESSAGE)
    net.set_hook(Drop(first_copy(3)))
    message = content(512 * 64)
    receive = net.post_recv(1, 0, len(message), coll_seq=2)
    net.post_send(0, 1, message, coll_seq=2)
    for stop in range(2):
        net.run_until(net.now + 500 * US)
        assert (retransmitted(net), net.stats(1)["stalls"]) == ({"interval": 1}, stop)
        net.stop(1)
        wakes = net.now + 50 * MS
        net.set_hook(lambda p, read=wakes + 10 * US: ("delay", read - net.now) if p.type == DATA else None)
        net.run_until(wakes)
        net.resume(1)
        net.set_hook(None)
    assert net.settle(net.now + 10_000 * MS)
    assert net.received(1, receive) == message
    assert net.stats(1)["stalls"] == 2
    assert retransmitted(net) == {"interval": 1}
    assert total(net, "rx_duplicates") == 0


def test_a_report_that_is_lost_is_made_again() -> None:
    """The first STATE after the loss is dropped; the next one carries the same news."""
    lost_states = []

    def hook(p: Any) -> str | None:
        if MIDDLE(p):
            return "drop"
        if p.type == STATE and len(lost_states) < 2:
            lost_states.append(p.number)
            return "drop"
        return None

    net = network(hook=hook, **only("interval"))
    transfer(net, MESSAGE)
    assert len(lost_states) == 2
    assert retransmitted(net) == {"interval": 1}
    assert net.unbalanced() == ""


def test_a_lost_notice_heals_by_the_interval() -> None:
    """The LOSS reaches the receiver, its STATE is lost."""
    hook = Drop(lambda p: p.type == STATE and p.reason == 1)
    net = network(hook=hook)
    trimmed = Drop(MIDDLE, verdict="trim")
    net.set_hook(lambda p: trimmed(p) or hook(p))
    transfer(net, MESSAGE)
    assert (hook.hit, retransmitted(net)) == (1, {"interval": 1})
    assert net.unbalanced() == ""


def test_a_second_notice_of_the_same_copy_does_nothing() -> None:
    hook = Drop(MIDDLE, verdict="trim")
    net = network(hook=hook, **only("loss"))
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    fields = _core.wire.decode_any(net.last_packet(0, DATA))[1]
    again = csaud_testnet.cut(
        _core.wire.encode({**fields, "pkt_idx": 11, "attempt": 0, "payload": bytes(64)})
    )
    net.run_until(60 * US)
    assert net.stats(1)["rx_loss_notices"] == 1
    net.inject(1, again)
    net.inject(1, again)
    assert net.settle(10_000 * MS)
    assert net.received(1, receive) == MESSAGE
    assert (net.stats(1)["rx_loss_notices"], net.stats(1)["rx_loss_repeats"]) == (1, 2)
    assert retransmitted(net) == {"loss": 1}


def test_a_bounced_packet_is_resent_at_once() -> None:
    """BOUNCE: the LOSS comes back to the sender, addresses and queue pairs swapped."""
    hook = Drop(MIDDLE)
    net = network(hook=hook, **only("loss"))
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    fields = _core.wire.decode_any(net.last_packet(0, DATA))[1]
    swap = {"src_ipv4": "dst_ipv4", "dst_ipv4": "src_ipv4", "src_qpn": "dst_qpn", "dst_qpn": "src_qpn"}
    back = {**fields, **{to: fields[of] for to, of in swap.items()}, "pkt_idx": 11, "dst_port": 49791}
    net.run_until(20 * US)
    net.inject(0, _core.wire.encode({**back, "type": LOSS, "flags": 0x20, "payload": b""}))
    assert net.settle(10_000 * MS)
    assert net.received(1, receive) == MESSAGE
    assert retransmitted(net) == {"loss": 1}
    assert (net.stats(0)["rx_loss_notices"], net.stats(0)["rx_bad_loss"]) == (1, 0)


def test_a_retransmission_takes_another_path() -> None:
    paths: dict[int, list[int]] = {}

    def hook(p: Any) -> str | None:
        if p.type != DATA:
            return None
        paths.setdefault(p.pkt_idx, []).append(p.path_id)
        return "drop" if p.pkt_idx % 3 == 0 and p.attempt < 3 else None

    net = network(hook=hook, window=64)
    transfer(net, MESSAGE)
    for idx, used in paths.items():
        assert all(a != b for a, b in itertools.pairwise(used)), (idx, used)
    assert max(map(len, paths.values())) == 4

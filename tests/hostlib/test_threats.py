"""What strangers and hostile members can do to a job, and what not: each claim of docs/security.md."""

import itertools
from typing import Any

import pytest
from csaud import _core

from tests.hostlib.core_support import (
    ABORT,
    ACK,
    CREDIT,
    DATA,
    LOSS,
    MS,
    PROBE_RSP,
    QKEY,
    REASON_INTERVAL,
    STATE,
    US,
    S,
    content,
    network,
    total,
)
from tests.hostlib.forged import between

Status = _core.Status
PACKETS = 10
MESSAGE = content(PACKETS * 64)
OUTGOING = {"coll_seq": 1, "src_rank": 0, "pkt_total": PACKETS}
USER_ABORT, GONE = 12, 13


def transfer_with(net: Any, forge: Any, *, at: int = 60 * US) -> Any:
    """Rank 0 sends rank 1 ten packets; `forge(net)` happens on the way. The receive's id."""
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(at)
    forge(net)
    return receive


def assert_well(net: Any, receive: int) -> None:
    assert net.settle(net.now + 20 * S)
    assert net.received(1, receive) == MESSAGE
    assert all(c.status == Status.ok for rank in (0, 1) for c in net.completions(rank))


# --- a stranger in the fabric: reaches the ranks' addresses, knows no key


@pytest.mark.parametrize("kind", [DATA, ACK, STATE, LOSS, CREDIT, PROBE_RSP, ABORT])
def test_without_the_key_nothing_is_possible(kind: int) -> None:
    """Whatever it forges, of any type and in any rank's name, adds to `rx_bad_qkey` and to nothing else."""
    net = network(3)

    def forge(net: Any) -> None:
        for src, guess in itertools.product((0, 2), (0, QKEY ^ 1, 0x7FFFFFFF)):
            extra = {"flags": 0x20} if kind == LOSS else {"reason": USER_ABORT, "from_rank": src}
            net.inject(1, between(src, 1, type=kind, **{**OUTGOING, **extra, "src_rank": src}, qkey=guess))

    receive = transfer_with(net, forge)
    assert_well(net, receive)
    assert net.stats(1)["rx_bad_qkey"] == 6


# --- a stranger that has seen the Q_Key, but sends from where it is (an RDMA device leaves no choice)


@pytest.mark.parametrize("kind", [DATA, ACK, STATE, LOSS, CREDIT, PROBE_RSP, ABORT])
@pytest.mark.parametrize("where", [{"src_ipv4": 0x0A000063}, {"src_qpn": 999}, {"src_qpn": 258}])
def test_with_the_key_but_from_elsewhere_nothing_is_possible(kind: int, where: dict[str, int]) -> None:
    net = network(3)

    def forge(net: Any) -> None:
        extra = {"flags": 0x20} if kind == LOSS else {"reason": USER_ABORT, "from_rank": 0, "credit": 32}
        payload = {"payload": bytes(64)} if kind == DATA else {}
        net.inject(1, between(0, 1, **{"type": kind, **OUTGOING, **extra, **payload, **where}))

    receive = transfer_with(net, forge)
    assert_well(net, receive)
    assert net.stats(1)["rx_bad_source"] == 1


def test_a_member_cannot_speak_for_another_member() -> None:
    """Rank 2's device sends from rank 2's queue pair, whatever rank it names."""
    net = network(3)

    def forge(net: Any) -> None:
        named = {"type": ACK, **OUTGOING, "from_rank": 1, "credit": 32}
        net.inject(0, between(2, 0, **named))
        aborting = {"type": ABORT, "reason": USER_ABORT, "src_rank": 1, "from_rank": 1}
        net.inject(0, between(2, 0, **aborting))

    receive = transfer_with(net, forge)
    assert_well(net, receive)
    assert net.stats(0)["rx_bad_source"] == 2


# --- one that knows the Q_Key and forges addresses, too: what one packet may do has a bound


def test_one_forged_abort_ends_no_job() -> None:
    """Its rank is asked, and goes on as ever."""
    net = network(2)

    def forge(net: Any) -> None:
        net.inject(0, between(1, 0, type=ABORT, reason=USER_ABORT, src_rank=1, from_rank=1))

    receive = transfer_with(net, forge)
    assert_well(net, receive)
    assert net.stats(0)["rx_abort_denied"] == 1
    assert total(net, "tx_abort") == 0


def test_forged_aborts_a_second_apart_end_no_job() -> None:
    net = network(2)
    net.post_recv(0, 1, 64, coll_seq=9)  # something that goes on all the while
    for _ in range(5):
        net.inject(0, between(1, 0, type=ABORT, reason=USER_ABORT, src_rank=1, from_rank=1))
        net.run_until(net.now + S)
    assert net.completions(0) == []
    assert net.stats(0)["rx_abort_denied"] == 5


@pytest.mark.parametrize("lost", ["the first of its packets", "every answer"])
def test_a_real_abort_is_believed_whatever_is_lost(lost: str) -> None:
    aborts: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type != ABORT:
            return None
        aborts.append(p.number)
        return "drop" if (len(aborts) == 1 if lost == "the first of its packets" else p.flags & 1) else None

    net = network(2, hook=hook)
    net.post_recv(0, 1, 64, coll_seq=1)
    net.abort(1)
    net.run_until(200 * MS)
    assert [(c.status, c.rank) for c in net.completions(0)] == [(Status.aborted, 1)]


def test_a_real_abort_takes_a_round_trip_more() -> None:
    left: list[int] = []
    net = network(2, hook=lambda p: left.append(p.now) if p.type == ABORT else None)
    net.post_recv(0, 1, 64, coll_seq=1)
    net.abort(1)
    while not left:
        net.run_until(net.now + 50 * US)
    net.run_until(left[0] + 4 * 50 * US)
    assert [(c.status, c.rank) for c in net.completions(0)] == [(Status.aborted, 1)]


def test_a_forged_state_delays_a_message_and_no_more() -> None:
    """It says that all that was sent has arrived, while some of it is lost."""
    net = network(2, window=4, hook=lambda p: "drop" if p.type == DATA and p.now == 0 else None)

    def forge(net: Any) -> None:
        state = {"type": STATE, "reason": REASON_INTERVAL, "from_rank": 1, "credit": 4, "pkt_idx": 3}
        all_four = {"bitmap_bits": PACKETS, "bitmap": b"\xf0\x00", "cumulative": 4}
        net.inject(0, between(1, 0, **{**OUTGOING, **state, **all_four}))

    receive = transfer_with(net, forge)
    assert net.unfinished == 2
    assert_well(net, receive)


def test_a_forged_ack_is_found_out_and_ends_in_an_error_that_names_the_rank() -> None:
    """The sender may no longer read its buffer, so the receive cannot end well; it does not hang."""
    net = network(2, hook=lambda p: "drop" if p.type == DATA and p.pkt_idx == 3 else None)

    def forge(net: Any) -> None:
        net.inject(0, between(1, 0, **{**OUTGOING, "type": ACK, "from_rank": 1, "credit": 10}))

    transfer_with(net, forge)
    net.run_until(10 * S)
    assert [(c.status, c.rank) for c in net.completions(1)] == [(Status.protocol, 0)]


def test_a_word_that_all_was_acknowledged_ends_nothing_by_itself() -> None:
    net = network(2)

    def forge(net: Any) -> None:
        net.inject(1, between(0, 1, **{**OUTGOING, "type": PROBE_RSP, "reason": GONE, "credit": 32}))

    assert_well(net, transfer_with(net, forge))


def test_forged_early_data_takes_no_more_than_its_rank_was_granted() -> None:
    """A thousand packets in rank 1's name; rank 2's early data is taken as ever."""
    net = network(3, window=8, early_pool_packets=64)
    for number in range(1000):
        forged = {"type": DATA, "coll_seq": 1000 + number, "src_rank": 1, "pkt_total": 1, "payload": b"x"}
        net.inject(0, between(1, 0, **forged))
    assert net.stats(0)["rx_early"] == 8
    for src in (1, 2):
        net.post_send(src, 0, MESSAGE, coll_seq=src)
    net.run_until(S)
    assert net.stats(0)["rx_early"] == 16
    receives = [net.post_recv(0, src, len(MESSAGE), coll_seq=src) for src in (1, 2)]
    assert net.settle(net.now + 20 * S)
    assert [net.received(0, receive) for receive in receives] == [MESSAGE, MESSAGE]


def test_forged_loss_notices_are_held_in_bounded_number() -> None:
    """Each is of another copy of a message that nobody sends."""
    net = network(2)
    for number in range(40_000):
        name = {"coll_seq": 1000 + number // 500, "src_rank": 1, "pkt_total": 512, "pkt_idx": number % 500}
        net.inject(0, between(1, 0, type=LOSS, flags=0x20, dst_port=49791, **name))
    net.run_until(net.now + 1000 * S)
    # Those that went at once, and those that were held.
    assert net.stats(0)["tx_state"] == 16 + 8192


def test_a_forged_round_trip_of_an_hour_is_not_believed() -> None:
    """Else a lost packet would be waited for that long."""
    net = network(2, rtt_initial=MS, window=4)

    def forge(net: Any) -> None:
        hour_ago = (net.now // 1000 - 2_000_000_000) % (1 << 32)
        credit = {"type": CREDIT, "from_rank": 1, "credit": 4, "control_flags": 3, "newest_tx_ts": hour_ago}
        net.inject(0, between(1, 0, **credit))

    receive = transfer_with(net, forge)
    net.set_hook(lambda p: "drop" if p.type == DATA and p.attempt == 0 else None)
    assert net.settle(net.now + 2 * S)
    assert net.received(1, receive) == MESSAGE


# --- what no check of the core can prevent: known, and said in docs/security.md


def test_one_who_forges_addresses_and_sees_packets_puts_data_into_arrays() -> None:
    """Without authentication of packets: the first copy counts, whoever sent it."""
    net = network(2)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    forged = {**OUTGOING, "type": DATA, "pkt_idx": 2, "payload": b"\xee" * 64}
    net.inject(1, between(0, 1, **forged))
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    assert net.settle(10 * S)
    assert net.received(1, receive) == MESSAGE[:128] + b"\xee" * 64 + MESSAGE[192:]

"""What strangers and hostile members can do to a job, and what not: each claim of docs/security.md."""

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
    LOSS,
    MS,
    PARITY,
    PROBE_RSP,
    QKEY,
    REASON_INTERVAL,
    STATE,
    US,
    S,
    content,
    network,
    only,
    total,
    transfer,
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


def test_an_abort_is_not_believed_for_a_time_that_it_does_not_say_to_echo() -> None:
    """Everybody knows what time it is; a time that a rank was asked with, only who heard it knows."""
    net = network(2)

    def forge(net: Any) -> None:
        now = net.now // _core.EndpointConfig().tx_ts_unit_ns
        seen = {"control_flags": 0x01, "newest_tx_ts": now}
        net.inject(0, between(1, 0, type=ABORT, reason=USER_ABORT, src_rank=1, from_rank=1, **seen))

    receive = transfer_with(net, forge)
    assert_well(net, receive)
    assert net.stats(0)["rx_abort_denied"] == 1


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


def test_a_count_of_losses_that_cannot_be_is_not_believed() -> None:
    """Else what goes there next would bring parity that nobody needs."""
    net = network(2)

    def forge(net: Any) -> None:
        ack = {**OUTGOING, "type": ACK, "from_rank": 1, "credit": 10, "cumulative": 30_000}
        net.inject(0, between(1, 0, **ack))
        assert net.stats(0)["messages_sent"] == 1

    assert_well(net, transfer_with(net, forge))
    transfer(net, MESSAGE, coll_seq=2, fan_in=1)
    assert total(net, "tx_parity") == 0


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


@pytest.mark.parametrize("detector", ["interval", "probe"])
def test_forged_loss_notices_keep_no_loss_from_being_found(detector: str) -> None:
    """As many as are held, and one of the packet that is lost, of a copy that there never was."""
    net = network(2, link={"latency": MS}, **only("loss", detector))

    def forge(net: Any) -> None:
        notice = {"type": LOSS, "flags": 0x20, "dst_port": 49791, "src_rank": 0}
        for number in range(9_000):
            name = {"coll_seq": 1000 + number // 500, "pkt_total": 512, "pkt_idx": number % 500}
            net.inject(1, between(0, 1, **notice, **name))
            if number == 8000:
                copy = {"coll_seq": 1, "pkt_total": PACKETS, "pkt_idx": 5, "attempt": 9}
                net.inject(1, between(0, 1, **notice, **copy))

    net.set_hook(lambda p: "drop" if p.type == DATA and p.pkt_idx == 5 and not p.attempt else None)
    receive = transfer_with(net, forge)
    net.run_until(net.now + S)
    assert net.received(1, receive) == MESSAGE


def test_a_forged_loss_notice_now_and_then_keeps_no_loss_from_being_found() -> None:
    """Often enough that one of the packet that is lost is always held."""
    net = network(2, link={"latency": MS}, **only("loss", "interval"))
    net.set_hook(lambda p: "drop" if p.type == DATA and p.pkt_idx == 5 and not p.attempt else None)
    receive = transfer_with(net, lambda net: None)
    copies = [(idx, attempt) for attempt in range(9, 200) for idx in (5, 6, 7, 8, 9)]
    for idx, attempt in copies:
        name = {**OUTGOING, "pkt_idx": 5, "attempt": attempt} if idx == 5 else {"coll_seq": 1000 + idx}
        name = {"src_rank": 0, "pkt_total": PACKETS, "attempt": attempt, **name}
        net.inject(1, between(0, 1, type=LOSS, flags=0x20, dst_port=49791, **name))
        net.run_until(net.now + MS)
    assert net.now < S
    assert net.received(1, receive) == MESSAGE


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


# --- packets that are authenticated (auth=headers): only who has the job's key can make one

KEY = bytes(range(16))
# What routers may change or the core does not read: of IPv4, UDP and BTH all but what names source and queue
# pair. Where a packet went (16 to 19) the host knows by itself.
NOT_COVERED = {*range(12), *range(16, 33), *range(36, 40), 44}


def authenticated(world: int = 2, **settings: Any) -> Any:
    return network(world, auth_key=KEY, path_mtu=32 + 64 + 8, **settings)


@pytest.mark.parametrize("signal", ["trim", "bounce", "both"])
def test_authenticated_packets_are_exchanged_and_recovered_as_ever(signal: str) -> None:
    chance = csaud_testnet.Chance()
    chance.drop_data, chance.trim, chance.drop_control, chance.duplicate = 0.05, 0.1, 0.05, 0.05
    net = authenticated(3, link={"signal": signal}, ordered=True)
    net.set_chance(chance)
    data = content(300 * 64 - 5)
    receives = {src: net.post_recv(0, src, len(data), coll_seq=1) for src in (1, 2)}
    for src in (1, 2):
        net.post_send(src, 0, data, coll_seq=1)
    assert net.settle(60 * S)
    assert all(net.received(0, receive) == data for receive in receives.values())
    assert total(net, "rx_bad_auth", 3) == 0
    assert total(net, "rx_loss_notices", 3) > 0
    assert net.unbalanced() == ""


@pytest.mark.parametrize("kind", [DATA, ACK, STATE, CREDIT, PROBE_RSP, ABORT])
def test_one_who_forges_addresses_but_lacks_the_key_can_do_nothing(kind: int) -> None:
    """With 8 bytes of its own where the tag would be, and without."""
    net = authenticated()

    def forge(net: Any) -> None:
        part = {"from_rank": 0, "credit": 32, "reason": USER_ABORT if kind == ABORT else REASON_INTERVAL}
        fields = {**OUTGOING, **part} if kind != DATA else OUTGOING
        for tag in (b"", bytes(8), KEY[:8]):
            rest = {"payload": b"\xee" * 64 + tag} if kind == DATA else {"bitmap": tag}
            net.inject(1, between(0, 1, **{"type": kind, **fields, **rest}))

    receive = transfer_with(net, forge)
    assert_well(net, receive)
    stats = net.stats(1)
    # Where there is no room for a tag, the length is wrong.
    assert stats["rx_bad_auth"] + stats["rx_bad_length"] == 3
    assert stats["rx_bad_auth"] >= 2


@pytest.mark.parametrize("kind", [DATA, ACK, CREDIT])
def test_no_header_can_be_changed(kind: int) -> None:
    """A real packet, each bit of its headers flipped, the iCRC made right again, to the rank it was for."""
    net = authenticated()
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    assert net.settle(20 * S)
    src, dst = (0, 1) if kind == DATA else (1, 0)
    packet = bytes(net.last_packet(src, kind))
    before = net.stats(dst)
    flips = [at for at in range(len(packet) - 4) if at not in NOT_COVERED and (kind != DATA or at < 80)]
    for at, bit in itertools.product(flips, range(8)):
        changed = packet[:at] + bytes([packet[at] ^ 1 << bit]) + packet[at + 1 : -4]
        net.inject(dst, changed + bytes(_core.wire.icrc(changed)))
    after = net.stats(dst)
    changed_counters = {name for name, value in before.items() if after[name] != value}
    assert {name for name in changed_counters if not name.startswith(("rx_bad_", "rx_stale_"))} <= {
        "rx_bytes",
        # A LOSS has no tag, as a switch cuts it off.
        "rx_loss_notices",
        "rx_loss_trimmed",
        "rx_loss_bounced",
        "rx_loss_repeats",
    }
    assert after["rx_bad_auth"] > 100
    assert net.received(1, receive) == MESSAGE


def test_another_key_is_no_key() -> None:
    """A rank of another job, with this one's Q_Key and addresses."""
    net, other = authenticated(), network(2, auth_key=bytes(16), path_mtu=32 + 64 + 8)
    for one in (net, other):
        one.post_send(0, 1, MESSAGE, coll_seq=1)
        one.run_until(60 * US)
    net.inject(1, bytes(other.last_packet(0, DATA)))
    assert net.stats(1)["rx_bad_auth"] == 1


def test_packets_sent_again_by_somebody_change_nothing() -> None:
    """Everything a job has sent, once more: all of it is known."""
    net = authenticated()
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    assert net.settle(20 * S)
    for src, kind in ((0, DATA), (1, ACK), (1, CREDIT)):
        if packet := bytes(net.last_packet(src, kind)):
            net.inject(1 - src, packet)
    transfer = net.post_recv(1, 0, 64, coll_seq=2)
    net.post_send(0, 1, bytes(64), coll_seq=2)
    assert net.settle(net.now + 20 * S)
    assert (net.received(1, receive), net.received(1, transfer)) == (MESSAGE, bytes(64))


def test_a_payload_is_not_covered() -> None:
    """Who sees a packet and is faster can put another payload under its headers: that takes IPsec."""
    net = authenticated()
    receive = net.post_recv(1, 0, 64, coll_seq=1)
    net.set_hook(lambda p: ("delay", MS) if p.type == DATA else None)
    net.post_send(0, 1, bytes(64), coll_seq=1)
    net.run_until(0)
    packet = bytes(net.last_packet(0, DATA))
    changed = packet[:80] + b"\xee" * 64 + packet[144:-4]
    net.inject(1, changed + bytes(_core.wire.icrc(changed)))
    assert net.settle(20 * S)
    assert net.received(1, receive) == b"\xee" * 64


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


ROW = {**OUTGOING, "type": PARITY, "attempt": PACKETS, "payload": b"\xee" * 64}


def test_forged_parity_changes_no_packet_that_is_there() -> None:
    """One row stands for one packet that is missing, as one forged packet does, and no more."""
    net = network(2, detect_interval=False, detect_probe=False, window=16)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.set_hook(lambda p: "drop" if p.type == DATA and p.pkt_idx in (3, 7) else None)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(MS)
    net.inject(1, between(0, 1, **ROW, pkt_idx=0))
    assert total(net, "rx_by_parity") == 0  # two are missing
    net.inject(1, between(0, 1, **ROW, pkt_idx=1))
    assert total(net, "rx_by_parity") == 2
    net.run_until(net.now + 10 * MS)
    got = net.received(1, receive)
    wrong = {at // 64 for at in range(len(MESSAGE)) if got[at] != MESSAGE[at]}
    assert wrong <= {3, 7}


def test_rows_over_other_packets_than_the_first_ones_are_refused() -> None:
    """To sum up all that came once more for each of them would cost a stranger a packet, and us a message."""
    net = network(2, window=4)
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    net.run_until(60 * US)
    bad = net.stats(1)["rx_bad_index"]
    for covered in (PACKETS, *range(2, PACKETS)):
        net.inject(1, between(0, 1, **{**ROW, "attempt": covered}, pkt_idx=7))
    assert net.stats(1)["rx_bad_index"] == bad + PACKETS - 2
    net.run_until(10 * MS)
    assert all(c.status == Status.ok for c in net.completions(1) if c.id == receive)


def test_parity_of_what_nobody_posted_takes_no_memory() -> None:
    net = network(2)
    before = net.memory(1)
    for coll_seq in range(5, 500):
        net.inject(1, between(0, 1, **{**ROW, "coll_seq": coll_seq}, pkt_idx=coll_seq % 8))
    after = net.memory(1)
    # Whatever comes from a peer takes the peer's own record, and a timer.
    assert {part for part in after if after[part] != before[part]} <= {"active_peers", "timers"}

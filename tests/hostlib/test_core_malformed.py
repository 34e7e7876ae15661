"""Packets that no peer would send reach the core: each adds one to one counter, and nothing else changes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from csaud import _core

from tests.hostlib.core_support import (
    ACK,
    CREDIT,
    DATA,
    EPOCH,
    LOSS,
    MS,
    PARITY,
    PROBE,
    PROBE_RSP,
    QKEY,
    STATE,
    US,
    S,
    content,
    network,
    transfer,
)
from tests.hostlib.forged import packet

# Rank 1 sends rank 0 a message of 10 packets, of which some have arrived; rank 0 sends rank 1 another.
PACKETS = 10
INCOMING = {"coll_seq": 1, "src_rank": 1, "pkt_total": PACKETS}
OUTGOING = {"coll_seq": 2, "src_rank": 0, "pkt_total": PACKETS, "from_rank": 1}
FULL = bytes(64)
PART = {"from_rank": 1, "credit": 4}


def data(**fields: Any) -> bytes:
    return packet(**{"type": DATA, **INCOMING, "pkt_idx": 9, "payload": FULL, **fields})


def loss(**fields: Any) -> bytes:
    return packet(**{"type": LOSS, **INCOMING, "pkt_idx": 9, "dst_port": 49791, "flags": 0x20, **fields})


def bounced(**fields: Any) -> bytes:
    """A LOSS of rank 0's own first packet, which is under way."""
    return loss(**{**OUTGOING, "pkt_idx": 0, **fields})


def parity(**fields: Any) -> bytes:
    """A row over the whole message."""
    return packet(**{"type": PARITY, **INCOMING, "pkt_idx": 0, "attempt": PACKETS, "payload": FULL, **fields})


def second(make: Callable[..., bytes], **fields: Any) -> bytes:
    """The same with an iCRC, to the RoCE port."""
    return make(dst_port=4791, **fields)


def state(**fields: Any) -> bytes:
    return packet(**{"type": STATE, **OUTGOING, "reason": 3, **PART, **fields})


CASES = {
    "empty": (b"", "rx_bad_length"),
    "cut short": (data()[:70], "rx_bad_length"),
    "cut within the payload": (data()[:-8], "rx_bad_length"),
    "IP options": (b"\x46" + data()[1:], "rx_bad_length"),
    "TCP": (data()[:9] + b"\x06" + data()[10:], "rx_bad_length"),
    "bad iCRC": (data()[:-1] + bytes([data()[-1] ^ 1]), "rx_bad_icrc"),
    "another queue pair": (data(dst_qpn=99), "rx_bad_qpn"),
    "another key": (data(qkey=QKEY + 1), "rx_bad_qkey"),
    "old epoch": (data(epoch=EPOCH - 1), "rx_stale_data"),
    "total differs from the receive": (data(pkt_total=PACKETS + 1), "rx_bad_index"),
    "index beyond": (data(pkt_idx=PACKETS), "rx_bad_index"),
    "no packets": (data(pkt_total=0), "rx_bad_index"),
    "more packets than a message has": (data(coll_seq=9, pkt_total=513), "rx_bad_index"),
    "short middle": (data(pkt_idx=3, payload=bytes(63)), "rx_bad_index"),
    "empty last": (data(coll_seq=9, pkt_total=3, pkt_idx=2, payload=b""), "rx_bad_index"),
    "empty middle": (data(pkt_idx=3, payload=b""), "rx_bad_index"),
    "last of another size": (data(payload=bytes(63)), "rx_bad_index"),
    "longer than the MTU": (data(coll_seq=9, pkt_total=1, pkt_idx=0, payload=bytes(65)), "rx_bad_index"),
    "rank of nobody": (data(src_rank=2), "rx_bad_index"),
    "from ourselves": (data(src_rank=0), "rx_bad_index"),
    "PARITY over no packet": (parity(attempt=0), "rx_bad_index"),
    "PARITY over more packets than there are": (parity(attempt=PACKETS + 1), "rx_bad_index"),
    "PARITY over more than 128": (parity(coll_seq=9, pkt_total=200, attempt=129), "rx_bad_index"),
    "ninth row": (parity(pkt_idx=8), "rx_bad_index"),
    "last row that can be written": (parity(pkt_idx=0xFFFF), "rx_bad_index"),
    "PARITY of another message size": (parity(pkt_total=PACKETS + 1), "rx_bad_index"),
    "PARITY of a message of 513": (parity(coll_seq=9, pkt_total=513), "rx_bad_index"),
    "PARITY shorter than what it covers": (parity(payload=bytes(63)), "rx_bad_index"),
    "PARITY without a payload": (parity(payload=b""), "rx_bad_index"),
    "PARITY over the last packet, too long": (parity(attempt=1, payload=bytes(65)), "rx_bad_index"),
    "PARITY over the last packet, too short": (parity(attempt=1, payload=bytes(63)), "rx_bad_index"),
    "PARITY in a rank's name, from elsewhere": (parity(src_qpn=258), "rx_bad_source"),
    "PARITY of nobody's message": (parity(src_rank=2), "rx_bad_index"),
    "LOSS to the RoCE port": (packet(type=DATA, **INCOMING, payload=FULL)[:50] + b"\x03", "rx_bad_length"),
    "LOSS with another key": (loss(qkey=QKEY ^ 1), "rx_bad_qkey"),
    "LOSS of another epoch": (loss(epoch=EPOCH ^ 1), "rx_stale_loss"),
    "LOSS with another total": (loss(pkt_total=11), "rx_bad_index"),
    "LOSS beyond the end": (loss(pkt_idx=10), "rx_bad_index"),
    "LOSS of nobody's packet": (loss(src_rank=7), "rx_bad_index"),
    "DATA from another address": (data(src_ipv4=0x0A000063), "rx_bad_source"),
    "DATA from another queue pair": (data(src_qpn=258), "rx_bad_source"),
    "LOSS from another address": (loss(src_ipv4=0x0A000063), "rx_bad_source"),
    "LOSS from another queue pair": (loss(src_qpn=258), "rx_bad_source"),
    "LOSS to the RoCE port, from another queue pair": (second(loss, src_qpn=258), "rx_bad_source"),
    "bounced LOSS from nobody": (loss(src_rank=0, src_qpn=300), "rx_bad_source"),
    "STATE from another address": (state(src_ipv4=0x0A000063), "rx_bad_source"),
    "ACK from another queue pair": (state(type=ACK, reason=0, src_qpn=258), "rx_bad_source"),
    "CREDIT from our own address": (packet(type=CREDIT, **PART, src_ipv4=0x0A000001), "rx_bad_source"),
    "ABORT from another address": (
        packet(type=9, reason=12, src_rank=1, src_ipv4=0x0A000063, **PART),
        "rx_bad_source",
    ),
    "bounced LOSS of a packet never sent": (loss(**{**OUTGOING, "pkt_idx": 8}), "rx_bad_loss"),
    "bounced LOSS of a copy never sent": (loss(**{**OUTGOING, "pkt_idx": 0, "attempt": 3}), "rx_bad_loss"),
    "LOSS without TRIMMED": (loss(flags=0), "rx_bad_magic"),
    "DATA to the LOSS port": (loss(type=DATA), "rx_bad_magic"),
    "bounced LOSS with another key": (bounced(qkey=QKEY ^ 1), "rx_bad_qkey"),
    "bounced LOSS of another epoch": (bounced(epoch=EPOCH ^ 1), "rx_stale_loss"),
    "bounced LOSS of another queue pair": (bounced(dst_qpn=99), "rx_bad_qpn"),
    "bounced LOSS of another message size": (bounced(pkt_total=PACKETS + 1), "rx_bad_loss"),
    "bounced LOSS of a message of 513": (bounced(coll_seq=9, pkt_total=513), "rx_bad_index"),
    "LOSS with an iCRC that is wrong": (second(loss)[:-1] + b"\xff", "rx_bad_icrc"),
    "LOSS to the RoCE port, no iCRC": (second(loss)[:2] + b"\0\x50" + second(loss)[4:], "rx_bad_length"),
    "LOSS to the RoCE port, another key": (second(loss, qkey=QKEY ^ 1), "rx_bad_qkey"),
    "LOSS to the RoCE port, another epoch": (second(loss, epoch=EPOCH ^ 1), "rx_stale_loss"),
    "LOSS to the RoCE port, not TRIMMED": (second(loss, flags=0), "rx_bad_magic"),
    "LOSS to the RoCE port, beyond the end": (second(loss, pkt_idx=10), "rx_bad_index"),
    "bounced to the RoCE port, another key": (second(bounced, qkey=QKEY ^ 1), "rx_bad_qkey"),
    "bounced to the RoCE port, another epoch": (second(bounced, epoch=EPOCH ^ 1), "rx_stale_loss"),
    "bounced to the RoCE port, never sent": (second(bounced, pkt_idx=8), "rx_bad_loss"),
    "ECN of a path of nobody": (state(flags=0x40, echoed_path=4), "rx_bad_index"),
    "STATE of a LOSS never sent": (state(reason=1, pkt_idx=9), "rx_bad_loss"),
    "STATE of a copy never sent": (state(reason=1, pkt_idx=0, attempt=1), "rx_bad_loss"),
    "STATE that saw what was never sent": (
        state(bitmap_bits=10, bitmap=b"\xff\xc0"),
        "rx_bad_index",
    ),
    "STATE with another total": (state(pkt_total=11), "rx_bad_index"),
    "STATE with a longer bitmap": (state(bitmap_bits=16, bitmap=bytes(2)), "rx_bad_index"),
    "STATE of another epoch": (state(epoch=EPOCH ^ 1), "rx_stale_epoch"),
    "STATE without a reason": (state(reason=0), "rx_bad_index"),
    "STATE of the peer's own message": (state(src_rank=1), "rx_bad_index"),
    "STATE from nobody": (state(from_rank=5), "rx_bad_index"),
    "STATE from ourselves": (state(from_rank=0), "rx_bad_index"),
    "ACK of what was not sent": (state(type=ACK, reason=0), "rx_bad_index"),
    "ACK with a bitmap": (state(type=ACK, bitmap_bits=10, bitmap=bytes(2)), "rx_bad_index"),
    "CREDIT beyond the window": (packet(type=CREDIT, **{**PART, "credit": 10_000}), "rx_bad_index"),
    "CREDIT with a bitmap": (
        packet(type=CREDIT, **{**PART, "bitmap_bits": 8, "bitmap": b"\0"}),
        "rx_bad_index",
    ),
    "PROBE with another total": (packet(type=PROBE, **{**INCOMING, "pkt_total": 3}, **PART), "rx_bad_index"),
    "PROBE of a message with a note": (
        packet(type=PROBE, **INCOMING, **{**PART, "bitmap_bits": PACKETS, "bitmap": bytes(2)}),
        "rx_bad_index",
    ),
    "PROBE of our own message": (packet(type=PROBE, **{**OUTGOING, **PART}), "rx_bad_index"),
    "PROBE_RSP beyond the end": (
        packet(type=PROBE_RSP, reason=8, cumulative=11, **INCOMING, **PART),
        "rx_bad_index",
    ),
    "ABORT for no reason": (packet(type=9, reason=0, src_rank=1, **PART), "rx_bad_index"),
    "ABORT with a note that is too long": (
        packet(type=9, reason=11, src_rank=1, **{**PART, "bitmap_bits": 8 * 201, "bitmap": bytes(201)}),
        "rx_bad_length",
    ),
    "ABORT about nobody": (packet(type=9, reason=11, src_rank=9, **PART), "rx_bad_index"),
}

# Of what is found only once keys, epoch and iCRC were right, the bytes count as the job's.
OF_THE_JOB = {"rx_bad_index", "rx_bad_loss"}


def begun() -> tuple[Any, int]:
    """Both messages under way: rank 0 has sent 4 of 10, as the window allows; of rank 1's none arrived."""
    net = network(2, window=4)
    receive = net.post_recv(0, 1, PACKETS * 64, coll_seq=1)
    net.post_send(0, 1, content(PACKETS * 64, 2), coll_seq=2)
    net.post_send(1, 0, content(PACKETS * 64), coll_seq=1)
    net.run_until(10 * US)
    return net, receive


@pytest.mark.parametrize("name", CASES)
def test_counted_dropped_and_nothing_else(name: str) -> None:
    bad, counter = CASES[name]
    net, receive = begun()
    before, sent = net.stats(0), net.packets
    for _ in range(3):
        net.inject(0, bad)
    after = net.stats(0)
    changed = {counter: 3} | ({"rx_stale_epoch": 3} if counter.startswith("rx_stale_") else {})
    changed |= {"rx_bytes": 3 * len(bad)} if counter in OF_THE_JOB else {}
    assert {k: after[k] - v for k, v in before.items() if after[k] != v} == changed
    assert net.packets == sent  # and nothing was said to it
    second = net.post_recv(1, 0, PACKETS * 64, coll_seq=2)
    assert net.settle(10_000_000_000)
    assert net.received(0, receive) == content(PACKETS * 64)
    assert net.received(1, second) == content(PACKETS * 64, 2)
    assert net.stats(0)["rtx_loss"] == 0


def header_bits() -> list[tuple[int, int]]:
    return [(at, 1 << bit) for at in range(80) for bit in (0, 3, 7)]


@pytest.mark.parametrize("sealed", [True, False], ids=["iCRC that fits", "iCRC that does not"])
def test_what_came_before_decides_nothing(sealed: bool) -> None:
    """A packet whose headers differ in one bit from those of its message's others is judged as if another,
    for another queue pair, had come in between."""
    first, stranger = data(pkt_idx=0), data(pkt_idx=1, dst_qpn=99)
    for at, bit in header_bits():
        changed = bytearray(data(pkt_idx=1))
        changed[at] ^= bit
        if sealed:
            changed[-4:] = _core.wire.icrc(bytes(changed[:-4]))
        found = []
        for history in ([first, stranger], [stranger, first]):
            net = network(2)
            receive = net.post_recv(0, 1, PACKETS * 64, coll_seq=1)
            for before in history:
                net.inject(0, before)
            for _ in range(2):
                net.inject(0, bytes(changed))
            for idx in range(1, PACKETS):
                net.inject(0, data(pkt_idx=idx))
            found.append((net.stats(0), net.received(0, receive)))
        assert found[0] == found[1], (at, bit)


def test_data_of_a_receive_that_ended_is_early_data() -> None:
    """Its record may be the next one's by then, but its buffer is its caller's again."""
    net = network(2)
    receive = net.post_recv(0, 1, PACKETS * 64, coll_seq=1)
    for idx in range(3):
        net.inject(0, data(pkt_idx=idx))
    for _ in range(8):
        net.inject(0, data(payload=bytes(63)))
    assert [c.status for c in net.completions(0)] == [_core.Status.protocol]
    before = net.received(0, receive)
    for idx in range(5):
        net.inject(0, data(pkt_idx=idx, payload=bytes([0xFF]) * 64))
    assert net.received(0, receive) == before
    assert net.stats(0)["rx_early"] == 5


def test_forged_early_data_is_bounded_and_does_not_stop_the_real_message() -> None:
    """With key and epoch: messages that nobody will post take what their sender was granted."""
    net = network(2, early_pool_packets=16, window=4)
    for i in range(1000):
        net.inject(0, data(coll_seq=1000 + i, pkt_total=1, pkt_idx=0))
    stats = net.stats(0)
    assert (stats["rx_early"], stats["rx_early_dropped"]) == (4, 996)
    full = net.memory(0)["receives"]
    for i in range(2000):
        net.inject(0, data(coll_seq=5000 + i, pkt_total=1, pkt_idx=0))
    assert net.memory(0)["receives"] == full  # what finds no room leaves no record
    receive = net.post_recv(0, 1, PACKETS * 64, coll_seq=1)
    net.post_send(1, 0, content(PACKETS * 64), coll_seq=1)
    assert net.settle(10_000_000_000)
    assert net.received(0, receive) == content(PACKETS * 64)


def test_forged_early_data_of_another_size_under_a_real_name() -> None:
    net = network(2)
    net.inject(0, data(coll_seq=1, pkt_total=3, pkt_idx=1))
    receive = net.post_recv(0, 1, PACKETS * 64, coll_seq=1)
    net.post_send(1, 0, content(PACKETS * 64), coll_seq=1)
    assert net.settle(10_000_000_000)
    assert net.received(0, receive) == content(PACKETS * 64)
    assert net.stats(0)["rx_bad_index"] == 1


@pytest.mark.parametrize("bits", [16, 32])
def test_a_clock_that_is_far_ahead_causes_no_flood(bits: int) -> None:
    """A hole, and one packet whose tx_ts lies in the future: reports stay as seldom as for any hole."""
    net = network(2, tx_ts_bits=bits, hook=lambda p: "drop")
    net.post_recv(0, 1, PACKETS * 64, coll_seq=1)
    for later in range(20):
        net.inject(0, data(pkt_idx=5, tx_ts=(1 << bits - 2) - later))
        net.run_until(net.now + 100_000_000)
    assert net.stats(0)["tx_state"] < 100


@pytest.mark.parametrize(
    "made",
    [
        data,
        parity,
        loss,
        bounced,
        state,
        partial(packet, type=PROBE, reason=9, src_rank=1, **PART),
        partial(packet, type=PROBE, reason=9, src_rank=1, control_flags=8, **PART),
    ],
    ids=["DATA", "PARITY", "LOSS", "bounced LOSS", "STATE", "PING", "PING that asks for its path"],
)
def test_any_path_id_is_one_of_the_paths(made: Callable[..., bytes]) -> None:
    """Senders have ids of their own for each of the four paths: whatever comes with 65535 does what it does
    with 3, and no index goes beyond the paths."""
    after = []
    for path_id in (3, 0xFFFF):
        net, receive = begun()
        net.inject(0, made(path_id=path_id))
        net.post_recv(1, 0, PACKETS * 64, coll_seq=2)
        assert net.settle(10_000_000_000)
        assert net.stats(0)["rx_bad_index"] == 0
        after.append([net.received(0, receive), *((net.stats(r), net.path_stats(r)) for r in (0, 1))])
    assert after[0] == after[1]


@pytest.mark.parametrize("path_id", [3, 7, 0xFFFF], ids=hex)
def test_more_marks_than_a_report_can_tell(path_id: int) -> None:
    """One packet again and again, marked: as many marks as the wire's counter has numbers before any is told
    of. The rank goes on, and its peer learns of every mark, of the path that path_id is modulo the paths."""
    net = network(2, hook=lambda p: "drop" if p.src == 0 else None)
    marked = data(coll_seq=99, pkt_total=1, pkt_idx=0, path_id=path_id, tos=3)
    for _ in range(1 << 16):
        net.inject(0, marked)
    net.set_hook(None)
    for coll_seq in range(1, 4):
        transfer(net, content(PACKETS * 64), src=1, dst=0, coll_seq=coll_seq)
    assert net.path_stats(0)["rx_path_ecn"] == net.path_stats(1)["tx_path_ecn"] == [0, 0, 0, 1 << 16]


def test_a_report_names_a_packet_of_the_message_that_was_posted() -> None:
    """What came before the post was of a larger message, and reached further than this one has packets."""
    reports: list[tuple[int, int]] = []

    def hook(p: Any) -> str | None:
        if p.type == STATE:
            reports.append((p.pkt_idx, p.pkt_total))
        return "drop" if p.type == DATA and p.pkt_idx in (1, 2) else None

    net = network(2, hook=hook)
    net.post_send(0, 1, content(20 * 64), coll_seq=1)
    net.run_until(MS)
    reports.clear()
    net.post_recv(1, 0, 3 * 64, coll_seq=1)
    net.run_until(3 * S)
    assert reports and all(index < total == 3 for index, total in reports)

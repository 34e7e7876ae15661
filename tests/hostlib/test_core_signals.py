"""Every way in which a switch tells of a loss: to receiver, sender or both; short, long, with an iCRC."""

from typing import Any

import csaud_testnet
import pytest
from csaud import _core

from tests.hostlib.core_support import (
    DATA,
    LOSS,
    MS,
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
SIGNALS = ("trim", "bounce", "both")
FORMS = {
    "headers": {},
    "longer": {"signal_kept": 96},
    "odd": {"signal_kept": 83},
    "all but the iCRC": {"signal_kept": 9000},
    "with an iCRC": {"signal_icrc": True},
}
LOST = (0, 3, 4, 17, PACKETS - 1)


def learned(net: Any) -> dict[str, int]:
    names = ("rx_loss_notices", "rx_loss_trimmed", "rx_loss_bounced", "rx_loss_repeats")
    return {name: total(net, name) for name in names}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signal", SIGNALS)
def test_each_copy_is_resent_once_and_the_books_say_who_learned_of_it(signal: str, form: str) -> None:
    hook = Drop(first_copy(*LOST), verdict="trim")
    net = network(link={"signal": signal, **FORMS[form]}, hook=hook, **only("loss"))
    transfer(net, MESSAGE)
    assert hook.hit == len(LOST)
    assert retransmitted(net) == {"loss": len(LOST)}
    trimmed = len(LOST) if signal != "bounce" else 0
    bounced = len(LOST) if signal != "trim" else 0
    assert learned(net) == {
        "rx_loss_notices": trimmed + bounced,
        "rx_loss_trimmed": trimmed,
        "rx_loss_bounced": bounced,
        "rx_loss_repeats": 0,
    }
    # Who learned it: the receiver of trimmed packets, the sender of bounced ones.
    assert net.stats(1)["rx_loss_trimmed"] == trimmed
    assert net.stats(0)["rx_loss_bounced"] == bounced
    assert total(net, "rx_duplicates") == 0
    assert net.unbalanced() == ""


def test_a_probe_is_not_answered_with_what_would_resend_notices_that_are_held() -> None:
    """Of a flood of LOSS notices the receiver passes on a few, others as DATA arrives. A PROBE meanwhile must
    not have the sender take for lost, from what is missing, all that those are of; afterwards it must."""
    probed = 4  # reason of a STATE
    answers: list[int] = []

    def hook(p: Any) -> str | None:
        if p.reason == probed:
            answers.append(p.control_flags & 0x03)  # SEEN and ECHO
        if p.type == DATA and p.attempt == 0 and p.pkt_idx > 1:
            return "trim"
        return "drop" if p.type == DATA and p.attempt > 0 and p.now < 2 * MS else None

    net = network(link={"signal": "trim"}, hook=hook, window=128, **only("loss", "probe"))
    transfer(net, content(60 * 64))
    assert answers == [0, 0, 0x03]
    assert retransmitted(net)["loss"] == 58
    assert net.unbalanced() == ""


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_resent_copy_takes_another_path(signal: str) -> None:
    hook = Drop(first_copy(*LOST), verdict="trim")
    net = network(link={"signal": signal}, hook=hook, **only("loss"))
    transfer(net, MESSAGE)
    for index in LOST:
        first, second = [path for kind, at, _, path in hook.seen if kind == DATA and at == index]
        assert first != second
    assert sum(net.path_stats(0)["tx_path_lost"]) == len(LOST)


def test_a_bounced_packet_is_back_sooner_than_the_receivers_report() -> None:
    """The second copy leaves as soon as the LOSS is back: no receiver has to report anything."""
    left: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.pkt_idx != 3:
            return None
        left.append(p.now)
        return "trim" if p.attempt == 0 else None

    net = network(link={"signal": "bounce"}, hook=hook)
    transfer(net, MESSAGE)
    assert left[1] - left[0] <= 50_000 + 1_000  # the network's 50 us one way, from cut to sender


@pytest.mark.parametrize("order", ["bounce first", "report first"])
def test_both_reports_of_a_copy_cause_one_retransmission(order: str) -> None:
    net = network(link={"signal": "both"}, hook=None, **only("loss"))
    cut = Drop(first_copy(7), verdict="trim")

    def hook(p: Any) -> Any:
        if (verdict := cut(p)) is not None:
            return verdict
        # The receiver's STATE, held up until long after the bounced LOSS has been acted upon.
        if order == "bounce first" and p.type == 2 and p.reason == 1:
            return ("delay", 5 * MS)
        return None

    net.set_hook(hook)
    transfer(net, MESSAGE)
    assert retransmitted(net) == {"loss": 1}
    assert net.unbalanced() == ""


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_copy_cut_again_and_again(signal: str) -> None:
    """The second retransmission asks not to be cut, and the network keeps to it."""
    hook = Drop(lambda p: p.type == DATA and p.pkt_idx in LOST, verdict="trim")
    net = network(link={"signal": signal}, hook=hook, **only("loss"))
    transfer(net, MESSAGE)
    assert retransmitted(net) == {"loss": 2 * len(LOST)}
    assert net.unbalanced() == ""


def test_who_asks_not_to_be_cut() -> None:
    """Control packets and what was lost twice; new data and its first retransmission do not."""
    seen: dict[tuple[bool, int], set[bool]] = {}

    def hook(p: Any) -> str | None:
        seen.setdefault((p.type == DATA, min(p.attempt, 3)), set()).add(bool(p.flags & 0x08))
        return "drop" if p.type == DATA and p.pkt_idx == 5 and p.attempt < 3 else None

    transfer(network(hook=hook), MESSAGE)
    assert seen[True, 0] == seen[True, 1] == {False}
    assert seen[True, 2] == seen[True, 3] == {True}
    assert seen[False, 0] == {True}


@pytest.mark.parametrize("icrc", [False, True])
def test_a_repeated_bounce_does_nothing(icrc: bool) -> None:
    hook = Drop(first_copy(9), verdict="trim")
    net = network(link={"signal": "bounce", "signal_icrc": icrc}, hook=hook, **only("loss"))
    receive = net.post_recv(1, 0, len(MESSAGE), coll_seq=1)
    net.post_send(0, 1, MESSAGE, coll_seq=1)
    fields = _core.wire.decode_any(net.last_packet(0, DATA))[1]
    copy = _core.wire.encode({**fields, "pkt_idx": 9, "payload": bytes(64)})
    again = csaud_testnet.cut(copy, "bounce", icrc=icrc)
    net.run_until(60_000)
    for _ in range(5):
        net.inject(0, again)
    assert net.settle(10_000 * MS)
    assert net.received(1, receive) == MESSAGE
    assert retransmitted(net) == {"loss": 1}
    assert (net.stats(0)["rx_loss_bounced"], net.stats(0)["rx_loss_repeats"]) == (1, 5)


@pytest.mark.parametrize("signal", ["trim", "bounce"])
@pytest.mark.parametrize("icrc", [False, True])
def test_what_a_switch_makes_is_read_back(signal: str, icrc: bool) -> None:
    route = {
        "src_ipv4": 1,
        "dst_ipv4": 2,
        "src_qpn": 3,
        "dst_qpn": 4,
        "qkey": 5,
        "dst_port": 4791,
        "ip_id": 6,
    }
    name = {
        "coll_seq": 7,
        "src_rank": 1,
        "pkt_idx": 2,
        "pkt_total": 3,
        "attempt": 4,
        "path_id": 5,
        "path_seq": 6,
    }
    data = _core.wire.encode({**route, **name, "type": DATA, "payload": bytes(61)})
    loss = csaud_testnet.cut(data, signal, icrc=icrc)
    ends = (1, 2, 3, 4) if signal == "trim" else (2, 1, 4, 3)
    fault, fields = _core.wire.decode(loss, ends[3], 5)
    assert fault == "none"
    assert tuple(fields[key] for key in ("src_ipv4", "dst_ipv4", "src_qpn", "dst_qpn")) == ends
    assert {
        **name,
        "type": LOSS,
        "flags": 0x20,
        "dst_port": 4791 if icrc else 49791,
    }.items() <= fields.items()
    assert len(loss) == (84 if icrc else 80)


def test_marks_are_counted_by_path_and_told_to_the_sender() -> None:
    """Three paths of four are marked; the sender hears of every mark, path by path."""
    marked = [0, 0, 0, 0]

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.path_id == 2 or p.pkt_idx % 3:
            return None
        marked[p.path_id] += 1
        return "mark"

    net = network(hook=hook, window=8)
    for coll_seq in range(1, 6):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    told = sum(marked)
    net.set_hook(None)
    for coll_seq in range(6, 9):  # whose control packets tell what was left
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert net.path_stats(1)["rx_path_ecn"] == marked
    assert net.path_stats(0)["tx_path_ecn"] == marked
    assert (net.stats(1)["rx_ecn"], net.stats(0)["rx_ecn_echoes"]) == (told, told)
    assert retransmitted(net) == {}
    assert net.unbalanced() == ""


def test_lost_and_late_echoes_heal() -> None:
    """The counts are cumulative: control packets lost, doubled and out of order change nothing in the end."""
    turn = 0

    def hook(p: Any) -> Any:
        nonlocal turn
        turn += 1
        if p.type == DATA:
            return "mark" if turn % 2 else None
        return (None, "drop", ("delay", 400_000), ("duplicate", 70_000))[turn % 4]

    net = network(hook=hook, window=8)
    for coll_seq in range(1, 20):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    net.set_hook(None)
    net.set_hook(lambda p: "mark" if p.type == DATA else None)
    for coll_seq in range(20, 23):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    net.set_hook(None)
    for coll_seq in range(23, 26):
        transfer(net, MESSAGE, coll_seq=coll_seq)
    assert net.stats(1)["rx_ecn"] > 19 * PACKETS // 4
    assert net.path_stats(0)["tx_path_ecn"] == net.path_stats(1)["rx_path_ecn"]
    assert net.unbalanced() == ""


def test_data_that_is_not_ecn_capable_is_not_marked() -> None:
    net = network(hook=lambda p: "mark", ecn=False)
    transfer(net, MESSAGE)
    assert net.counts()["data_marked"] == total(net, "rx_ecn") == 0


def test_ecn_is_asked_for_by_data_alone() -> None:
    net = network(tos=0x48)
    transfer(net, MESSAGE)
    assert _core.wire.decode_any(net.last_packet(0, DATA))[1]["tos"] == 0x4A
    assert _core.wire.decode_any(net.last_packet(1, 1))[1]["tos"] == 0x48

"""What becomes of DATA for which there is no room: TRIM, BOUNCE, BOTH or DROP, by the entry of its port."""

import pytest

from tests.p4.rig.frames import (
    HEADERS,
    NO_TRIM,
    check_lengths_and_checksum,
    check_loss,
    csa_frame,
    header_of,
    is_loss,
)
from tests.p4.rig.leaf import CONTROL, DATA, HOST_PORT, LOSS, UPLINKS, Leaf

DATAGRAM = csa_frame(payload=bytes(range(201)), attempt=2, pkt_idx=4, pkt_total=9, path_id=3, ecn=1)
FORMS = pytest.mark.parametrize(("icrc", "size"), [(0, HEADERS), (1, 98)], ids=["first form", "second form"])
SIGNALS = ("trim", "bounce", "both")


def losses(leaf: Leaf, *, trimmed: int = 0, bounced: int = 0, both: int = 0) -> None:
    """What port 1 counted of its DATA that became LOSS."""
    counted = [leaf.count(f"loss_signal.{what}", 1, DATA) for what in ("trimmed", "bounced", "both")]
    assert counted == [trimmed, bounced, both]
    for counter, packets in (("path_trimmed", trimmed), ("path_bounced", bounced)):
        assert sum(leaf.buckets(f"loss_signal.{counter}", 1).values()) == packets


# --- the LOSS to the receiver, to the sender, to both


@FORMS
def test_trim_sends_the_headers_on_to_the_receiver(one: Leaf, icrc: int, size: int) -> None:
    one.congested("trim", icrc=icrc)
    [left] = one.send([DATAGRAM])
    assert left.port == 1
    packet = check_loss(left.frame, DATAGRAM, size=size)
    assert (packet.tos >> 2, packet.ttl) == (20, 63)
    losses(one, trimmed=1)
    assert one.buckets("loss_signal.path_trimmed", 1) == {3: 1}
    assert one.cell("loss_signal.trim_sent", 1) == 1
    assert one.count("telemetry.egress_kind", 1, LOSS) == 1


@FORMS
def test_bounce_returns_the_headers_to_the_sender(one: Leaf, icrc: int, size: int) -> None:
    one.congested("bounce", icrc=icrc)
    [left] = one.send([DATAGRAM])
    assert left.port == HOST_PORT
    packet = check_loss(left.frame, DATAGRAM, size=size, bounced=True)
    assert packet.tos >> 2 == 20
    losses(one, bounced=1)
    assert one.buckets("loss_signal.path_bounced", 1) == {3: 1}
    assert one.cell("loss_signal.bounce_sent", HOST_PORT) == 1
    assert one.count("telemetry.egress_kind", HOST_PORT, LOSS) == 1


@FORMS
def test_both_tells_receiver_and_sender(one: Leaf, icrc: int, size: int) -> None:
    one.congested("both", icrc=icrc)
    out = {left.port: left.frame for left in one.send([DATAGRAM], expected=2)}
    assert set(out) == {1, HOST_PORT}
    check_loss(out[1], DATAGRAM, size=size)
    packet = check_loss(out[HOST_PORT], DATAGRAM, size=size, bounced=True)
    assert (packet.tos >> 2, packet.ttl) == (20, 63)
    losses(one, trimmed=1, bounced=1, both=1)
    assert one.cell("loss_signal.trim_sent", 1) == 1
    assert one.cell("loss_signal.bounce_sent", HOST_PORT) == 1
    assert one.count("classify.ingress_kind", HOST_PORT, DATA) == 1
    assert one.count("telemetry.egress_kind", HOST_PORT, LOSS) == 1


def test_the_second_loss_of_both_is_routed_like_any_other(one: Leaf) -> None:
    one.congested("both")
    prefix = {"dst": "10.0.1.1/32"}
    one.modify("route.ipv4_lpm", prefix, "route.set_group", group=7)
    out = one.send([DATAGRAM], expected=2)
    assert [left.port for left in out] == [1, 1]
    bounced = [left.frame for left in out if left.frame[26:30] != DATAGRAM[26:30]]
    check_loss(bounced[0], DATAGRAM, bounced=True)
    assert one.cell("loss_signal.bounce_sent", 1) == 1
    assert one.direct("route.ipv4_lpm", prefix) == 1


def test_without_its_clone_session_both_is_trim(one: Leaf) -> None:
    one.clones(False)
    one.congested("both")
    [left] = one.send([DATAGRAM])
    check_loss(left.frame, DATAGRAM)


def test_drop_only_counts(one: Leaf) -> None:
    one.congested("drop")
    assert one.send([DATAGRAM], expected=0) == []
    losses(one)
    assert one.count("loss_signal.congestion_dropped", 1, DATA) == 1


def test_without_an_entry_a_port_drops(one: Leaf) -> None:
    one.limit(1, trim_at=0)
    assert one.send([DATAGRAM], expected=0) == []
    assert one.count("loss_signal.congestion_dropped", 1, DATA) == 1


def test_only_data_is_ever_cut(one: Leaf) -> None:
    one.limit(1, trim_at=0, drop_at=0)
    for signal in SIGNALS:
        one.signal(1, signal, match={"kind": f"{CONTROL}&&&3"}, rank=20)
        one.reset()
        one.limit(1, trim_at=0, drop_at=0)
    assert one.send([csa_frame(kind=2)], expected=0) == []
    assert one.count("loss_signal.congestion_dropped", 1, CONTROL) == 1


@pytest.mark.parametrize("signal", SIGNALS)
def test_parity_is_data_of_which_nobody_is_told(one: Leaf, signal: str) -> None:
    parity = csa_frame(kind=10, attempt=9, pkt_idx=1, pkt_total=9)
    one.congested(signal)
    assert one.send([parity], expected=0) == []
    losses(one)
    assert one.count("loss_signal.congestion_dropped", 1, DATA) == 1
    assert one.count("classify.ingress_kind", HOST_PORT, DATA) == 1


def test_a_loss_is_never_made_of_a_loss(one: Leaf) -> None:
    one.congested("trim")
    loss = one.one(DATAGRAM)
    one.reset()
    one.congested("both", drop_at=0)
    assert one.send([loss], expected=0) == []
    losses(one)
    assert one.count("loss_signal.congestion_dropped", 1, LOSS) == 1


# --- parameters


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(
    ("payload", "size", "kept"),
    [
        (300, 94, 94),
        (300, 0, 94),
        (300, 93, 94),
        (300, 95, 95),
        (300, 200, 200),
        (300, 394, 394),
        (300, 395, 394),
        (300, 65535, 394),
        (301, 65535, 398),
        (0, 94, 94),
        (0, 1500, 94),
        (4064, 1024, 1024),
    ],
)
def test_the_size_of_a_loss_is_kept_within_its_packet(
    one: Leaf, signal: str, payload: int, size: int, kept: int
) -> None:
    frame = csa_frame(payload=bytes(i & 0xFF for i in range(payload)))
    one.congested(signal, size=size)
    out = one.send([frame], expected=1 + (signal == "both"))
    assert len(out) == 1 + (signal == "both")
    for left in out:
        check_loss(left.frame, frame, size=kept, bounced=left.port == HOST_PORT)


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_second_form_is_always_the_headers_and_an_icrc(one: Leaf, signal: str) -> None:
    one.congested(signal, size=1000, icrc=1)
    for payload in (0, 1, 3, 40, 1500, 4064):
        frame = csa_frame(payload=bytes(payload), tx_ts=payload)
        for left in one.send([frame], expected=1 + (signal == "both")):
            check_loss(left.frame, frame, size=98, bounced=left.port == HOST_PORT)


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("dscp", [0, 20, 63])
def test_the_dscp_of_a_loss_is_the_entrys_and_ecn_is_the_senders(one: Leaf, signal: str, dscp: int) -> None:
    one.congested(signal, dscp=dscp)
    for left in one.send([DATAGRAM], expected=1 + (signal == "both")):
        assert left.frame[15] == dscp << 2 | 1


def test_a_frame_longer_than_its_packet_keeps_no_padding(one: Leaf) -> None:
    frame = csa_frame(payload=bytes(20))
    one.congested("trim", size=1000)
    check_loss(one.one(frame + bytes(30)), frame, size=len(frame) - 4)


@pytest.mark.needs("rates")
@pytest.mark.parametrize("signal", ["trim", "both"])
def test_a_loss_of_a_higher_priority_overtakes_the_data_that_waits(one: Leaf, signal: str) -> None:
    one.limit(1, trim_at=8, drop_at=100)
    one.signal(1, signal)
    one.switch.set_rate(1, 50, 242)
    frames = [csa_frame(pkt_idx=i, pkt_total=12) for i in range(12)]
    out = one.send(frames, expected=12 + (3 if signal == "both" else 0))
    kinds = [is_loss(left.frame) for left in out if left.port == 1]
    assert kinds.index(True) <= 3
    assert kinds[-1] is False


@pytest.mark.needs("virtual-time")
def test_a_loss_of_the_priority_of_data_waits_behind_it(one: Leaf) -> None:
    one.limit(1, trim_at=8, drop_at=100)
    one.signal(1, "trim", priority=0)
    one.switch.set_rate(1, 50, 242)
    out = one.send([csa_frame() for _ in range(12)])
    kinds = [is_loss(left.frame) for left in out]
    assert kinds == sorted(kinds)


# --- which entry


def test_entries_are_by_port(leaf: Leaf) -> None:
    leaf.spray("host_directed")
    for port in UPLINKS:
        leaf.limit(port, trim_at=0, drop_at=100)
    leaf.signal(1, "trim", dscp=1)
    leaf.signal(2, "trim", dscp=2, icrc=1)
    leaf.signal(3, "bounce", dscp=3)
    frames = [csa_frame(path_id=i) for i in range(4)]
    out = {(left.port, left.frame[15] >> 2, len(left.frame)) for left in leaf.send(frames, expected=3)}
    assert out == {(1, 1, 94), (2, 2, 98), (HOST_PORT, 3, 94)}
    assert leaf.count("loss_signal.congestion_dropped", 4, DATA) == 1


def test_entries_are_by_class_and_by_the_wish_not_to_be_trimmed(one: Leaf) -> None:
    one.limit(1, trim_at=0, no_trim_at=0)
    one.signal(1, "trim", dscp=1, rank=1)
    one.signal(1, "trim", dscp=2, match={"cls": "1&&&7"}, rank=2)
    one.signal(1, "bounce", dscp=3, match={"no_trim": "1&&&1"}, rank=3)
    one.signal(1, "drop", match={"no_trim": "1&&&1", "cls": "4&&&4"}, rank=4)
    frames = [
        csa_frame(),
        csa_frame(criticality=1),
        csa_frame(flags=NO_TRIM),
        csa_frame(flags=NO_TRIM, criticality=5),
    ]
    out = one.send(frames, expected=3)
    assert {(left.port, left.frame[15] >> 2) for left in out} == {(1, 1), (1, 2), (HOST_PORT, 3)}
    assert one.count("loss_signal.congestion_dropped", 1, DATA) == 1
    assert one.direct("loss_signal.signal", {"port": 1, "cls": "1&&&7"}, 2) == 1


# --- room for what was made


def test_a_loss_to_the_receiver_without_room_is_counted_and_dropped(one: Leaf) -> None:
    one.congested("trim", drop_at=0)
    assert one.send([DATAGRAM], expected=0) == []
    losses(one, trimmed=1)
    assert (one.cell("loss_signal.trim_sent", 1), one.cell("loss_signal.trim_dropped", 1)) == (0, 1)
    assert one.count("loss_signal.congestion_dropped", 1, DATA) == 0


def test_a_loss_to_the_sender_without_room_is_counted_and_dropped(one: Leaf) -> None:
    one.congested("bounce", drop_at=0)
    one.insert(
        "loss_signal.return_limits",
        {"port": HOST_PORT},
        "loss_signal.set_return_limits",
        trim_at=0,
        drop_at=0,
        alarm_at=9,
        loss_byte_time=0,
    )
    assert one.send([DATAGRAM], expected=0) == []
    losses(one, bounced=1)
    assert (one.cell("loss_signal.bounce_sent", 5), one.cell("loss_signal.bounce_dropped", 5)) == (0, 1)
    assert one.direct("loss_signal.return_limits", {"port": HOST_PORT}) == 1


def test_each_loss_of_both_needs_room_where_it_goes(one: Leaf) -> None:
    one.congested("both", drop_at=0)
    [left] = one.send([DATAGRAM])
    check_loss(left.frame, DATAGRAM, bounced=True)
    one.limit(HOST_PORT, trim_at=0, drop_at=0)
    assert one.send([DATAGRAM], expected=0) == []
    losses(one, trimmed=2, bounced=2, both=2)
    assert (one.cell("loss_signal.trim_sent", 1), one.cell("loss_signal.trim_dropped", 1)) == (0, 2)
    assert (one.cell("loss_signal.bounce_sent", 5), one.cell("loss_signal.bounce_dropped", 5)) == (1, 1)
    assert one.count("loss_signal.congestion_dropped", HOST_PORT, LOSS) == 0


@pytest.mark.needs("registers")
@pytest.mark.parametrize("signal", SIGNALS)
def test_the_shadows_are_empty_when_all_is_sent(one: Leaf, signal: str) -> None:
    one.congested(signal)
    one.send([csa_frame(pkt_idx=i, pkt_total=40) for i in range(40)], expected=40 * (1 + (signal == "both")))
    assert [one.switch.register_read("occupancy", port) for port in (1, HOST_PORT, 127)] == [0, 0, 0]


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("icrc", [0, 1])
def test_a_signalled_fault_is_told_like_congestion(one: Leaf, signal: str, icrc: int) -> None:
    one.lose(1, 0.5, signalled=True)
    one.signal(1, signal, icrc=icrc)
    frames = [csa_frame(pkt_idx=i, pkt_total=100) for i in range(100)]
    out = one.send(frames, expected=100)
    lost = {header_of(left.frame).pkt_idx for left in out if is_loss(left.frame)}
    passed = {header_of(left.frame).pkt_idx for left in out if not is_loss(left.frame)}
    assert lost | passed == set(range(100)) and not lost & passed
    assert len(out) == 100 + (len(lost) if signal == "both" else 0)
    for left in out:
        check_lengths_and_checksum(left.frame)
    counts = {"trimmed": signal != "bounce", "bounced": signal != "trim", "both": signal == "both"}
    losses(one, **{what: len(lost) * counted for what, counted in counts.items()})
    assert len(lost) > 20
    assert one.count("fault.injected", 1, DATA) == 0


# --- further on its way


@FORMS
def test_a_loss_that_another_switch_made_is_forwarded_as_one(one: Leaf, icrc: int, size: int) -> None:
    one.congested("trim", icrc=icrc, size=120)
    loss = one.one(DATAGRAM)
    one.reset()
    packet = check_lengths_and_checksum(one.one(loss))
    assert packet.ttl == 62
    assert one.count("classify.ingress_kind", HOST_PORT, LOSS) == 1
    assert one.count("telemetry.egress_kind", 1, LOSS) == 1


@FORMS
def test_a_bounced_loss_finds_its_way_back_through_other_switches(one: Leaf, icrc: int, size: int) -> None:
    one.congested("bounce", icrc=icrc)
    loss = one.one(DATAGRAM)
    one.reset()
    [left] = one.send([loss], port=1)
    assert left.port == HOST_PORT
    check_loss(left.frame, DATAGRAM, size=size, bounced=True)

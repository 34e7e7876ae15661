"""Whether there is room: the limits of a port, the occupancy shadow that they are about, and the alarm."""

import itertools

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from tests.p4.rig.frames import (
    DESTINATION,
    NO_TRIM,
    SOURCE,
    TRIMMED,
    arp_request,
    csa_frame,
    header_of,
    is_loss,
)
from tests.p4.rig.leaf import CONTROL, DATA, HOST_PORT, LOSS, OTHER, Leaf

RATE = 50
"""Frames a second; whatever a test sends comes faster."""


def burst(count: int, **header: int) -> list[bytes]:
    return [csa_frame(pkt_idx=i, pkt_total=count, **header) for i in range(count)]


@pytest.mark.needs("rates")
def test_only_data_above_the_threshold_is_trimmed_and_nothing_is_lost_silently(one: Leaf) -> None:
    one.limit(1, trim_at=8, drop_at=100)
    one.signal(1, "trim")
    one.switch.set_rate(1, RATE, 242)
    out = one.send(burst(50))
    lost = [is_loss(left.frame) for left in out]
    assert sorted(header_of(left.frame).pkt_idx for left in out) == list(range(50))
    assert one.count("loss_signal.trimmed", 1, DATA) == lost.count(True)
    assert 8 <= lost.count(False) <= 11  # some leave before the queue fills


@pytest.mark.needs("registers")
def test_the_shadow_is_empty_when_the_queue_is(one: Leaf) -> None:
    one.congested("trim")
    one.send([csa_frame(kind=i % 3) for i in range(60)])
    assert one.switch.register_read("occupancy", 1) == 0


@pytest.mark.needs("registers")
def test_a_limit_is_the_first_depth_that_is_refused(one: Leaf) -> None:
    one.limit(1, trim_at=10, no_trim_at=20, drop_at=30)
    one.signal(1, "trim")
    for kind, flags, limit in ((0, 0, 10), (0, NO_TRIM, 20), (2, 0, 30), (2, NO_TRIM, 30)):
        for depth in (limit - 1, limit):
            one.set_depth(1, depth)
            out = one.send([csa_frame(kind=kind, flags=flags)], expected=depth < limit or kind == 0)
            whole = [left for left in out if not is_loss(left.frame)]
            assert len(whole) == (depth < limit), (kind, flags, depth)


@pytest.mark.needs("registers")
def test_other_traffic_has_room_of_its_own_up_to_other_at(one: Leaf) -> None:
    one.limit(1, trim_at=0, no_trim_at=0, other_at=20, drop_at=30)
    one.set_depth(1, 10)
    for depth in (19, 20):
        one.set_depth(1, depth, other=True)
        assert len(one.send([arp_request()], expected=20 - depth)) == 20 - depth, depth
    one.set_depth(1, 11)
    one.set_depth(1, 19, other=True)
    assert one.send([arp_request()], expected=0) == [], "drop_at is of all that waits"
    assert one.count("loss_signal.congestion_dropped", 1, OTHER) == 2


@pytest.mark.needs("registers")
def test_other_traffic_does_not_take_the_room_of_data(one: Leaf) -> None:
    one.limit(1, trim_at=10, no_trim_at=10, other_at=20, drop_at=40)
    one.signal(1, "trim")
    one.set_depth(1, 9)
    one.set_depth(1, 20, other=True)
    [left] = one.send([csa_frame()])
    assert not is_loss(left.frame)


@pytest.mark.needs("virtual-time")
@pytest.mark.parametrize("first", [DATA, OTHER])
def test_a_flow_that_fills_its_room_leaves_data_half_of_the_link(one: Leaf, first: int) -> None:
    """Each offers as much as the link carries and does not slow down, as the worst of TCP flows would."""
    other = bytes(Ether() / IP(src=SOURCE, dst=DESTINATION) / TCP(sport=5, dport=80) / bytes(4202 - 54))
    data = csa_frame(payload=bytes(4200 - 98))
    assert len(other) == len(data)
    rate = 1000
    one.switch.set_rate(1, rate, len(data))
    one.limit(1, trim_at=64, no_trim_at=152, other_at=64, drop_at=240)
    one.signal(1, "trim")
    pair = [data, other] if first == DATA else [other, data]
    out = one.send(pair * (3 * rate), gap_ns=500_000_000 // rate, expected=None)
    carried = [left.frame for left in out if not is_loss(left.frame)]
    share = sum(frame[23] == 17 for frame in carried) / len(carried)
    assert 0.4 < share < 0.6, share


# --- LOSS and its share of the link

BYTE_TIME = 5000 << 16
"""Five milliseconds a byte: a LOSS takes half a second, more than a test needs to send it."""
A_LOSS = csa_frame(kind=3, flags=TRIMMED, payload=b"")
BURST = 8192 // len(A_LOSS) + 1
"""LOSS that come at once and are within the share."""


@pytest.mark.needs("registers")
def test_loss_beyond_its_share_has_the_limit_of_data(one: Leaf) -> None:
    """Hosts send no LOSS; here it stands for what comes from another switch."""
    one.limit(1, trim_at=10, no_trim_at=10, drop_at=40, loss_byte_time=BYTE_TIME)
    one.set_depth(1, 15)
    frames = [A_LOSS] * (BURST + 40)
    out = one.send(frames, expected=BURST)
    assert BURST <= len(out) <= BURST + 2, "in real time some of it comes later"
    assert one.count("loss_signal.congestion_dropped", 1, LOSS) == len(frames) - len(out)
    one.set_depth(1, 0)
    assert len(one.send(frames[:5])) == 5, "room for DATA is room for these"


@pytest.mark.needs("registers")
@pytest.mark.parametrize("made_here", [True, False], ids=["made here", "passing"])
def test_loss_for_which_there_is_no_room_takes_nothing_of_the_share(one: Leaf, made_here: bool) -> None:
    one.limit(1, trim_at=0, drop_at=200, loss_byte_time=BYTE_TIME)
    one.signal(1, "trim")
    frames = [csa_frame() if made_here else A_LOSS] * (BURST // 2)
    one.set_depth(1, 200)
    assert one.send(frames * 3, expected=0) == []
    one.set_depth(1, 0)
    assert len(one.send(frames)) == len(frames)


@pytest.mark.needs("virtual-time")
@pytest.mark.parametrize("signal", ["bounce", "both"])
def test_loss_to_senders_within_its_share_is_not_held_to_the_limit_of_data(one: Leaf, signal: str) -> None:
    one.limit(1, trim_at=0, drop_at=100)
    back = {"trim_at": 0, "drop_at": 100, "loss_byte_time": 100 << 16}  # 10 ms a LOSS
    one.limit(HOST_PORT, **back)
    one.insert(
        "loss_signal.return_limits",
        {"port": HOST_PORT},
        "loss_signal.set_return_limits",
        alarm_at=0xFFFF,
        **back,
    )
    one.signal(1, signal)
    frames = [csa_frame(pkt_idx=index, pkt_total=300, payload=bytes(4000)) for index in range(300)]
    out = one.send(frames, gap_ns=20_000_000, expected=None)
    assert sum(left.port == HOST_PORT for left in out) == 300
    assert one.cell("loss_signal.bounce_dropped", HOST_PORT) == 0


@pytest.mark.needs("virtual-time")
def test_an_incast_leaves_data_its_part_of_the_link(one: Leaf) -> None:
    """A hundred times what the link carries: its headers alone are more than the link."""
    frame = csa_frame(payload=bytes(4000))
    rate = 1000
    one.switch.set_rate(1, rate, len(frame))
    bits = rate * len(frame) * 8
    one.limit(1, trim_at=64, no_trim_at=64, drop_at=240, loss_byte_time=round(8e6 * (1 << 16) / (bits * 0.5)))
    one.signal(1, "trim")
    seconds = 1
    out = one.send([frame] * (100 * rate * seconds), gap_ns=10_000_000 // rate, expected=None)
    data = sum(len(left.frame) for left in out if not is_loss(left.frame))
    told = sum(len(left.frame) for left in out if is_loss(left.frame))
    assert data / (data + told) > 0.45
    assert told / (data + told) > 0.45, "and LOSS has the rest"
    assert one.cell("loss_signal.trim_dropped", 1) > 0


def test_control_has_room_where_data_has_none(one: Leaf) -> None:
    one.congested("trim")
    assert header_of(one.one(csa_frame(kind=2))).kind == 2
    assert not is_loss(one.one(arp_request()))


def test_no_trim_has_headroom_of_its_own(one: Leaf) -> None:
    one.limit(1, trim_at=0, no_trim_at=50)
    one.signal(1, "trim")
    assert not is_loss(one.one(csa_frame(flags=NO_TRIM)))
    assert is_loss(one.one(csa_frame()))


def test_no_trim_is_a_wish_that_a_port_may_refuse(one: Leaf) -> None:
    one.limit(1, trim_at=0, no_trim_at=0)
    one.signal(1, "trim")
    assert is_loss(one.one(csa_frame(flags=NO_TRIM)))


def test_limits_are_by_port_and_without_them_there_are_none(leaf: Leaf) -> None:
    leaf.spray("host_directed")
    leaf.congested("trim", ports=(2,))
    out = {left.port: is_loss(left.frame) for left in leaf.send([csa_frame(path_id=i) for i in range(4)])}
    assert out == {1: False, 2: True, 3: False, 4: False}
    assert leaf.direct("congestion.limits", {"port": 2}) == 1


@pytest.mark.parametrize(
    ("frame", "kind"),
    [(csa_frame(kind=2), CONTROL), (arp_request(), OTHER)],
    ids=["control", "other"],
)
def test_what_cannot_be_cut_is_dropped_at_drop_at_and_counted(one: Leaf, frame: bytes, kind: int) -> None:
    one.congested("trim", drop_at=0)
    assert one.send([frame], expected=0) == []
    assert one.count("loss_signal.congestion_dropped", 1, kind) == 1


# --- the overflow alarm

SECOND_NS = 1_000_000_000


def test_below_alarm_at_there_is_no_alarm(one: Leaf) -> None:
    one.limit(1, alarm_at=1000)
    one.subscribe()
    one.insert("congestion.alarm", {"port": 1}, "congestion.report", interval_us=0)
    one.send(burst(5))
    assert one.buckets("congestion.overflow", 1) == {}
    assert one.alarms(0) == []


def test_what_is_admitted_at_alarm_at_is_counted_by_path(one: Leaf) -> None:
    one.limit(1, alarm_at=0)
    one.send([csa_frame(path_id=i) for i in (1, 1, 2, 17, 31)])
    assert one.buckets("congestion.overflow", 1) == {1: 3, 2: 1, 15: 1}
    one.send([csa_frame(kind=2, path_id=4), arp_request()])
    assert one.buckets("congestion.overflow", 1) == {0: 1, 1: 3, 2: 1, 4: 1, 15: 1}


@pytest.mark.needs("registers")
def test_alarm_at_is_a_depth_of_the_shadow(one: Leaf) -> None:
    one.limit(1, alarm_at=100)
    for depth, alarms in ((99, 0), (100, 1), (5000, 2)):
        one.set_depth(1, depth)
        one.send([csa_frame()])
        assert sum(one.buckets("congestion.overflow", 1).values()) == alarms


def test_what_is_refused_raises_no_alarm(one: Leaf) -> None:
    one.limit(1, trim_at=0, drop_at=0, alarm_at=0)
    one.signal(1, "trim")
    one.send(burst(3), expected=0)
    assert one.buckets("congestion.overflow", 1) == {}


@pytest.mark.parametrize(("signal", "ports"), [("trim", (1,)), ("bounce", (5,)), ("both", (1, 5))])
def test_loss_made_here_raises_the_alarm_of_the_port_that_it_leaves_by(
    one: Leaf, signal: str, ports: tuple[int, ...]
) -> None:
    back = {"trim_at": 50, "drop_at": 100, "alarm_at": 0, "loss_byte_time": 0}
    one.limit(1, trim_at=0, drop_at=100, alarm_at=0)
    one.limit(HOST_PORT, trim_at=50, drop_at=100, alarm_at=0)
    one.insert("loss_signal.return_limits", {"port": HOST_PORT}, "loss_signal.set_return_limits", **back)
    for port in (1, HOST_PORT):
        one.insert("congestion.alarm", {"port": port}, "congestion.report", interval_us=0)
    one.signal(1, signal)
    one.subscribe()
    out = one.send([csa_frame(path_id=6)], expected=len(ports))
    assert sorted(left.port for left in out) == [*ports]
    for port in (1, HOST_PORT):
        assert one.buckets("congestion.overflow", port) == ({6: 1} if port in ports else {}), port
    told = [(alarm.port, alarm.path_id, alarm.kind) for alarm in one.alarms(len(ports))]
    assert sorted(told) == [(port, 6, LOSS) for port in ports]


def test_the_controller_is_told_of_an_alarm(one: Leaf) -> None:
    one.limit(1, alarm_at=0)
    one.insert("congestion.alarm", {"port": 1}, "congestion.report", interval_us=10_000_000)
    one.subscribe()
    one.send([csa_frame(path_id=77)])
    [alarm] = one.alarms(1)
    assert (alarm.port, alarm.depth, alarm.path_id, alarm.kind) == (1, 0, 77, DATA)
    assert one.direct("congestion.alarm", {"port": 1}) == 1


def test_alarms_are_told_once_in_an_interval_and_counted_always(one: Leaf) -> None:
    one.limit(1, alarm_at=0)
    one.insert("congestion.alarm", {"port": 1}, "congestion.report", interval_us=600_000)
    one.subscribe()
    one.send(burst(10))
    assert len(one.alarms(1)) == 1
    one.switch.wait(SECOND_NS)
    one.send(burst(10))
    assert len(one.alarms(1)) == 1
    assert sum(one.buckets("congestion.overflow", 1).values()) == 20


@pytest.mark.needs("virtual-time")
def test_the_interval_is_exact_and_begins_with_the_alarm(one: Leaf) -> None:
    one.limit(1, alarm_at=0)
    one.insert("congestion.alarm", {"port": 1}, "congestion.report", interval_us=100)
    one.subscribe()
    one.send(burst(1000), gap_ns=7_000)
    times = [alarm.at_us for alarm in one.alarms(1)]
    assert {b - a for a, b in itertools.pairwise(times)} == {105}


def test_ports_have_intervals_of_their_own(leaf: Leaf) -> None:
    leaf.spray("round_robin")
    leaf.subscribe()
    for port in (1, 2, 3):
        leaf.limit(port, alarm_at=0)
        leaf.insert("congestion.alarm", {"port": port}, "congestion.report", interval_us=10_000_000)
    leaf.send(burst(12))
    assert sorted(alarm.port for alarm in leaf.alarms(3)) == [1, 2, 3]


def test_without_an_entry_an_alarm_is_only_counted(one: Leaf) -> None:
    one.limit(1, alarm_at=0)
    one.subscribe()
    one.send(burst(3))
    assert one.alarms(0) == []
    assert sum(one.buckets("congestion.overflow", 1).values()) == 3


@pytest.mark.needs("rates")
def test_the_targets_own_queue_raises_the_alarm_in_egress(one: Leaf) -> None:
    one.limit(1, alarm_at=6)
    one.switch.set_rate(1, RATE, 242)
    one.send(burst(20, path_id=9))
    counted = one.buckets("departure.overflow_egress", 1)
    assert set(counted) == {9}
    assert 10 <= counted[9] <= 14


@pytest.mark.needs("rates")
def test_a_queue_below_alarm_at_raises_none_in_egress(one: Leaf) -> None:
    one.limit(1, alarm_at=50)
    one.switch.set_rate(1, RATE, 242)
    one.send(burst(20))
    assert one.buckets("departure.overflow_egress", 1) == {}


# --- what came in, left or was counted


@pytest.mark.needs("rates")
@pytest.mark.parametrize("signal", ["trim", "bounce", "both", "drop"])
def test_the_books_of_a_switch_balance(one: Leaf, signal: str) -> None:
    one.limit(1, trim_at=6, no_trim_at=9, drop_at=14)
    one.signal(1, signal)
    one.lose(1, 0.2)
    one.lose(1, 0.2, kind=CONTROL)
    one.switch.set_rate(1, 60, 242)
    frames = [
        csa_frame(kind=i % 3, flags=NO_TRIM if i % 7 == 0 else 0, pkt_idx=i, pkt_total=300)
        for i in range(300)
    ]
    one.send(frames, gap_ns=700_000, expected=None)

    def total(counter: str, kind: int) -> int:
        return sum(one.count(counter, port, kind) for port in (1, HOST_PORT))

    for kind in (DATA, CONTROL, LOSS):
        came, left = total("classify.ingress_kind", kind), total("telemetry.egress_kind", kind)
        gone = total("fault.injected", kind) + total("loss_signal.congestion_dropped", kind)
        gone += one.cell("spray.no_path", kind)
        if kind == DATA:
            cut = total("loss_signal.trimmed", DATA) + total("loss_signal.bounced", DATA)
            assert came == left + gone + cut - total("loss_signal.both", DATA)
        elif kind == CONTROL:
            assert came == left + gone
        else:
            made = total("loss_signal.trimmed", DATA) + total("loss_signal.bounced", DATA)
            without_room = [
                one.cell(f"loss_signal.{what}_dropped", port)
                for what in ("trim", "bounce")
                for port in (1, HOST_PORT)
            ]
            assert came + made == left + gone + sum(without_room)
            assert (made > 0) == (signal != "drop")
    for made, taken in (("trimmed", "trim"), ("bounced", "bounce")):
        queued = sum(
            one.cell(f"loss_signal.{taken}_{end}", port) for end in ("sent", "dropped") for port in (1, 5)
        )
        assert total(f"loss_signal.{made}", DATA) == queued

"""Losses: injected, by congestion, silent and signalled; and that none goes uncounted."""

import pytest
from scapy.layers.inet import IP, UDP

from tests.p4.switch import CONTROL, DATA, HOST_PORT, LOSS, Leaf, csa_frame
from tests.support.roce import CsaHeader

ONE = (1,)
PACKET_NS = 242 * 8 * 1000  # a test frame at 1 Mb/s takes 2 ms


def trimmed_leaf(trim_at: int, drop_at: int = 100, rate_bps: int = 0) -> Leaf:
    leaf = Leaf(rate_bps=rate_bps, uplinks=ONE)
    leaf.limit(1, trim_at, drop_at)
    leaf.trim(1, dscp=20)
    return leaf


def test_a_trimmed_packet_is_the_headers_alone() -> None:
    frame = csa_frame(payload=bytes(201), attempt=2, pkt_idx=4, pkt_total=9, path_id=3)
    [(_, out)] = trimmed_leaf(trim_at=0).send([frame])
    assert len(out) == 94
    ip = IP(out[14:])
    assert (ip.len, ip.tos >> 2, ip[UDP].len, ip[UDP].dport, ip[UDP].chksum) == (80, 20, 60, 49791, 0)
    stated = ip.chksum
    del ip.chksum
    assert IP(bytes(ip)).chksum == stated
    assert out[43] & 0x30 == 0  # PadCnt
    header = CsaHeader.unpack(out[62:])
    assert header == CsaHeader(kind=3, flags=0x20, attempt=2, pkt_idx=4, pkt_total=9, path_id=3)


def test_only_data_above_the_threshold_is_trimmed_and_nothing_is_lost_silently() -> None:
    leaf = trimmed_leaf(trim_at=8, rate_bps=1_000_000)
    out = leaf.send([csa_frame(pkt_idx=i, pkt_total=50) for i in range(50)])
    kinds = [CsaHeader.unpack(frame[62:]).kind for _, frame in out]
    assert sorted(CsaHeader.unpack(frame[62:]).pkt_idx for _, frame in out) == list(range(50))
    assert leaf.count("loss_signal.trimmed", 1, DATA) == kinds.count(3) == 50 - kinds.count(0)
    assert 8 <= kinds.count(0) <= 10  # the first is on the wire before the queue fills
    assert leaf.switch.port_stats()[1]["queue_full"] == 0


def test_a_loss_overtakes_the_data_that_waits() -> None:
    out = trimmed_leaf(trim_at=8, rate_bps=1_000_000).send([csa_frame() for _ in range(12)])
    kinds = [CsaHeader.unpack(frame[62:]).kind for _, frame in out]
    assert kinds.index(3) <= 2


def test_the_shadow_is_empty_when_the_queue_is() -> None:
    leaf = trimmed_leaf(trim_at=8, rate_bps=1_000_000)
    leaf.send([csa_frame(kind=i % 3) for i in range(60)])
    assert leaf.switch.register_read("occupancy", 1) == 0
    assert len(leaf.send([csa_frame()])[0][1]) > 94


def test_control_has_room_where_data_has_none() -> None:
    leaf = trimmed_leaf(trim_at=0)
    [(_, out)] = leaf.send([csa_frame(kind=2)])
    assert CsaHeader.unpack(out[62:]).kind == 2


def test_no_trim_has_headroom_and_is_cut_only_above_it() -> None:
    leaf = trimmed_leaf(trim_at=0, drop_at=4, rate_bps=1_000_000)
    out = leaf.send([csa_frame(flags=0x08) for _ in range(20)])
    kinds = [CsaHeader.unpack(frame[62:]).kind for _, frame in out]
    assert 4 <= kinds.count(0) <= 6
    assert len(kinds) == 20


def test_without_a_signal_congestion_drops_and_counts() -> None:
    leaf = Leaf(rate_bps=1_000_000, uplinks=ONE)
    leaf.limit(1, 8, 100)
    out = leaf.send([csa_frame() for _ in range(50)])
    assert leaf.count("loss_signal.congestion_dropped", 1, DATA) == 50 - len(out) > 0


@pytest.mark.parametrize("probability", [0.01, 0.05, 0.5])
def test_injected_loss_has_the_probability_asked_for(probability: float) -> None:
    leaf = Leaf(uplinks=ONE)
    leaf.lose(1, probability)
    n = 4000
    lost = n - len(leaf.send([csa_frame() for _ in range(n)]))
    assert leaf.count("fault.injected", 1, DATA) == lost
    deviation = (n * probability * (1 - probability)) ** 0.5
    assert abs(lost - n * probability) < 4 * deviation, lost


def test_injected_loss_repeats_with_its_seed() -> None:
    def survivors(seed: int) -> list[int]:
        leaf = Leaf(uplinks=ONE)
        leaf.lose(1, 0.3, seed=seed)
        out = leaf.send([csa_frame(pkt_idx=i, pkt_total=100) for i in range(100)])
        return [CsaHeader.unpack(frame[62:]).pkt_idx for _, frame in out]

    assert survivors(5) == survivors(5)
    assert survivors(5) != survivors(6)


def test_a_fault_concerns_the_kinds_it_names() -> None:
    leaf = Leaf(uplinks=ONE)
    leaf.lose(1, 1.0, kind=CONTROL)
    out = leaf.send([csa_frame(kind=0), csa_frame(kind=2)])
    assert [CsaHeader.unpack(frame[62:]).kind for _, frame in out] == [0]
    assert leaf.count("fault.injected", 1, CONTROL) == 1


def test_a_signalled_fault_is_told_like_congestion() -> None:
    leaf = Leaf(uplinks=ONE)
    leaf.lose(1, 0.5, signalled=True)
    leaf.trim(1)
    out = leaf.send([csa_frame(pkt_idx=i, pkt_total=100) for i in range(100)])
    losses = [frame for _, frame in out if len(frame) == 94]
    assert len(out) == 100
    assert leaf.count("loss_signal.trimmed", 1, DATA) == len(losses) > 20
    assert leaf.count("fault.injected", 1, DATA) == 0
    assert leaf.count("telemetry.egress_kind", 1, LOSS) == len(losses)


def test_what_came_in_left_or_was_counted() -> None:
    leaf = trimmed_leaf(trim_at=6, rate_bps=1_000_000)
    leaf.lose(1, 0.2)
    leaf.send([csa_frame(kind=i % 3) for i in range(300)], gap_ns=PACKET_NS // 3)
    for kind in (DATA, CONTROL):
        came = leaf.count("classify.ingress_kind", HOST_PORT, kind)
        left = leaf.count("telemetry.egress_kind", 1, kind)
        counted = leaf.count("fault.injected", 1, kind) + leaf.count(
            "loss_signal.congestion_dropped", 1, kind
        )
        trimmed = leaf.count("loss_signal.trimmed", 1, kind)
        assert came == left + counted + trimmed, kind
    assert leaf.count("telemetry.egress_kind", 1, LOSS) == leaf.count("loss_signal.trimmed", 1, DATA) > 0

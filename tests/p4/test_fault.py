"""Injected loss: how much, which, and that it is counted."""

import pytest

from tests.p4.rig.frames import csa_frame, header_of
from tests.p4.rig.leaf import CONTROL, DATA, Leaf

GAP_NS = 100_000


def message(count: int) -> list[bytes]:
    return [csa_frame(payload=bytes(8), pkt_idx=i, pkt_total=count, path_id=i % 3) for i in range(count)]


@pytest.mark.parametrize("probability", [0.01, 0.05, 0.5])
def test_injected_loss_has_the_probability_asked_for(one: Leaf, probability: float) -> None:
    one.lose(1, probability)
    n = 2000
    lost = n - len(one.send(message(n), gap_ns=GAP_NS, expected=0))
    assert one.count("fault.injected", 1, DATA) == lost
    deviation = (n * probability * (1 - probability)) ** 0.5
    assert abs(lost - n * probability) < 4 * deviation, lost


def test_injected_loss_repeats_with_its_seed(one: Leaf) -> None:
    def survivors(seed: int) -> list[int]:
        one.reset()
        one.lose(1, 0.3, seed=seed)
        return [header_of(left.frame).pkt_idx for left in one.send(message(100), expected=0)]

    first = survivors(5)
    assert 50 < len(first) < 90
    assert survivors(5) == first
    assert survivors(6) != first


def test_a_fault_concerns_the_kinds_it_names(one: Leaf) -> None:
    one.lose(1, 1.0, kind=CONTROL)
    out = one.send([csa_frame(kind=0), csa_frame(kind=2)], expected=1)
    assert [header_of(left.frame).kind for left in out] == [0]
    assert one.count("fault.injected", 1, CONTROL) == 1


def test_a_fault_concerns_its_port(leaf: Leaf) -> None:
    leaf.spray("round_robin")
    leaf.lose(2, 1.0)
    assert leaf.ports(message(8), expected=6) == [1, 3, 4, 1, 3, 4]
    assert leaf.direct("fault.inject", {"port": 2, "kind": f"{DATA}&&&3"}, 10) == 2


def test_injected_loss_is_counted_by_path(one: Leaf) -> None:
    one.lose(1, 1.0)
    assert one.send(message(7), expected=0) == []
    assert one.buckets("fault.path_injected", 1) == {0: 3, 1: 2, 2: 2}


def test_a_signalled_fault_where_a_port_drops_is_a_counted_drop(one: Leaf) -> None:
    one.lose(1, 1.0, signalled=True)
    assert one.send(message(4), expected=0) == []
    assert one.count("loss_signal.congestion_dropped", 1, DATA) == 4
    assert one.count("fault.injected", 1, DATA) == 0

"""Congestion marks between two thresholds of the occupancy shadow."""

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from tests.p4.rig.frames import (
    DESTINATION,
    SOURCE,
    check_lengths_and_checksum,
    csa_frame,
    ecn_of,
    is_loss,
)
from tests.p4.rig.leaf import Leaf

NOT_CAPABLE, ECT_1, ECT_0, MARKED = range(4)


def capable(count: int, ecn: int = ECT_0, **header: int) -> list[bytes]:
    return [
        csa_frame(payload=bytes(8), pkt_idx=i % 500, pkt_total=500, ecn=ecn, **header) for i in range(count)
    ]


def marks(leaf: Leaf, frames: list[bytes]) -> int:
    out = leaf.send(frames)
    assert len(out) == len(frames)
    return sum(ecn_of(left.frame) == MARKED for left in out)


@pytest.mark.needs("registers")
@pytest.mark.parametrize(
    ("depth", "probability"),
    [(0, 0), (1000, 0), (1500, 0.25), (2000, 0.5), (2500, 0.75), (3000, 1), (60000, 1)],
)
def test_the_probability_rises_linearly_between_the_thresholds(
    one: Leaf, depth: int, probability: float
) -> None:
    one.mark(1, low=1000, high=3000)
    one.set_depth(1, depth)
    count = 400
    deviation = (count * probability * (1 - probability)) ** 0.5
    # What is on its way through the switch adds a few packets to the depth: 20 are one hundredth.
    assert abs(marks(one, capable(count)) - count * probability) <= 4 * deviation + count / 100


def test_marking_repeats_with_its_seed(one: Leaf) -> None:
    def marked(seed: int) -> list[int]:
        one.reset()
        one.mark(1, low=0, high=65535, seed=seed)
        one.set_depth(1, 30000)
        return [ecn_of(left.frame) for left in one.send(capable(60))]

    if "registers" not in one.switch.abilities:
        pytest.skip("the shadow cannot be set")
    assert marked(1) == marked(1)
    assert marked(1) != marked(2)


def test_without_thresholds_nothing_is_marked(one: Leaf) -> None:
    assert marks(one, capable(20)) == 0


@pytest.mark.parametrize(("ecn", "marked"), [(NOT_CAPABLE, 0), (ECT_1, 5), (ECT_0, 5), (MARKED, 5)])
def test_only_what_listens_is_marked(one: Leaf, ecn: int, marked: int) -> None:
    one.mark(1, low=0, high=0)  # always
    assert marks(one, capable(5, ecn)) == marked
    counted = sum(one.buckets("ecn.marked", 1).values())
    assert counted == (5 if ecn in (ECT_0, ECT_1) else 0)  # what came marked is not counted again
    assert one.direct("ecn.marking", {"port": 1}) == counted


def test_marks_are_counted_by_path_and_change_nothing_else(one: Leaf) -> None:
    one.mark(1, low=0, high=0)
    frame = csa_frame(path_id=19, ecn=ECT_0)
    out = one.one(frame)
    check_lengths_and_checksum(out)
    changed = [i for i in range(len(frame)) if frame[i] != out[i]]
    assert set(changed) <= {15, 22, 24, 25} and 15 in changed
    assert one.buckets("ecn.marked", 1) == {3: 1}


def test_thresholds_are_by_port(leaf: Leaf) -> None:
    leaf.spray("host_directed")
    leaf.mark(3, low=0, high=0)
    out = leaf.send([csa_frame(path_id=i, ecn=ECT_0) for i in range(4)])
    assert {left.port for left in out if ecn_of(left.frame) == MARKED} == {3}


def test_other_traffic_is_marked_too_but_not_counted_by_path(one: Leaf) -> None:
    one.mark(1, low=0, high=0)
    frame = bytes(Ether() / IP(src=SOURCE, dst=DESTINATION, tos=ECT_0) / TCP())
    assert ecn_of(one.one(frame)) == MARKED
    assert one.buckets("ecn.marked", 1) == {}


@pytest.mark.needs("registers")
@pytest.mark.parametrize(("depth", "mark"), [(31, ECT_0), (32, MARKED)])
def test_other_traffic_counts_twice_because_it_has_half_the_room_of_data(
    one: Leaf, depth: int, mark: int
) -> None:
    one.limit(1, trim_at=64, other_at=33, drop_at=240)
    one.mark(1, low=64, high=64)
    one.set_depth(1, depth, other=True)
    frame = bytes(Ether() / IP(src=SOURCE, dst=DESTINATION, tos=ECT_0) / TCP())
    assert ecn_of(one.one(frame)) == mark


def test_what_is_not_admitted_is_not_marked(one: Leaf) -> None:
    one.mark(1, low=0, high=0)
    one.congested("trim")
    out = one.one(csa_frame(ecn=ECT_0))
    assert is_loss(out)
    assert ecn_of(out) == ECT_0
    assert one.buckets("ecn.marked", 1) == {}


def test_a_header_with_options_is_not_marked(one: Leaf) -> None:
    """Its checksum is mended for TTL alone."""
    one.mark(1, low=0, high=0)
    for options, mark in ((b"", MARKED), (b"\1\1\1\0", ECT_0)):
        ip = IP(src=SOURCE, dst=DESTINATION, tos=ECT_0, options=options)
        out = one.one(bytes(Ether() / ip / TCP(sport=5, dport=80)))
        assert ecn_of(out) == mark
        check_lengths_and_checksum(out)

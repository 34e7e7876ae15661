"""A port that goes down is skipped before the controller acts, in every spray mode."""

import pytest

from tests.p4.rig.frames import csa_frame
from tests.p4.rig.leaf import DATA, UPLINKS, Leaf
from tests.p4.test_spray import MODES, MOMENT_NS, various

pytestmark = pytest.mark.needs("links")


@pytest.mark.parametrize("mode", MODES)
def test_a_dead_path_is_skipped_in_every_mode(leaf: Leaf, mode: str) -> None:
    leaf.spray(mode, **MODES[mode])
    frames = various(80)
    assert 2 in leaf.ports(frames, gap_ns=MOMENT_NS)
    leaf.switch.set_link(2, False)
    ports = leaf.ports(frames, gap_ns=MOMENT_NS)
    assert len(ports) == len(frames)
    assert set(ports) == {1, 3, 4}
    leaf.switch.set_link(2, True)
    assert 2 in leaf.ports(frames, gap_ns=MOMENT_NS)


def test_the_last_live_path_carries_everything(leaf: Leaf) -> None:
    leaf.spray("round_robin")
    for port in (1, 2, 4):
        leaf.switch.set_link(port, False)
    assert set(leaf.ports(various(20))) == {3}


def test_weights_hold_among_those_that_live(leaf: Leaf) -> None:
    leaf.spray("weighted")
    leaf.weigh([0, 1, 2, 3])
    leaf.switch.set_link(4, False)
    ports = leaf.ports(various(64))
    assert (ports.count(1), ports.count(2), ports.count(3)) == (32, 16, 16)  # index 3 is 0 modulo 3


@pytest.mark.needs("no-live-path")
@pytest.mark.parametrize("mode", MODES)
def test_with_no_live_path_a_packet_is_counted_not_forgotten(leaf: Leaf, mode: str) -> None:
    leaf.spray(mode, **MODES[mode])
    for port in UPLINKS:
        leaf.switch.set_link(port, False)
    assert leaf.ports([csa_frame() for _ in range(5)], gap_ns=MOMENT_NS) == []
    assert leaf.cell("spray.no_path", DATA) == 5

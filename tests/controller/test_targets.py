"""What differs between targets."""

import pytest
from csaud_controller.inventory import leaf_spine
from csaud_controller.state import Group, GroupMember, table_state
from csaud_controller.targets import Bmv2, QueueLimit, Soft, target_named


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown target 'x'; expected one of soft, bmv2, tofino, tofino2"):
        target_named("x")


def test_bmv2s_queues_are_limited_in_packets_of_full_size() -> None:
    fabric = leaf_spine(2, 2, 1)
    ports = [QueueLimit(port, 5932, 256) for port in (1, 2, 3)]
    assert Bmv2().queue_limits(fabric, "l1") == [*ports, QueueLimit(127, 0, 768)]
    assert Soft().queue_limits(fabric, "l1") == []


def test_bmv2_gets_no_watch_ports() -> None:
    watched = table_state([Group(7, (GroupMember(1, 1, 1), GroupMember(2, 1, 2)))])
    fabric = leaf_spine(2, 2, 1)
    assert Soft().adapt(watched, fabric) == watched
    assert Bmv2().adapt(watched, fabric) == table_state([Group(7, (GroupMember(1), GroupMember(2)))])

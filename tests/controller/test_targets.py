"""What differs between targets."""

import pytest
from csaud_controller.inventory import leaf_spine
from csaud_controller.reconcile import Step
from csaud_controller.state import Group, GroupMember, table_state
from csaud_controller.targets import Bmv2, QueueLimit, Soft, target_named


def group(*members: int, unwatched: tuple[int, ...] = ()) -> Group:
    return Group(7, tuple(GroupMember(m, 1, None if m in unwatched else m) for m in members))


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown target 'x'; expected one of soft, bmv2"):
        target_named("x")


def test_bmv2s_queues_are_limited_in_packets_of_full_size() -> None:
    fabric = leaf_spine(2, 2, 1)
    assert Bmv2().queue_limits(fabric, "l1") == [QueueLimit(port, 5932, 256) for port in (1, 2, 3)]
    assert Soft().queue_limits(fabric, "l1") == []


def test_members_leave_a_bmv2_group_without_a_watch_port() -> None:
    have = table_state([group(1, 2, 3)])
    steps = [Step("modify", (group(2, 4),))]
    assert Bmv2().in_steps(have, steps) == [Step("modify", (group(1, 2, 3, unwatched=(1, 3)),)), *steps]
    growing = [Step("modify", (group(1, 2, 3, 4),))]
    assert Bmv2().in_steps(have, growing) == growing
    assert Soft().in_steps(have, steps) == steps


def test_watch_ports_that_bmv2_returns_are_not_believed() -> None:
    assert Bmv2().as_read(Group(7, (GroupMember(1, 1, 2), GroupMember(2, 1, 2)))) == group(1, 2)

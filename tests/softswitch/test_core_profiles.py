"""Action profiles: members, groups, weights, the selector and watch ports."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs
from tests.softswitch.test_core_tables import FORMAT, b, exact, frame

INDIRECT, HASHED, CHOSEN = 8, 9, 10
PROFILE = "I.by_index"


def set_r(value: int) -> tuple[str, str, Sequence[bytes]]:
    return ("action", "I.set_r", [bytes([value])])


class Selection:
    """A table whose group selects by its index alone, so that a test sees the slots in their order."""

    def __init__(self, ports: tuple[int, ...] = (1, 2, 3)) -> None:
        self.fabric, self.switch = programs.loaded("tables", ports)

    def members(self, *ids: int) -> None:
        for number in ids:
            self.switch.member_insert(PROFILE, number, set_r(number))

    def use_group(self, group: int, k: int = 0) -> None:
        self.switch.table_insert("I.chosen", [exact(k)], 0, ("group", group))

    def r(self, k: int, j: int, which: int = CHOSEN, wide: int = 0) -> int:
        [(_, out)] = programs.send(self.fabric, frame(which, k, j, wide))
        return struct.unpack(FORMAT, out)[5]

    def slots(self, count: int, k: int = 0) -> list[int]:
        return [self.r(k, index) for index in range(count)]


@pytest.fixture
def selection() -> Selection:
    return Selection()


def test_a_member_is_shared_and_can_be_changed_under_its_entries(selection: Selection) -> None:
    s = selection.switch
    s.member_insert("I.profile", 1, set_r(5))
    s.table_insert("I.indirect", [exact(1)], 0, ("member", 1))
    s.table_insert("I.indirect", [exact(2)], 0, ("member", 1))
    assert [selection.r(k, 0, INDIRECT) for k in (1, 2, 3)] == [5, 5, 0]
    s.member_modify("I.profile", 1, set_r(6))
    assert [selection.r(k, 0, INDIRECT) for k in (1, 2)] == [6, 6]
    with pytest.raises(_core.FailedPrecondition, match="in use by 2"):
        s.member_delete("I.profile", 1)
    s.table_delete("I.indirect", [exact(1)], 0)
    s.table_clear("I.indirect")
    s.member_delete("I.profile", 1)
    assert s.members("I.profile") == []


def test_the_selector_takes_the_hash_modulo_the_slots(selection: Selection) -> None:
    selection.members(10, 20, 30)
    selection.switch.group_insert(PROFILE, 1, [(10, 1, None), (20, 1, None), (30, 1, None)])
    selection.use_group(1)
    assert selection.slots(7) == [10, 20, 30, 10, 20, 30, 10]
    assert selection.r(0, 0xFFFF) == [10, 20, 30][0xFFFF % 3]


def test_slots_follow_the_order_in_which_members_were_made_not_that_of_the_group(
    selection: Selection,
) -> None:
    selection.members(30, 10, 20)
    selection.switch.group_insert(PROFILE, 1, [(10, 1, None), (20, 1, None), (30, 1, None)])
    selection.use_group(1)
    assert selection.slots(3) == [30, 10, 20]
    selection.switch.group_modify(PROFILE, 1, [(20, 1, None)])
    selection.switch.member_delete(PROFILE, 30)
    selection.members(40)  # takes the place that 30 had
    selection.switch.group_modify(PROFILE, 1, [(20, 1, None), (10, 1, None), (40, 1, None)])
    assert selection.slots(3) == [40, 10, 20]


def test_weights_are_slots(selection: Selection) -> None:
    selection.members(1, 2)
    selection.switch.group_insert(PROFILE, 1, [(1, 3, None), (2, 1, None)])
    selection.use_group(1)
    assert sorted(selection.slots(4)) == [1, 1, 1, 2]
    assert selection.slots(4) == selection.slots(8)[4:]
    assert selection.switch.groups(PROFILE) == [(1, [(1, 3, None), (2, 1, None)], 0)]


def test_a_member_whose_watch_port_is_down_is_skipped_at_once(selection: Selection) -> None:
    selection.members(1, 2, 3)
    selection.switch.group_insert(PROFILE, 1, [(1, 1, 1), (2, 1, 2), (3, 1, 3)])
    selection.use_group(1)
    assert selection.slots(3) == [1, 2, 3]
    selection.fabric.set_link("s", 2, False)
    assert selection.slots(4) == [1, 3, 1, 3]
    selection.fabric.set_link("s", 3, False)
    assert selection.slots(2) == [1, 1]
    selection.fabric.set_link("s", 2, True)
    assert selection.slots(2) == [1, 2]


def test_a_group_made_while_a_port_is_down_starts_without_it(selection: Selection) -> None:
    selection.members(1, 2, 99)
    selection.fabric.set_link("s", 2, False)
    # A port that does not exist is down.
    selection.switch.group_insert(PROFILE, 1, [(1, 1, 1), (2, 1, 2), (99, 1, 99)])
    selection.use_group(1)
    assert selection.slots(2) == [1, 1]
    selection.fabric.add_memory_port("s", 99)
    assert selection.slots(2) == [1, 99]


def test_without_a_live_member_nothing_is_done(selection: Selection) -> None:
    selection.members(2)
    selection.switch.group_insert(PROFILE, 1, [(2, 1, 2)])
    selection.switch.group_insert(PROFILE, 2, [])
    selection.use_group(1, k=1)
    selection.use_group(2, k=2)
    selection.fabric.set_link("s", 2, False)
    assert [selection.r(1, 0), selection.r(2, 0)] == [0, 0]
    assert selection.switch.stats()["tx"] == 2  # the packets themselves went on


def test_an_entry_may_name_a_member_instead_of_a_group(selection: Selection) -> None:
    selection.members(7)
    selection.switch.table_insert("I.chosen", [exact(4)], 0, ("member", 7))
    assert selection.r(4, 123) == 7
    assert selection.switch.table_entries("I.chosen") == [([exact(4)], 0, ("member", 7))]


def test_a_hash_spreads_over_all_members_and_keeps_a_flow_together(selection: Selection) -> None:
    s = selection.switch
    for number in range(4):
        s.member_insert("I.selected", number, set_r(number))
    s.group_insert("I.selected", 1, [(number, 1, None) for number in range(4)])
    s.table_insert("I.hashed", [exact(0)], 0, ("group", 1))
    found = [selection.r(0, j, HASHED, wide=j << 80) for j in range(64)]
    assert set(found) == {0, 1, 2, 3}
    assert found == [selection.r(0, j, HASHED, wide=j << 80) for j in range(64)]


def test_a_reloaded_program_starts_empty(selection: Selection) -> None:
    selection.members(1)
    selection.switch.group_insert(PROFILE, 1, [(1, 1, None)])
    selection.use_group(1)
    selection.switch.load(programs.json_of("tables"))
    assert selection.switch.members(PROFILE) == []
    assert selection.switch.groups(PROFILE) == []
    assert selection.switch.table_entries("I.chosen") == []
    assert selection.r(0, 0) == 0


def test_errors_name_what_is_wrong(selection: Selection) -> None:
    s = selection.switch
    selection.members(1, 2)
    with pytest.raises(KeyError, match="no action profile 'x'"):
        s.member_insert("x", 1, set_r(1))
    with pytest.raises(KeyError, match=r"I\.by_index.*no action 'I\.other'"):
        s.member_insert(PROFILE, 3, ("action", "I.other", []))
    with pytest.raises(_core.AlreadyExists, match="member 1"):
        s.member_insert(PROFILE, 1, set_r(1))
    with pytest.raises(_core.NotFound, match="no member 9"):
        s.group_insert(PROFILE, 1, [(9, 1, None)])
    with pytest.raises(_core.InvalidArgument, match="twice in one group"):
        s.group_insert(PROFILE, 1, [(1, 1, None), (1, 1, None)])
    with pytest.raises(_core.InvalidArgument, match="weight 0"):
        s.group_insert(PROFILE, 1, [(1, 0, None)])
    with pytest.raises(_core.ResourceExhausted, match="add up to 4, its max_size is 3"):
        s.group_insert(PROFILE, 1, [(1, 2, None), (2, 2, None)], 3)
    with pytest.raises(_core.InvalidArgument, match="no selector"):
        s.group_insert("I.profile", 1, [])
    with pytest.raises(_core.NotFound, match="no group 5"):
        s.table_insert("I.chosen", [exact(0)], 0, ("group", 5))
    with pytest.raises(_core.InvalidArgument, match="takes members and groups"):
        s.table_insert("I.chosen", [exact(0)], 0, set_r(1))
    s.group_insert(PROFILE, 1, [(1, 1, None)])
    selection.use_group(1)
    with pytest.raises(_core.AlreadyExists):
        s.table_insert("I.chosen", [exact(0)], 0, ("member", 2))
    s.member_delete(PROFILE, 2)  # the failed insertion does not hold it
    with pytest.raises(_core.FailedPrecondition, match="in use"):
        s.group_delete(PROFILE, 1)
    with pytest.raises(_core.FailedPrecondition, match="in use"):
        s.member_delete(PROFILE, 1)
    s.table_delete("I.chosen", [exact(0)], 0)
    s.group_delete(PROFILE, 1)
    s.member_delete(PROFILE, 1)
    for number in range(16):
        s.member_insert(PROFILE, number, set_r(number))
    with pytest.raises(_core.ResourceExhausted, match="16 members at most"):
        s.member_insert(PROFILE, 16, set_r(1))
    assert b(1) == b"\0\0\0\1"

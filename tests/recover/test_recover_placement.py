"""Where the shards of a state are: each at two ranks, as many at each; none is moved for nothing."""

from __future__ import annotations

import pytest
from csaud.recover.placement import Move, ShardLost, place

ALL = (1 << 12) - 1


def loads(hosts: tuple[tuple[int, ...], ...], world: int) -> list[int]:
    return [sum(rank in ranks for ranks in hosts) for rank in range(world)]


def held(hosts: tuple[tuple[int, ...], ...], ranks: list[int]) -> list[int]:
    return [sum(1 << shard for shard, of in enumerate(hosts) if rank in of) for rank in ranks]


def test_of_what_all_hold_each_keeps_a_part() -> None:
    found = place(12, [ALL] * 4)
    assert loads(found.hosts, 4) == [6] * 4 and not found.moves
    assert [found.tellers.count(rank) for rank in range(4)] == [3] * 4
    assert place(12, [ALL]).hosts == ((0,),) * 12


def test_after_a_death_what_was_there_is_copied_and_nothing_else() -> None:
    before = place(12, [ALL] * 4).hosts
    found = place(12, held(before, [0, 1, 3]))
    assert loads(found.hosts, 3) == [8] * 3
    assert len(found.moves) == loads(before, 4)[2]
    assert all(len(set(ranks)) == 2 for ranks in found.hosts)


def test_a_newcomer_is_given_its_part() -> None:
    before = place(12, [ALL] * 3).hosts
    found = place(12, [*held(before, [0, 1, 2]), 0])
    assert loads(found.hosts, 4) == [6] * 4
    assert {move.target for move in found.moves} == {3} and len(found.moves) == 6


def test_what_nobody_holds_is_lost() -> None:
    assert place(2, [0b11, 0]).moves == (Move(0, 0, 1), Move(1, 0, 1))
    with pytest.raises(ShardLost) as lost:
        place(3, [0b001, 0b101])
    assert lost.value.shard == 1

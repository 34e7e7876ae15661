"""Whatever befalls members and messages: at most one group goes on in an epoch, its members agree on who is
in it, and everybody else ends with an error in time.

A schedule that fails is made as small as it can be and printed. CSAUD_MEMBERSHIP_SCHEDULES says how many are
drawn in all; the number of a batch is its seed.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import get_args

from csaud.membership.agreement import Agreement
from csaud.membership.arbiter import is_quorum
from csaud.membership.decree import Missing
from csaud.membership.member import Gone
from csaud.membership.messages import Arrive, Body, Meet, Release
from csaud.rendezvous.table import Table
from hypothesis import strategies as st

from tests.hostlib.membership_network import (
    STEPS,
    STORE,
    VALUES,
    Fault,
    Kill,
    Network,
    Partition,
    Pause,
    Schedule,
    Strike,
)
from tests.support.drawn import batches, drawn

SCHEDULES = int(os.environ.get("CSAUD_MEMBERSHIP_SCHEDULES", "10000"))
A_BATCH = 500
LIVELY = 1_000
"""Of those schedules, the ones that ask whether a group goes on at all."""


# Strategies are made once: to make one takes longer than to draw from it. A choice among few takes one draw.
_starts = functools.cache(lambda world, longest: st.lists(_tenths(longest), min_size=world, max_size=world))
_bits = functools.cache(lambda count: st.integers(0, (1 << count) - 1))


_few = functools.cache(
    lambda count: st.one_of(st.just(0), st.integers(0, count - 1).map(lambda bit: 1 << bit), _bits(count))
)


@functools.cache
def _tenths(longest: float) -> st.SearchStrategy[float]:
    return st.sampled_from([tenths / 10 for tenths in range(round(10 * longest) + 1)])


@functools.cache
def _faults(processes: int, longest: float, kills: bool) -> st.SearchStrategy[tuple[Fault, ...]]:
    step, at, for_s = st.sampled_from(STEPS), st.integers(0, 8), _tenths(longest)
    process = st.integers(0, processes - 1)
    side = st.one_of(process.map(lambda one: 1 << one), st.integers(1, (1 << (processes + 1)) - 2))
    one: list[st.SearchStrategy[Fault]] = [
        st.builds(Partition, step=step, at=at, for_s=for_s, side=side),
        st.builds(Pause, step=step, at=at, for_s=for_s, process=process),
        st.builds(
            Strike,
            step=step,
            at=at,
            count=st.integers(1, 20),
            fate=st.sampled_from(["drop", "delay", "repeat"]),
            delay_s=for_s,
        ),
    ]
    if kills:
        one.append(st.builds(Kill, step=step, at=at, process=process))
    return st.lists(st.one_of(one), max_size=4).map(tuple)


_worlds, _seeds = st.integers(1, 6), st.integers(0, 1 << 16)
_newcomers = st.lists(_tenths(3.0), max_size=2).map(tuple)
_networks = st.sampled_from(list(itertools.product([0.0, 0.0, 0.05, 0.3], [0.0, 0.001, 0.2], [False, True])))
_agreements = st.sampled_from([0, 0, 1, 2])
_wires = st.sampled_from([False] * 7 + [True])


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    world, newcomers = draw(_worlds), draw(_newcomers)
    loss, jitter, store = draw(_networks)
    return Schedule(
        starts=tuple(draw(_starts(world, 2.0))),
        hints=draw(_bits(world)),
        dead=draw(_few(world)),
        newcomers=newcomers,
        strange=tuple(draw(_few(world)) for _ in newcomers),
        unable=tuple(draw(_few(world + len(newcomers))) for _ in newcomers),
        gaps=draw(_newcomers),
        loss=loss,
        jitter=jitter,
        store=store,
        agreements=draw(_agreements),
        wire=draw(_wires),
        seed=draw(_seeds),
        faults=draw(_faults(world + len(newcomers), 6.0, True)),
    )


@functools.cache
def _minorities(world: int) -> st.SearchStrategy[int]:
    return _bits(world).filter(lambda dead: is_quorum(_without(dead, world), world))


@st.composite
def calm_after_a_while(draw: st.DrawFn) -> Schedule:
    """A quorum is alive, and all faults are over in the first eighth of its time."""
    world, (_, jitter, store) = draw(_worlds), draw(_networks)
    dead = draw(_minorities(world))
    return Schedule(
        starts=tuple(draw(_starts(world, 1.0))),
        hints=draw(_bits(world)),
        dead=dead,
        timeout=16.0,
        jitter=jitter,
        store=store,
        seed=draw(_seeds),
        faults=draw(_faults(world, 1.0, False)),
    )


@st.composite
def newcomers_of_a_healthy_job(draw: st.DrawFn) -> Schedule:
    """Nobody dies and nothing is lost; newcomers come while the members agree, and go on with them."""
    world = draw(st.integers(1, 4))
    return Schedule(
        starts=tuple(draw(_starts(world, 1.0))),
        newcomers=tuple(draw(st.lists(_tenths(1.0), min_size=1, max_size=3))),
        gaps=(draw(_tenths(0.1)),) * 4,
        timeout=16.0,
        jitter=draw(st.sampled_from([0.0, 0.001, 0.2])),
        agreements=draw(st.integers(1, 3)),
        seed=draw(_seeds),
    )


@st.composite
def newcomers_apart(draw: st.DrawFn) -> Schedule:
    """As before, but some of them cannot go on with others."""
    schedule = draw(newcomers_of_a_healthy_job())
    world, count = len(schedule.starts), len(schedule.newcomers)
    unable = tuple(draw(_bits(count)) << world for _ in range(count))
    return dataclasses.replace(schedule, unable=unable)


def _without(dead: int, world: int) -> set[int]:
    return {rank for rank in range(world) if not dead >> rank & 1}


def check_one_group(schedule: Schedule) -> None:
    network = Network(schedule)
    network.play()
    groups: dict[int, Table] = {0: network.first}
    for process in network.processes.values():
        assert process.state in ("idle", "ended", "dead"), f"{process.uid} never ends: {process.state}"
        for table in process.tables:
            assert process.uid in {card.uid for card in table.cards}
            assert groups.setdefault(table.generation, table) == table, "two groups go on"
    assert not network.late, "ended too late"
    agreements: dict[tuple[int, str], Agreement] = {}
    for process in network.processes.values():
        for name, agreement in process.agreements.items():
            assert agreements.setdefault(name, agreement) == agreement, "they do not agree"
            cards = groups[name[0]].cards
            there = [card.uid for card in cards if card.rank not in agreement.failed]
            assert process.uid in there
            assert agreement.value == VALUES & ~sum(1 << network.names.index(uid) for uid in there)
    for generation, table in groups.items():
        before = groups.get(generation - 1)
        if before is None:
            continue
        old = {card.uid: card.rank for card in before.cards}
        left = [old[card.uid] for card in table.cards[: table.members]]
        assert left == sorted(left) and not old.keys() & {card.uid for card in table.cards[table.members :]}
        assert schedule.store or is_quorum(left, len(before.cards)), "too few go on"
        assert table.epoch == before.epoch % 65_535 + 1
        for newcomer in table.cards[table.members :]:
            for member in table.cards[: table.members]:
                assert not network.strange(member.uid, newcomer.uid), "one cannot go on with a newcomer"
                assert not network.unable(newcomer.uid, member.uid), "a newcomer cannot go on with one"
            for other in set(table.cards[table.members :]) - {newcomer}:
                assert not network.unable(newcomer.uid, other.uid), "two newcomers cannot go on together"


def check_a_group_goes_on(schedule: Schedule) -> None:
    network = Network(schedule)
    network.play()
    ends = [end for process in network.processes.values() for end in process.ends]
    assert any(isinstance(end, Table) for end in ends)
    assert not any(isinstance(end, Missing) for end in ends), "time was left, and enough ranks"
    for process in network.processes.values():
        assert process.state == "dead" or isinstance(process.ends[0], Table | Gone)


def check_newcomers_take_part(schedule: Schedule) -> None:
    """To be told apart from a member that died: a newcomer leaves the door at which it waited when it has
    become a member."""
    network = Network(schedule)
    network.play()
    for process in network.processes.values():
        assert not any(isinstance(end, Missing | Gone) for end in process.ends), process.uid
        for agreement in process.agreements.values():
            assert agreement.failed == (), f"{process.uid} did not wait for a newcomer"


def check_only_those_apart_are_refused(schedule: Schedule) -> None:
    network = Network(schedule)
    network.play()
    tables = [process.tables[-1] for process in network.processes.values() if process.tables]
    last = max(tables, key=lambda table: table.generation)
    for process in network.processes.values():
        assert not any(isinstance(end, Missing | Gone) for end in process.ends), process.uid
        others = {card.uid for card in last.cards} - {process.uid}
        apart = any(network.unable(process.uid, uid) or network.unable(uid, process.uid) for uid in others)
        assert process.refused == apart, process.uid


def test_a_fault_can_happen_at_every_message() -> None:
    """But at those by which ranks that are in a generation meet, which decide nothing."""
    meetings = {Meet, Arrive, Release}
    assert {kind.__name__ for kind in set(get_args(Body)) - meetings} | {STORE} == set(STEPS)


@batches(SCHEDULES - LIVELY, A_BATCH)
def test_at_most_one_group_goes_on(batch: int) -> None:
    drawn(batch, min(A_BATCH, SCHEDULES), schedules(), check_one_group)


@batches(LIVELY, A_BATCH)
def test_a_quorum_that_is_left_in_peace_goes_on(batch: int) -> None:
    drawn(batch, min(A_BATCH, SCHEDULES), calm_after_a_while(), check_a_group_goes_on)


@batches(LIVELY, A_BATCH)
def test_newcomers_take_part_in_what_their_first_epoch_agrees_on(batch: int) -> None:
    drawn(batch, min(A_BATCH, SCHEDULES), newcomers_of_a_healthy_job(), check_newcomers_take_part)


@batches(LIVELY, A_BATCH)
def test_newcomers_apart_from_each_other_disturb_nobody(batch: int) -> None:
    drawn(batch, min(A_BATCH, SCHEDULES), newcomers_apart(), check_only_those_apart_are_refused)

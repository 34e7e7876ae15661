"""Single steps of a decision, and of meeting at a point; schedules of faults are in another module."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from csaud.membership.arbiter import Majority, is_quorum
from csaud.membership.arrivals import Arrivals
from csaud.membership.decree import Decree, Missing
from csaud.membership.messages import (
    Accept,
    Accepted,
    BadMessage,
    Ballot,
    Decided,
    Envelope,
    HasAccepted,
    Prepare,
    Promise,
    Refuse,
    from_json,
    to_json,
)

TIMEOUT = 40.0
INTERVAL = 0.5  # the longest
Allowed = Callable[[int, int, Any], bool]


def decrees(world: int) -> list[Decree]:
    def combine(contributions: Any) -> dict[str, Any]:
        return {"members": sorted(contributions)}

    return [
        Decree("next", rank, world, {}, combine, Majority(), failed=(), now=0.0, timeout=TIMEOUT)
        for rank in range(world)
    ]


def deliver(members: list[Decree], allowed: Allowed, now: float = 0.0) -> list[tuple[int, int, Any]]:
    """Until nothing is under way any more; what was not allowed is held back and returned."""
    held = []
    while sent := [(src, *each) for src, member in enumerate(members) for each in member.outbox]:
        for member in members:
            member.outbox.clear()
        for src, dst, body in sent:
            if allowed(src, dst, body):
                members[dst].receive(src, body, now)
            else:
                held.append((src, dst, body))
    return held


@pytest.mark.parametrize(("timeout", "interval"), [(0.4, 0.02), (4.0, 0.1), (16.0, 0.4), (400.0, 0.5)])
def test_who_decides_asks_again_forty_times_in_the_time_there_is(timeout: float, interval: float) -> None:
    """But not all the time where that is short, and twice a second where it is long."""
    decree = Decree("next", 0, 3, {}, min, Majority(), failed=(), now=7.0, timeout=timeout)
    asked = [decree.wake - 7.0]
    for _ in range(2):
        decree.outbox.clear()
        decree.tick(decree.wake)
        assert {to for to, _ in decree.outbox} == {1, 2}
        asked.append(decree.wake - 7.0)
    assert asked == pytest.approx([interval, 2 * interval, 3 * interval])


def test_any_two_quorums_have_a_member_in_common_and_half_needs_rank_0() -> None:
    for world in range(1, 8):
        groups = [
            set(group) for size in range(world + 1) for group in itertools.combinations(range(world), size)
        ]
        quorums = [group for group in groups if is_quorum(group, world)]
        assert all(one & other for one, other in itertools.product(quorums, quorums))
        for group in groups:  # no rule lets more groups go on
            assert is_quorum(group, world) != is_quorum(set(range(world)) - group, world)
    assert is_quorum({0}, 2) and not is_quorum({1}, 2) and is_quorum({0, 3}, 4) and not is_quorum({1, 2}, 4)


def test_a_value_that_a_quorum_accepted_is_kept_though_nobody_knows() -> None:
    """Rank 0 asks; 1 and 2 accept; nobody hears of it, and rank 0 is gone."""
    members = decrees(5)
    deliver(
        members,
        lambda src, dst, body: (
            not isinstance(body, HasAccepted) and not (isinstance(body, Accept) and dst in (3, 4))
        ),
    )
    assert all(member.outcome is None for member in members)
    now = members[1].wake
    members[1].tick(now)
    deliver(members, lambda src, dst, body: 0 not in (src, dst), now)
    assert [member.outcome for member in members[1:]] == [{"members": [0, 1, 2, 3, 4]}] * 4


def test_a_leader_that_was_paused_cannot_decide_any_more() -> None:
    """Its requests come when others have accepted a later one, before they are told of the decision."""
    members = decrees(5)
    held = deliver(members, lambda src, dst, body: not isinstance(body, Accept))
    assert {dst for _, dst, _ in held} == {1, 2, 3, 4}
    now = members[1].wake
    members[1].absent(0, now)
    members[1].tick(now)
    deliver(members, lambda src, dst, body: 0 not in (src, dst) and not isinstance(body, Decided), now)
    assert members[1].outcome == {"members": [1, 2, 3, 4]}
    for _, dst, body in held:
        if dst != 1:
            members[dst].receive(0, body, now)
    deliver(members, lambda src, dst, body: src != 1, now)
    assert members[0].outcome is None
    assert members[2].outcome is None
    members[0].tick(members[0].wake)
    deliver(members, lambda src, dst, body: True, now)
    assert {str(member.outcome) for member in members} == {"{'members': [1, 2, 3, 4]}"}


def test_the_latest_of_several_accepted_values_is_taken() -> None:
    member = decrees(5)[0]
    ballot = next(body.ballot for _, body in member.outbox if isinstance(body, Prepare))
    member.outbox.clear()
    early = Accepted(Ballot(0, -2), {"members": [0, 2]})
    late = Accepted(Ballot(0, -1), {"members": [0, 1]})
    member.receive(1, from_wire(Promise("next", ballot, {}, early)), 0.0)
    member.receive(2, from_wire(Promise("next", ballot, {}, late)), 0.0)
    asked = {str(body.value) for _, body in member.outbox if isinstance(body, Accept)}
    assert asked == {"{'members': [0, 1]}"}


def test_answers_to_another_ballot_do_not_count() -> None:
    member = decrees(5)[0]
    other = Ballot(7, -3)
    for rank in (1, 2, 3, 4):
        member.receive(rank, Promise("next", other, {}, None), 0.0)
        member.receive(rank, HasAccepted("next", other), 0.0)
    assert member.outcome is None and not any(isinstance(body, Accept) for _, body in member.outbox)
    members = decrees(5)
    deliver(members, lambda src, dst, body: not isinstance(body, Accept))
    for rank in (1, 2, 3, 4):
        members[0].receive(rank, HasAccepted("next", other), 0.0)
    assert members[0].outcome is None


def test_a_promise_holds_and_a_refusal_names_it() -> None:
    member = decrees(3)[2]
    member.receive(1, Prepare("next", Ballot(5, -1)), 0.0)
    member.outbox.clear()
    member.receive(0, Prepare("next", Ballot(4, 0)), 0.0)
    member.receive(0, Accept("next", Ballot(4, 0), {"members": [0]}), 0.0)
    assert member.outbox == [(0, Refuse("next", Ballot(4, 0), Ballot(5, -1)))] * 2


def test_without_a_quorum_it_ends_in_time_and_names_who_was_not_met() -> None:
    members = decrees(4)
    for tick in range(1, round(TIMEOUT / INTERVAL) + 1):
        for member in members:
            member.tick(tick * INTERVAL)
        deliver(members, lambda src, dst, body: {src, dst} == {1, 2}, tick * INTERVAL)
        assert (members[1].outcome is None) == (tick * INTERVAL < TIMEOUT)
    assert members[1].outcome == members[2].outcome == Missing((0, 3))


def test_where_those_that_are_not_gone_are_no_quorum_nothing_is_waited_for() -> None:
    member = decrees(4)[2]
    member.absent(0, 0.0)
    member.absent(0, 0.0, gone=True)
    member.absent(3, 0.0)  # perhaps it comes back
    assert member.outcome is None
    member.absent(1, 0.0, gone=True)
    assert member.outcome == Missing((0, 1), gone=True)


def from_wire(body: Any) -> Any:
    return from_json(to_json(Envelope("job", 3, "uid", body))).body


@pytest.mark.parametrize(
    "change",
    [{"type": "what"}, {"ballot": [1]}, {"ballot": "12"}, {"generation": "3"}, {"value": []}, {"uid": None}],
    ids=str,
)
def test_what_is_no_message_is_refused(change: dict[str, Any]) -> None:
    message = to_json(Envelope("job", 3, "uid", Accept("next", Ballot(1, 0), {})))
    assert from_json(message).body == Accept("next", Ballot(1, 0), {})
    with pytest.raises(BadMessage):
        from_json({**message, **change})


def meet(ranks: list[Arrivals]) -> None:
    while sent := [(src, *each) for src, rank in enumerate(ranks) for each in rank.outbox]:
        for rank in ranks:
            rank.outbox.clear()
        for src, dst, body in sent:
            ranks[dst].receive(src, body)


def test_all_arrive_or_the_absent_are_named() -> None:
    ranks = [Arrivals(rank, 3) for rank in range(3)]
    for rank in ranks:
        assert not ranks[0].ended
        rank.arrive("quiet")
        meet(ranks)
    assert [rank.ended for rank in ranks] == [{"quiet": ()}] * 3
    ranks[1].arrive("again")
    ranks[0].arrive("again")
    meet(ranks)
    ranks[0].give_up("again")
    meet(ranks)
    assert [rank.ended.get("again") for rank in ranks] == [(2,), (2,), (2,)]
    ranks[2].arrive("again")  # too late
    meet(ranks)
    assert ranks[2].ended["again"] == (2,)
    ranks[0].left(2)
    ranks[0].arrive("third")
    ranks[1].arrive("third")
    meet(ranks)
    assert ranks[0].ended["third"] == ranks[1].ended["third"] == (2,)
    ranks[1].left(0)
    ranks[1].arrive("fourth")
    assert ranks[1].ended["fourth"] == (0,)


def test_what_a_leader_asks_for_it_has_accepted_itself() -> None:
    members = decrees(3)
    deliver(members, lambda src, dst, body: not isinstance(body, Accept))
    members[0].receive(1, Prepare("next", Ballot(9, -1)), 0.0)
    ((_, promise),) = members[0].outbox
    assert isinstance(promise, Promise) and promise.accepted is not None
    assert promise.accepted.value == {"members": [0, 1, 2]}


def test_ballots_are_a_leaders_own_and_it_follows_none_below_it() -> None:
    members = decrees(3)
    members[1].tick(members[1].wake)  # it has heard nothing of rank 0
    ballots = [
        {body.ballot for _, body in member.outbox if isinstance(body, Prepare)} for member in members[:2]
    ]
    assert ballots == [{Ballot(1, 0)}, {Ballot(1, -1)}]
    members[0].outbox.clear()
    members[0].receive(1, Prepare("next", Ballot(1, -1)), 0.0)
    assert members[0].outbox == [(1, Refuse("next", Ballot(1, -1), Ballot(1, 0)))]

"""A member among generations: what it answers those of others, and which tables it takes."""

import dataclasses

import pytest
from csaud.membership.member import NEXT, Gone, Member
from csaud.membership.messages import (
    Accept,
    Accepted,
    BadMessage,
    Ballot,
    Body,
    Current,
    Decided,
    Envelope,
    Later,
    Looked,
    Prepare,
    Promise,
    Waiting,
    from_json,
    to_json,
)
from csaud.rendezvous.table import Card, Table, next_table

from tests.hostlib.one_member import ASKS, FIRST, SECOND, answers, member


def test_who_is_behind_is_told_the_table_and_who_is_ahead_that_we_are() -> None:
    assert answers(member(SECOND), "p0", 0, ASKS) == [("p0", Current(SECOND))]
    assert answers(member(), "p0", 1, ASKS) == [("p0", Later(NEXT))]
    assert answers(member(), "p0", 0, ASKS) == [("p0", Later(NEXT))]  # it has not called


def test_who_goes_on_to_the_next_generation_is_not_waited_for_in_this_one() -> None:
    one = member(rank=0)
    one.arrivals.arrive("close")
    one.arrivals.left(2)
    assert answers(one, "p1", 0, ASKS)[0] == ("p1", Later(NEXT))
    assert one.arrivals.ended == {"close": (1, 2)}


def test_messages_of_another_job_and_of_nobody_are_refused() -> None:
    with pytest.raises(BadMessage, match="another job"):
        member().receive(Envelope("other", 0, "p0", ASKS), 0.0)
    with pytest.raises(BadMessage, match="another job"):  # before it is taken for the member that it names
        member().check(Envelope("other", 0, "p0", ASKS))
    with pytest.raises(BadMessage, match="nobody in this generation"):
        member().receive(Envelope("a job", 0, "stranger", ASKS), 0.0)


@pytest.mark.parametrize(
    ("sender", "body", "why"),
    [
        ("p1", Looked("new", ""), "of this rank itself"),
        ("p1", ASKS, "of nobody in this generation"),
        ("p0", Waiting(), "a Waiting that nobody asked for"),
    ],
    ids=["looked", "asks", "waiting"],
)
def test_what_no_member_says_to_another_one_is_refused(sender: str, body: Body, why: str) -> None:
    with pytest.raises(BadMessage, match=why):
        member().receive(Envelope("a job", 0, sender, body), 0.0)


def test_the_next_table_is_taken_by_those_who_are_in_it() -> None:
    one = member()
    one.next((), True, 0.0, 10.0)
    answers(one, "p0", 1, Current(SECOND))
    assert one.outcomes[NEXT] == one.table == SECOND


@pytest.mark.parametrize("table", [next_table(FIRST, [0, 2]), next_table(SECOND, [0, 1, 2])])
def test_a_table_without_us_or_after_the_next_means_that_they_have_gone_on(table: Table) -> None:
    one = member()
    one.next((), True, 0.0, 10.0)
    answers(one, "p0", table.generation, Current(table))
    assert (one.outcomes[NEXT], one.table) == (Gone(), FIRST)
    assert answers(one, "p0", 0, ASKS) == []  # it takes no part any more


def test_who_was_asked_before_it_called_answers_when_it_calls() -> None:
    """And not only when it is asked again, which is an interval later."""
    one = member()
    assert answers(one, "p0", 0, ASKS) == [("p0", Later(NEXT))]
    one.outbox.clear()
    one.next((), True, 1.0, 10.0)
    assert [uid for uid, envelope in one.outbox if isinstance(envelope.body, Promise)] == ["p0"]


def test_who_was_asked_by_a_later_generation_answers_when_it_is_in_it() -> None:
    one = member()
    one.next((), True, 0.0, 10.0)
    asks = Prepare("agree 1", Ballot(1, 0))
    assert ("p0", Later(NEXT)) in answers(one, "p0", 1, asks)
    answers(one, "p0", 1, Current(SECOND))
    one.outbox.clear()
    one.agree(3, "max", (), 1.0, 10.0)
    assert [uid for uid, envelope in one.outbox if isinstance(envelope.body, Promise)] == ["p0"]


def kinds(one: Member, peer: str) -> list[str]:
    return [type(envelope.body).__name__ for uid, envelope in one.outbox if uid == peer]


@pytest.mark.parametrize(("lost", "failed"), [(True, ()), (False, (0,)), (True, (0,))])
def test_who_asked_and_is_gone_when_we_call_does_not_lead(lost: bool, failed: tuple[int, ...]) -> None:
    """It would be waited for, and its attempt for some intervals, though its connection has ended or the
    transport has given it up."""
    one = member()
    answers(one, "p0", 0, ASKS)
    if lost:
        one.absent("p0", 0.5, gone=True)
    one.outbox.clear()
    one.next(failed, True, 1.0, 10.0)
    if not failed:
        one.tick(1.25)  # nobody told us that it need not be waited for: an interval later
    assert kinds(one, "p0") == ["Prepare"] and kinds(one, "p2") == ["Prepare"]
    promise = Promise(NEXT, Ballot(1, -1), {"admit": True, "newcomers": []}, None)
    one.outbox.clear()
    one.receive(Envelope("a job", 0, "p2", promise), 1.5)
    assert kinds(one, "p2") == (["Accept"] if failed else [])


def test_questions_are_kept_for_members_and_as_long_as_they_can_matter() -> None:
    one = member()
    for generation in (1, 2):
        for stranger in range(9):
            answers(one, f"stranger {stranger}", generation, ASKS)
        answers(one, "p1", generation, ASKS)  # our own name
    assert not one._early
    answers(one, "p0", 0, Prepare("agree 1", Ballot(1, 0)))
    answers(one, "p2", 2, ASKS)
    one.next((), True, 0.0, 10.0)
    answers(one, "p2", 1, Current(SECOND))
    assert set(one._early) == {"p2"}  # of a generation that may come


def test_an_old_table_changes_nothing() -> None:
    one = member(SECOND)
    one.next((), True, 0.0, 10.0)
    answers(one, "p0", 0, Current(FIRST))
    assert NEXT not in one.outcomes and one.table == SECOND
    assert any(isinstance(body, Promise) for _, body in answers(one, "p0", 1, ASKS))


def test_a_decision_without_us_ends_us() -> None:
    one = member()
    one.next((), True, 0.0, 10.0)
    answers(one, "p0", 0, Decided(NEXT, {"members": [0, 2], "newcomers": []}))
    assert (one.outcomes[NEXT], one.table) == (Gone(), FIRST)


def test_what_was_promised_is_not_begun_anew() -> None:
    one = member()
    one.next((), True, 0.0, 10.0)
    with pytest.raises(ValueError, match="decided once"):
        one.next((), True, 5.0, 10.0)


CARD = dataclasses.asdict(Card(3, "10.0.0.9", 7, 4096, "raw", "new", "10.0.0.9:1"))


NO_CONTRIBUTIONS = [
    {},
    {"admit": 1, "newcomers": []},
    {"admit": True, "newcomers": [{**CARD, "address": "x"}]},
    {"admit": True, "newcomers": [CARD], "unseen": [1]},
    {"admit": True, "newcomers": [CARD], "unseen": {"new": [3]}},
    {"admit": True, "newcomers": [CARD], "unseen": {"new": 1}},
    {"admit": True, "newcomers": [CARD], "met": ["new"]},
    {"admit": True, "newcomers": [CARD], "met": {"new": 1}},
    {"admit": True, "newcomers": [CARD], "met": {"new": [["old"]]}},
]


NO_DECISIONS = [
    {},
    {"members": [], "newcomers": []},
    {"members": [0, 3], "newcomers": []},
    {"members": [0, 0], "newcomers": []},
    {"members": [0, 1], "newcomers": [{**CARD, "qpn": 0}]},
]


@pytest.mark.parametrize(
    "body",
    [
        *(Promise(NEXT, Ballot(1, 0), contribution, None) for contribution in NO_CONTRIBUTIONS),
        *(Promise(NEXT, Ballot(1, 0), {"admit": True, "newcomers": []}, Accepted(Ballot(1, 0), value))
          for value in NO_DECISIONS),
        *(Accept(NEXT, Ballot(1, 0), value) for value in NO_DECISIONS),
        *(Decided(NEXT, value) for value in NO_DECISIONS),
    ],
)  # fmt: skip
def test_what_cannot_be_part_of_a_decision_is_refused(body: Body) -> None:
    """It would end the service of everyone who takes it, and with it the job."""
    one = member(rank=0)
    one.next((), True, 0.0, 10.0)
    with pytest.raises(BadMessage):
        answers(one, "p2", 0, body)
    assert NEXT not in one.outcomes


@pytest.mark.parametrize(
    "body",
    [
        Promise("agree 1", Ballot(1, 0), {"value": "x", "op": "max"}, None),
        Promise("agree 1", Ballot(1, 0), {"value": 1 << 8192, "op": "max"}, None),
        Promise("agree 1", Ballot(1, 0), {"value": 1}, None),
        Accept("agree 1", Ballot(1, 0), {"value": 1, "ranks": [0, 1]}),
        Decided("agree 1", {"value": None, "ranks": [0, 1], "differs": ""}),
        Decided("agree 1", {"value": 1, "ranks": [0, 9], "differs": ""}),
    ],
)
def test_what_cannot_be_part_of_an_agreement_is_refused(body: Body) -> None:
    one = member(rank=0)
    name = one.agree(3, "max", (), 0.0, 10.0)
    with pytest.raises(BadMessage):
        answers(one, "p2", 0, body)
    assert name not in one.outcomes


@pytest.mark.parametrize("number", [10**4299, -(10**4299), 1 << 62], ids=["most", "least", "63 bits"])
def test_numbers_that_no_member_counts_to_are_refused(number: int) -> None:
    """The next ballot would have more digits than JSON's writer takes."""
    message = to_json(Envelope("a job", 0, "p2", ASKS))
    with pytest.raises(BadMessage, match=r"^expected a whole number of less than 63 bits, not -?\d+$"):
        from_json(message | {"ballot": [number, 0]})
    most = message | {"ballot": [(1 << 62) - 1, 0]}
    assert to_json(from_json(most))["ballot"] == Ballot((1 << 62) - 1, 0)

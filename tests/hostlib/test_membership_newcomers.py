"""Newcomers at a member's door: who looks at whom before they are let in, and who is refused."""

import dataclasses

import pytest
from csaud.membership.arbiter import Majority
from csaud.membership.door import let_in
from csaud.membership.member import NEXT, Member
from csaud.membership.messages import (
    BadMessage,
    Ballot,
    Body,
    Current,
    Envelope,
    HasAccepted,
    Join,
    Json,
    Later,
    Look,
    Looked,
    Promise,
    Refused,
    Waiting,
)
from csaud.rendezvous.table import Card, Table, next_table

from tests.hostlib.one_member import ASKS, CARDS, FIRST, answers, member, sent


def knock(one: Member, uid: str, mode: str = "raw") -> dict[str, list[Body]]:
    """What is said, and to whom, when a newcomer comes."""
    one.outbox.clear()
    card = Card(0, "10.0.0.9", 7, 4096, mode, uid, "10.0.0.9:1")
    one.receive(Envelope("", -1, uid, Join(card, {})), 0.0)
    said = sent(one)
    return {peer: [body for other, body in said if other == peer] for peer, _ in said}


def brought(one: Member, failed: tuple[int, ...] = ()) -> Json:
    """What it contributes to the decision on the next generation."""
    one.next(failed, True, 0.0, 10.0)
    [promise] = [body for _, body in answers(one, "p0", 0, ASKS) if isinstance(body, Promise)]
    return promise.contribution


def uids(contribution: Json) -> list[str]:
    return [fields["uid"] for fields in contribution["newcomers"]]


def comes(one: Member, uid: str, *others: str) -> dict[str, list[Body]]:
    """What is said when a newcomer comes, which then can go on with all the members, and with others that
    wait."""
    said = knock(one, uid)
    for card in CARDS:
        looks_back(one, uid, card.uid)
    for other in others:
        looks_back(one, uid, other)
        looks_back(one, other, uid)
    return said


def looks_back(one: Member, uid: str, subject: str, reason: str = "") -> list[tuple[str, Body]]:
    """A newcomer has looked at a member; what is said then."""
    one.outbox.clear()
    one.receive(Envelope("a job", -1, uid, Looked(subject, reason)), 0.0)
    return sent(one)


def seen(one: Member, uid: str) -> None:
    """The members have looked at a newcomer, and can go on with it."""
    for other in ("p0", "p2"):
        answers(one, other, 0, Looked(uid, ""))


def test_a_newcomer_of_another_address_family_is_refused_by_name() -> None:
    one = member()
    card = Card(0, "fd00::9", 7, 4096, "raw", "new", "[fd00::9]:1")
    one.receive(Envelope("", -1, "new", Join(card, {})), 0.0)
    [(_, body)] = sent(one)
    assert body == Refused("the newcomer is at fd00::9, this job at 10.0.0.1: all IPv4 or all IPv6")
    assert not one.newcomers


def test_a_newcomer_with_other_settings_is_refused_by_their_names_and_leaves_nothing() -> None:
    one = Member(FIRST, "p1", Majority(), {"auth": "off"})
    said = knock(one, "new")
    words = "auth must be the same at every rank: off at this job, None at the newcomer"
    assert said == {"newcomer new": [Refused(words)]}
    assert not one.newcomers and not brought(one)["newcomers"]


def test_a_newcomer_that_the_members_could_not_go_on_with_is_refused_by_name() -> None:
    def obstacle(table: Table, card: Card) -> str:
        return f"{card.mode} beside {table.cards[0].mode}" if card.mode != "raw" else ""

    one = Member(FIRST, "p1", Majority(), {}, obstacle)
    assert knock(one, "new", "verbs") == {"newcomer new": [Refused("verbs beside raw")]}
    assert knock(one, "other")["newcomer other"][0] == Waiting()


def test_a_newcomer_counts_when_it_has_looked_at_all_members() -> None:
    one = member()
    assert knock(one, "new")["newcomer new"] == [Waiting(), *(Look(card) for card in CARDS)]
    seen(one, "new")
    for uid in ("p0", "p1"):
        assert looks_back(one, "new", uid) == [] and not one.newcomers
    assert looks_back(one, "new", "p2") == []
    assert [card.uid for card in one.newcomers.values()] == ["new"]
    assert not brought(one)["unseen"]


@pytest.mark.parametrize("subject", ["p1", "p2"])
def test_a_newcomer_that_cannot_go_on_with_a_member_is_refused_by_name(subject: str) -> None:
    one = member()
    knock(one, "new")
    comes(one, "other", "new")
    seen(one, "new")
    seen(one, "other")
    refused = [("newcomer new", Refused("no way"))]
    assert looks_back(one, "new", subject, "no way") == refused
    assert looks_back(one, "new", "p0", "no way") == []  # nor once more
    assert [card.uid for card in one.newcomers.values()] == ["other"]


def test_a_newcomer_is_refused_for_a_member_when_that_is_known_to_be_there() -> None:
    one = member()
    knock(one, "new")
    assert looks_back(one, "new", "p2", "no way") == []
    answers(one, "p0", 0, Looked("new", ""))
    assert answers(one, "p2", 0, Looked("new", "")) == [("newcomer new", Refused("no way"))]


def test_a_newcomer_need_not_go_on_with_who_is_gone() -> None:
    one = member()
    knock(one, "new")
    seen(one, "new")
    one.absent("p2", 0.0)
    for uid, reason in (("p0", ""), ("p1", ""), ("p2", "no way")):
        assert looks_back(one, "new", uid, reason) == []
    assert one.newcomers and brought(one)["unseen"] == {"new": [2]}
    assert ("newcomer new", Refused("no way")) in answers(one, "p2", 0, Later(NEXT))
    assert not one.newcomers


def test_who_the_transport_has_given_up_need_not_be_reached_by_newcomers() -> None:
    one = member()
    knock(one, "new")
    answers(one, "p0", 0, Looked("new", ""))
    for uid, reason in (("p0", ""), ("p1", ""), ("p2", "no way")):
        looks_back(one, "new", uid, reason)
    assert brought(one, failed=(2,))["unseen"] == {"new": [2]}


def test_members_are_shown_to_newcomers_with_the_mtu_of_the_job() -> None:
    one = Member(dataclasses.replace(FIRST, mtu=1024), "p1", Majority(), {})
    shown = [body.card for body in knock(one, "new")["newcomer new"] if isinstance(body, Look)]
    assert [(card.uid, card.mtu) for card in shown] == [("p0", 1024), ("p1", 1024), ("p2", 1024)]


@pytest.mark.parametrize(("generation", "body"), [(0, Join(CARDS[0], {})), (-1, ASKS), (-1, Look(CARDS[0]))])
def test_newcomers_and_members_say_what_is_theirs(generation: int, body: Body) -> None:
    with pytest.raises(BadMessage, match=f"a {type(body).__name__} in generation {generation}"):
        member().receive(Envelope("a job", generation, "p0", body), 0.0)


def test_a_newcomer_counts_when_all_members_have_looked_at_it() -> None:
    one = member()
    said = comes(one, "new")
    card = dataclasses.replace(CARDS[0], rank=0, address="10.0.0.9", uid="new", door="10.0.0.9:1")
    shown = [Look(card) for card in CARDS]
    assert said == {"newcomer new": [Waiting(), *shown], "p0": [Look(card)], "p2": [Look(card)]}
    assert answers(one, "p0", 0, Looked("new", "")) == []
    assert not one.newcomers
    answers(one, "p2", 1, Looked("new", ""))  # which is in the next generation already
    assert [card.uid for card in one.newcomers.values()] == ["new"]
    contribution = brought(one)
    assert [fields["uid"] for fields in contribution["newcomers"]] == ["new"] and not contribution["unseen"]


def test_a_newcomer_that_another_member_could_not_go_on_with_is_refused_by_name() -> None:
    one = member()
    comes(one, "new")
    answers(one, "p0", 0, Looked("new", ""))
    refused = ("newcomer new", Refused("at rank 2: no route"))
    assert answers(one, "p2", 0, Looked("new", "no route")) == [refused]
    assert brought(one) == {"admit": True, "newcomers": [], "unseen": {}, "met": {}}


def test_members_tell_each_other_whether_they_could_go_on_with_a_newcomer() -> None:
    one = Member(FIRST, "p1", Majority(), {}, lambda table, card: "" if card.mode == "raw" else "verbs")
    for generation in (0, 1):
        for mode, words in (("raw", ""), ("verbs", "verbs")):
            card = Card(0, "10.0.0.9", 7, 4096, mode, "new", "10.0.0.9:1")
            assert answers(one, "p2", generation, Look(card)) == [("p2", Looked("new", words))]


def test_who_is_gone_need_not_look_at_newcomers_and_who_comes_back_is_asked_again() -> None:
    one = member()
    card = comes(one, "new")["p2"][0]
    answers(one, "p0", 0, Looked("new", ""))
    one.absent("p2", 0.0)
    assert one.newcomers
    assert brought(one)["unseen"] == {"new": [2]}  # and where it comes, the newcomer waits on
    assert ("p2", card) in answers(one, "p2", 0, Later(NEXT))
    assert not one.newcomers


def test_who_the_transport_has_given_up_need_not_look_at_newcomers() -> None:
    one = member()
    comes(one, "new")
    answers(one, "p0", 0, Looked("new", ""))
    assert brought(one, failed=(2,))["unseen"] == {"new": [2]}


def test_the_name_of_a_newcomer_is_read_as_text_wherever_it_comes_from() -> None:
    one = member(rank=0)
    one.next((2,), True, 0.0, 10.0)
    card = {**dataclasses.asdict(CARDS[0]), "address": "10.0.0.9", "uid": ["new"]}
    answers(one, "p1", 0, Promise(NEXT, Ballot(1, 0), {"admit": True, "newcomers": [card]}, None))
    answers(one, "p1", 0, HasAccepted(NEXT, Ballot(1, 0)))
    assert [card.uid for card in one.table.cards] == ["p0", "p1", "['new']"]


@pytest.mark.parametrize(("unseen", "admitted"), [({}, ["new"]), ({"new": [2]}, ["new"]), ({"new": [0]}, [])])
def test_a_newcomer_becomes_a_member_with_those_that_have_looked_at_it(
    unseen: dict[str, list[int]], admitted: list[str]
) -> None:
    one = member(rank=0)
    one.next((2,), True, 0.0, 10.0)
    card = Card(0, "10.0.0.9", 7, 4096, "raw", "new", "10.0.0.9:1")
    contribution = {"admit": True, "newcomers": [dataclasses.asdict(card)], "unseen": unseen}
    answers(one, "p1", 0, Promise(NEXT, Ballot(1, 0), contribution, None))
    answers(one, "p1", 0, HasAccepted(NEXT, Ballot(1, 0)))
    assert [card.uid for card in one.table.cards] == ["p0", "p1", *admitted]


def test_members_of_a_new_generation_look_at_newcomers_that_wait() -> None:
    one = member()
    comes(one, "joins")
    comes(one, "waits", "joins")
    answers(one, "p0", 0, Looked("waits", ""))
    joins = Card(0, "10.0.0.8", 7, 4096, "raw", "joins", "10.0.0.8:1")
    one.next((), True, 0.0, 10.0)
    one.flush()
    said = answers(one, "p0", 1, Current(next_table(FIRST, [0, 1], [joins])))
    looks = {peer: body.card.uid for peer, body in said if isinstance(body, Look)}
    assert looks == {"joins": "waits", "newcomer waits": "joins"}
    answers(one, "joins", 1, Looked("waits", ""))
    assert not one.newcomers
    looks_back(one, "waits", "joins")
    assert [card.uid for card in one.newcomers.values()] == ["waits"]


@pytest.mark.parametrize(
    ("reasons", "admitted"), [(("", ""), ["b", "a"]), (("", "no way"), ["b"]), (("no way", ""), ["b"])]
)
def test_of_two_newcomers_that_cannot_go_on_together_the_first_is_let_in(
    reasons: tuple[str, str], admitted: list[str]
) -> None:
    one = member()
    comes(one, "b")
    seen(one, "b")
    assert len(one.newcomers) == 1
    said = knock(one, "a")
    assert [body.card.uid for body in said["newcomer b"] if isinstance(body, Look)] == ["a"]
    assert "b" in [body.card.uid for body in said["newcomer a"] if isinstance(body, Look)]
    seen(one, "a")
    for card in CARDS:
        looks_back(one, "a", card.uid)
    assert not one.newcomers  # they have not looked at each other
    looks_back(one, "a", "b", reasons[0])
    looks_back(one, "b", "a", reasons[1])
    assert len(one.newcomers) == 2
    assert uids(brought(one)) == admitted


def test_the_newcomer_that_the_first_one_goes_before_is_refused_by_a_sentence_that_names_it() -> None:
    one = member()
    comes(one, "b")
    comes(one, "a")
    looks_back(one, "b", "a")
    looks_back(one, "a", "b", "cannot reach rank 0")  # as a newcomer it has no rank
    one.next((), True, 0.0, 10.0)
    first = Card(0, "10.0.0.9", 7, 4096, "raw", "b", "10.0.0.9:1")
    said = answers(one, "p0", 1, Current(next_table(FIRST, [0, 1, 2], [first])))
    assert [body.card.rank for peer, body in said if peer == "newcomer a" and isinstance(body, Look)] == [3]
    answers(one, "b", 1, Looked("a", ""))
    refused = [("newcomer a", Refused("cannot reach rank 3"))]
    assert looks_back(one, "a", "b", "cannot reach rank 3") == refused


def test_newcomers_at_two_doors_look_at_each_other() -> None:
    one = member()
    comes(one, "here")
    seen(one, "here")
    there = Card(0, "10.0.0.8", 7, 4096, "raw", "there", "10.0.0.8:1")
    said = answers(one, "p2", 0, Look(there))
    assert [(peer, body.card.uid) for peer, body in said if isinstance(body, Look)] == [
        ("newcomer here", "there"),
        ("p2", "here"),
    ]
    assert not one.newcomers
    assert answers(one, "p2", 0, Look(there)) == [("p2", Looked("there", ""))]  # it is no news
    looks_back(one, "here", "there")
    assert len(one.newcomers) == 1 and brought(one)["met"] == {"here": ["there"]}


def test_a_newcomer_that_comes_from_another_door_looks_at_those_who_know_it() -> None:
    one = member()
    comes(one, "here")
    answers(one, "p2", 0, Look(Card(0, "10.0.0.9", 7, 4096, "raw", "there", "10.0.0.9:1")))
    looks_back(one, "here", "there")
    said = knock(one, "there")["newcomer there"]
    assert "here" in [body.card.uid for body in said if isinstance(body, Look)]


@pytest.mark.parametrize(
    ("met", "admitted"),
    [
        ({"new": ["own"]}, ["own"]),
        ({}, ["own"]),
        ({"new": ["own"], "own": ["new"]}, ["own", "new"]),
    ],
)
def test_newcomers_of_two_doors_are_let_in_together_where_both_have_looked(
    met: dict[str, list[str]], admitted: list[str]
) -> None:
    own, new = (
        dataclasses.replace(CARDS[0], uid=uid, address=address)
        for uid, address in (("own", "10.0.0.8"), ("new", "10.0.0.9"))
    )
    brings = [
        {"admit": True, "newcomers": [dataclasses.asdict(card)], "met": {card.uid: met.get(card.uid, [])}}
        for card in (own, new)
    ]
    assert [card.uid for card in let_in({0: brings[0], 2: brings[1]})] == admitted


def test_other_newcomers_that_one_has_looked_at_are_forgotten_some_time() -> None:
    one = member()
    comes(one, "stays")
    for number in range(1100):
        card = Card(0, "10.0.0.8", 7, 4096, "raw", f"goes {number}", "10.0.0.8:1")
        one.receive(Envelope("a job", 0, "p2", Look(card)), 0.0)
        looks_back(one, "stays", card.uid)
    seen(one, "stays")
    assert len(brought(one)["met"]["stays"]) == 1024

"""Who is on a rank's own link, as questions and answers tell, in virtual time."""

import random
from ipaddress import IPv4Address
from types import SimpleNamespace
from typing import Any

import pytest
from csaud.rendezvous.table import Card, Table
from csaud.start.sharing import link_trains
from csaud_testnet import LinkTrial, QuestionKind, decode_question, encode_question

MS = 1_000_000  # ns
NONCE = 0x1234_5678_9ABC_DEF0
QUESTION = QuestionKind.question
SINGLE, BRIEF, WHOLE = 0, 2, 255  # packets of padding


def on_link_at(now: int) -> LinkTrial:
    """A trial that both questions have passed."""
    trial = LinkTrial(NONCE)
    assert trial.due(now) == (QUESTION, SINGLE, NONCE)
    trial.answered(SINGLE, NONCE, now)
    assert trial.due(now) == (QUESTION, WHOLE, NONCE)
    assert not trial.on_link(now)
    trial.answered(WHOLE, NONCE, now)
    assert trial.on_link(now)
    return trial


def times_asked(trial: LinkTrial, begin: int, end: int) -> list[int]:
    """When it asks, in ms since `begin`, if there is something to send each millisecond."""
    return [(now - begin) // MS for now in range(begin, end, MS) if trial.due(now) is not None]


def test_nobody_is_on_the_link_before_a_train_went_there_and_an_answer_came_back():
    on_link_at(5)


def test_who_does_not_answer_is_asked_four_times():
    trial = LinkTrial(NONCE)
    assert times_asked(trial, MS, 60_000 * MS) == [0, 20, 220, 2220]
    assert not trial.on_link(60_000 * MS)


def test_who_asks_is_asked_again():
    """A peer that had not begun when it was asked begins by asking."""
    trial = LinkTrial(NONCE)
    times_asked(trial, MS, 60_000 * MS)
    trial.asked()
    assert trial.due(60_000 * MS) == (QUESTION, SINGLE, NONCE)


def test_a_peer_stays_on_the_link_while_it_answers():
    trial = on_link_at(MS)
    asked = []
    for now in range(MS, 10_000 * MS, MS):
        if (question := trial.due(now)) is not None:
            assert question == (QUESTION, BRIEF, NONCE)
            asked.append(now)
            trial.answered(BRIEF, NONCE, now)
        assert trial.on_link(now)
    assert len(asked) == 199, "each 50 ms"


def test_a_peer_is_on_the_link_no_more_once_it_has_not_answered_for_a_quarter_of_a_second():
    trial = on_link_at(0)
    while_trusted = [now for now in range(0, 400 * MS, MS) if trial.due(now) and trial.on_link(now)]
    assert trial.on_link(250 * MS - 1) and not trial.on_link(250 * MS)
    assert while_trusted == [50 * MS, 100 * MS, 150 * MS, 200 * MS]


def test_a_peer_that_was_on_the_link_is_tried_from_the_start_after_a_pause():
    trial = on_link_at(0)
    assert not trial.on_link(9_000 * MS)
    assert trial.due(9_000 * MS) == (QUESTION, SINGLE, NONCE)
    trial.answered(SINGLE, NONCE, 9_000 * MS)
    assert not trial.on_link(9_000 * MS), "the way may be another one by now"
    assert trial.due(9_000 * MS) == (QUESTION, WHOLE, NONCE)


@pytest.mark.parametrize(
    "answers",
    [[(SINGLE, NONCE ^ 1), (WHOLE, NONCE ^ 1)], [(WHOLE, NONCE)], [(SINGLE, NONCE)]],
    ids=["of a stranger", "to what was not asked", "to the single packet alone"],
)
def test_answers_that_prove_nothing_change_nothing(answers):
    trial = LinkTrial(NONCE)
    trial.due(MS)
    for answer in answers:
        trial.answered(*answer, MS)
    assert not trial.on_link(MS)


def test_two_peers_stop_asking_where_short_packets_pass_and_trains_do_not():
    ends = [LinkTrial(1), LinkTrial(2)]
    asked = 0
    for now in range(0, 60_000 * MS, MS):
        for me, other in (ends, ends[::-1]):
            question = me.due(now)
            if question is None:
                continue
            asked += 1
            if question[1] == SINGLE:
                other.asked()
                me.answered(SINGLE, question[2], now)
    assert asked == 2 * (1 + 4)
    assert not any(end.on_link(60_000 * MS) for end in ends)


@pytest.mark.parametrize("kind", list(QuestionKind))
def test_questions_are_read_as_they_were_written(kind):
    assert decode_question(encode_question(kind, 7, NONCE)) == (kind, 7, NONCE)
    assert decode_question(encode_question(kind, 7, NONCE) + bytes(1000)) == (kind, 7, NONCE)


def test_what_is_no_question_is_none():
    good = encode_question(QUESTION, SINGLE, NONCE)
    for cut in range(len(good)):
        assert decode_question(good[:cut]) is None
    for kind in (0, 4, 255):
        assert decode_question(good[:4] + bytes([kind]) + good[5:]) is None
    packet = b"\x64" + random.Random(1).randbytes(200)  # a BTH's opcode
    assert decode_question(packet) is None


def test_a_device_is_told_of_other_ranks_that_take_trains_and_share_no_memory_with_it():
    """Where each is asked, and whether it can be sent trains: by UDP sockets alone."""
    takes, modes = [7001, 7002, 0, 7004, 7005], ["udp", "udp", "udp", "raw", "udp"]
    cards = [
        Card(rank, f"10.0.0.{rank + 1}", 17, 4096, mode, trains=port)
        for rank, (port, mode) in enumerate(zip(takes, modes, strict=True))
    ]
    told: list[Any] = []
    device: Any = SimpleNamespace(link=lambda others, mtu: told.append((others, mtu)))
    link_trains(device, Table(tuple(cards), 1, 2, 1024), 0, local_ranks=[1])
    address = int(IPv4Address("10.0.0.0"))
    assert told == [([(3, address + 4, 7004, False), (4, address + 5, 7005, True)], 1024)]
    link_trains(SimpleNamespace(link=None), Table(tuple(cards), 1, 2, 1024), 0, local_ranks=[])

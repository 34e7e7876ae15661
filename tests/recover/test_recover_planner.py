"""What ranks ask each other when they settle how to go on."""

from __future__ import annotations

from typing import Any

import pytest
from csaud.membership.agreement import OPERATIONS
from csaud.membership.limits import MOST_BITS
from csaud.recover.placement import ShardLost
from csaud.recover.planner import CURRENT, INITIAL, NONE, Agree, Holding, Plan, Planner, StateLost, plan


def settled(planners: list[Planner]) -> list[Plan | None]:
    """Of ranks that all live."""
    asked = [planner.settle(rank) for rank, planner in enumerate(planners)]
    answers: list[Any] = [None] * len(asked)
    plans: list[Plan | None] = []
    while not plans:
        questions = []
        for one, answer in zip(asked, answers, strict=True):
            try:
                questions.append(one.send(answer))
            except StopIteration as end:
                plans.append(end.value)
        if questions and isinstance(questions[0], Agree):
            assert all(question.value.bit_length() <= MOST_BITS for question in questions)
            combine = OPERATIONS[questions[0].op]
            answers = [combine([question.value for question in questions])] * len(asked)
        else:
            answers = [[question.holding for question in questions]] * len(asked)
    assert len(plans) == len(planners)
    return plans


def test_more_items_than_an_agreement_has_bits() -> None:
    """What all have of 20,000 is kept, but for some that are next to one that somebody has not; and where all
    have all, the stage is over."""
    items = 20_000
    planners = [Planner([(4, items)], CURRENT) for _ in range(3)]
    for rank, planner in enumerate(planners):
        for item in range(12_000 + rank):
            planner.complete(item)
    assert None not in settled(planners)
    for planner in planners:
        assert planner.done <= set(range(12_000)) and len(planner.done) > 11_990
        assert planner.items_left[0] == len(planner.done)
        for item in list(planner.items_left):
            planner.complete(item)
    assert settled(planners) == [None] * 3


def test_few_items_are_kept_one_by_one() -> None:
    planners = [Planner([(4, 5)], INITIAL) for _ in range(2)]
    for planner, done in zip(planners, ({0, 2, 3}, {0, 3, 4}), strict=True):
        for item in done:
            planner.complete(item)
    settled(planners)
    assert [planner.done for planner in planners] == [{0, 3}] * 2


def test_newcomers_alone_have_nothing_to_go_on_with() -> None:
    with pytest.raises(StateLost):
        settled([Planner([(4, 5)], NONE) for _ in range(2)])
    assert None not in settled([Planner([(4, 5)], NONE), Planner([(4, 5)], INITIAL)])


def test_a_shard_that_nobody_brings_is_named() -> None:
    holdings = [Holding(CURRENT, 0, 0b001), Holding(CURRENT, 0, 0b101)]
    with pytest.raises(ShardLost) as lost:
        plan(4, holdings, 3)
    assert lost.value.shard == 1
    with pytest.raises(StateLost):
        plan(4, [Holding(NONE, 0, 0)] * 2)

"""When the controller computes anew while links come and go; times in microseconds for the eye."""

from itertools import pairwise

import pytest
from csaud_controller.control.gathering import Gathering


def computations(events: list[int], cost: int) -> list[int]:
    """When computations begin, each `cost` long, with events coming in whenever nothing is being computed."""
    gathering, began = Gathering(), []
    waiting = sorted(events)
    now = 0
    while waiting or gathering.due is not None:
        if gathering.due is not None and (not waiting or gathering.due <= waiting[0]):
            now = max(now, gathering.due)
            began.append(now)
            gathering.computed(now, now + cost)
            now += cost
        else:
            now = max(now, waiting.pop(0))
            gathering.event(now)
    return began


def test_a_single_event_waits_for_nothing() -> None:
    assert computations([1000], 20) == [1000]


def test_events_of_one_moment_are_one_computation() -> None:
    gathering = Gathering()
    assert gathering.event(1000) == 1000
    assert [gathering.event(1000) for _ in range(9)] == [None] * 9


def test_a_burst_is_two_computations_whatever_its_size() -> None:
    assert computations([1000, *range(1001, 1040)], 20) == [1000, 1040]


def test_events_far_apart_wait_for_nothing() -> None:
    assert computations([1000, 1040, 1081], 20) == [1000, 1040, 1081]


@pytest.mark.parametrize("cost", [1, 20, 100])
def test_an_endless_burst_takes_half_of_the_time_and_no_event_waits_longer_than_one_computation(
    cost: int,
) -> None:
    began = computations(list(range(1000, 3000)), cost)
    assert {b - a for a, b in pairwise(began)} == {2 * cost}
    assert began[-1] <= 2999 + cost


def test_what_came_in_before_a_computation_is_in_it() -> None:
    gathering = Gathering()
    gathering.event(1000)
    gathering.computed(1005, 1025)
    assert gathering.event(1030) == 1045

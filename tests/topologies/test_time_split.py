"""Where the ranks' time went: each moment of a rank is one of four things."""

from __future__ import annotations

from typing import Any

import pytest
from csaud_topologies.record.time_split import covered, time_split


def span(
    number: int, started: float, ended: float, *waited: tuple[float, float], peer: int = -1, epoch: int = 0
) -> dict[str, Any]:
    return {
        "communicator": 0, "number": number, "peer": peer, "epoch": epoch,
        "started": started, "ended": ended, "waited": [list(each) for each in waited],
    }  # fmt: skip


def parts(spans: list[list[dict[str, Any]]]) -> list[tuple[float, float, float, float]]:
    return [
        (each.computing_s, each.beside_s, each.communicating_s, each.waiting_s)
        for each in time_split(spans) or ()
    ]


def test_a_wait_is_for_the_last_rank_until_it_has_called() -> None:
    """Then it is communication; in between two collectives is computing."""
    first = [span(0, 10, 14, (10, 14)), span(1, 20, 21, (20, 21))]
    second = [span(0, 13, 14, (13, 14)), span(1, 19, 21, (19, 21))]
    assert parts([first, second]) == [(6, 0, 2, 3), (5, 0, 2, 1)]


def test_what_is_not_waited_for_is_beside_computing() -> None:
    """Two at once are one time; a rank that comes late hides what the others wait."""
    spans = [span(0, 0, 4, (3, 4)), span(1, 2, 6), span(2, 8, 9, (8, 9))]
    assert parts([spans]) == [(2, 5, 2, 0)]


def test_a_wait_that_began_after_the_last_rank_called_is_communication() -> None:
    assert parts([[span(0, 0, 9, (5, 9))], [span(0, 4, 9, (4, 9))]]) == [(0, 5, 4, 0), (0, 0, 5, 0)]


def test_a_collective_that_ends_here_before_another_rank_calls_it_is_waited_for_no_longer_than_it_took() -> (
    None
):
    """As a broadcast's root does."""
    assert parts([[span(0, 0, 1, (0, 1))], [span(0, 5, 6, (5, 6))]]) == [(0, 0, 0, 1), (0, 0, 1, 0)]


def test_transfers_and_other_epochs_have_numbers_of_their_own() -> None:
    alone = [span(0, 0, 2, (0, 2)), span(0, 4, 6, (4, 6), peer=1)]
    later = [span(0, 50, 51, (50, 51), epoch=1), span(0, 60, 61, (60, 61), peer=0, epoch=1)]
    assert parts([alone, later]) == [(2, 0, 4, 0), (9, 0, 2, 0)]


def test_a_rank_that_told_nothing_has_no_row() -> None:
    found = time_split([[], [span(0, 0, 1)]])
    assert found is not None and [(each.rank, each.collectives) for each in found] == [(1, 1)]
    assert time_split([[], []]) is None


@pytest.mark.parametrize(
    ("intervals", "length"),
    [([], 0), ([(1, 2), (5, 7)], 3), ([(0, 9), (1, 2), (8, 10)], 10), ([(1, 2), (0, 1)], 2)],
)
def test_what_is_covered_twice_counts_once(intervals: list[tuple[float, float]], length: float) -> None:
    assert covered(intervals) == length

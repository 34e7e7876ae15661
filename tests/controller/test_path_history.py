"""What has become of paths, in one order of time."""

import asyncio
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.control.maintenance import Maintenance
from csaud_controller.control.path_history import path_history
from csaud_controller.desired.history import KEPT
from csaud_controller.inventory import leaf_spine

FABRIC = leaf_spine(2, 2)


def revision(time: float, *what: str, who: str = "ann") -> dict[str, Any]:
    return {"revision": int(time), "time": time, "who": who, "what": [*what], "note": ""}


EVENTS = [
    {"time": 2.0, "what": "l1-s1", "up": False, "why": "3 probes lost"},
    {"time": 3.0, "what": "l1-s1", "up": True, "why": "probes pass again"},
    {"time": 5.0, "what": "s2", "up": False, "why": "forwards nothing"},
    {"time": 6.0, "what": "l2-h3", "up": False, "why": "nothing comes"},
]
REVISIONS = [
    revision(1.0, "policy.spray: random -> ecmp"),
    revision(4.0, "drain l1-s1: none -> yes", "policy.trim_size: 94 -> 128"),
    revision(7.0, "policy.weights.l2.l1.1: none -> 3"),
    revision(8.0, "fault l1:1: none -> 0.1"),
]


def times(about: str | None) -> list[float]:
    return [each["time"] for each in path_history(FABRIC, reversed(REVISIONS), EVENTS, about)]


def test_all_that_concerns_paths_newest_first() -> None:
    assert times(None) == [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    drained = path_history(FABRIC, REVISIONS[::-1], EVENTS)[3]
    assert (drained["what"], drained["who"], drained["bad"]) == ("drain l1-s1: none -> yes", "ann", False)
    (down,) = [each for each in path_history(FABRIC, REVISIONS[::-1], EVENTS) if each["time"] == 2.0]
    assert (down["what"], down["why"], down["bad"]) == ("l1-s1 down", "3 probes lost", True)


def test_what_came_later_stays_later_when_the_clock_was_set_back() -> None:
    """By an hour, between the link's failure and its return."""
    events = [
        {"time": 9000.0, "what": "l1-s1", "up": False, "why": "3 probes lost"},
        {"time": 5401.0, "what": "l1-s1", "up": True, "why": "probes pass again"},
    ]
    asked = [revision(8999.0, "drain s2: none -> yes"), revision(5402.0, "drain s2: yes -> none")]
    told = path_history(FABRIC, reversed(asked), events)
    for name, what in (
        ("l1-s1", ["l1-s1 up", "l1-s1 down"]),
        ("s2", ["drain s2: yes -> none", "drain s2: none -> yes"]),
    ):
        assert [each["what"] for each in told if name in each["what"]] == what


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ("l1-s1", [7.0, 4.0, 3.0, 2.0, 1.0]),
        ("s1:1", [7.0, 4.0, 3.0, 2.0, 1.0]),
        ("l2-s2", [7.0, 5.0, 1.0]),
        ("h3", [7.0, 6.0, 1.0]),
    ],
)
def test_what_concerns_one_of_them(about: str, found: list[float]) -> None:
    assert times(about) == found


def test_a_thing_that_is_not_there_is_named() -> None:
    with pytest.raises(FieldError, match="unknown link, switch or host 'x9'"):
        times("x9")


@pytest.mark.parametrize("about", [None, "l1-s1"])
def test_no_more_is_looked_at_than_is_asked_for(about: str | None) -> None:
    def endless() -> Iterator[dict[str, Any]]:
        for number in count():
            yield revision(100.0 - number, "drain l1-s1: none -> yes", "policy.trim_size: 94 -> 128")
            yield revision(99.5 - number, "drain l2-s2: none -> yes")

    found = path_history(FABRIC, endless(), EVENTS, about, 3)
    step = 0.5 if about is None else 1.0
    assert [each["time"] for each in found] == [100.0, 100.0 - step, 100.0 - 2 * step]
    assert path_history(FABRIC, [], EVENTS, None, 1)[0]["time"] == 6.0


class Kept:
    """A history that says how much of it is read."""

    def __init__(self, revisions: list[dict[str, Any]]) -> None:
        self._revisions = revisions
        self.read: list[int] = []

    async def newest(self, limit: int) -> list[dict[str, Any]]:
        self.read.append(limit)
        return self._revisions[:limit]


@pytest.mark.parametrize(
    ("times", "read", "found"),
    [
        ([9.0 - n / 100 for n in range(100)], [8], [9.0, 8.99]),
        ([9.0], [8], [9.0, 6.0]),
        ([4.0 - n / 100 for n in range(100)], [8], [6.0, 5.0]),
    ],
)
def test_the_history_is_read_as_far_as_it_takes(
    times: list[float], read: list[int], found: list[float]
) -> None:
    kept = Kept([revision(time, "policy.spray: random -> ecmp") for time in times])
    assert [each["time"] for each in asked(kept, 2)] == found
    assert kept.read == read


def test_all_of_the_history_is_read_where_little_of_it_concerns_paths() -> None:
    others = [revision(9.0 - n / 100, "policy.trim_size: 94 -> 128") for n in range(100)]
    kept = Kept([*others, revision(7.5, "policy.spray: random -> ecmp")])
    assert [each["time"] for each in asked(kept, 2)] == [7.5, 6.0], "though events alone would do"
    assert kept.read == [8, KEPT]


def asked(history: Kept, limit: int) -> list[dict[str, Any]]:
    async def never(*_: Any) -> Any:
        raise AssertionError

    controller: Any = SimpleNamespace(history=history, fabric=FABRIC, events=EVENTS, revision=1)
    answer = asyncio.run(Maintenance(controller, never).ops["path.history"]({"limit": limit}))
    found: list[dict[str, Any]] = answer["history"]
    return found


def test_what_a_change_concerns_takes_no_time_that_grows_with_the_fabric() -> None:
    """The names of a fabric are gathered once, not for each of what was asked for."""

    class Counted(dict[str, Any]):
        gathered = 0

        def __iter__(self) -> Iterator[str]:
            Counted.gathered += 1
            return super().__iter__()

    fabric = leaf_spine(2, 2)
    fabric = fabric.model_copy(update={"switches": Counted(fabric.switches)})
    path_history(fabric, REVISIONS * 100, EVENTS, "l1-s1")
    assert Counted.gathered <= 1

"""What has become of paths, in one order of time."""

from typing import Any

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.control.path_history import path_history
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
    return [each["time"] for each in path_history(FABRIC, REVISIONS, EVENTS, about)]


def test_all_that_concerns_paths_newest_first() -> None:
    assert times(None) == [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    drained = path_history(FABRIC, REVISIONS, EVENTS)[3]
    assert (drained["what"], drained["who"], drained["bad"]) == ("drain l1-s1: none -> yes", "ann", False)
    (down,) = [each for each in path_history(FABRIC, REVISIONS, EVENTS) if each["time"] == 2.0]
    assert (down["what"], down["why"], down["bad"]) == ("l1-s1 down", "3 probes lost", True)


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

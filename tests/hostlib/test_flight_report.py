"""What flight records of several ranks say together."""

from collections.abc import Sequence
from typing import Any

from csaud.flight.report import findings

CALL = {"name": "all_reduce.ring", "dtype": "float32", "op": "sum", "root": -1, "detail": ""}


def row(communicator: int, number: int, ranks: Sequence[int], count: int, state: str = "ended") -> Any:
    return {
        "communicator": communicator, "number": number, "call": {**CALL, "count": count}, "bytes": 4 * count,
        "ranks": list(ranks), "peer": -1, "sends": False, "state": state, "error": "", "started": 1.0,
        "ended": 2.0 if state == "ended" else None, "waits_for": [],
    }  # fmt: skip


def dumps(*rows: list[Any]) -> list[Any]:
    return [
        {"rank": rank, "world": len(rows), "epoch": 1, "time": 1.0, "reason": "", "collectives": own}
        for rank, own in enumerate(rows)
    ]


def test_groups_of_a_split_have_one_number_and_are_told_apart() -> None:
    """Two groups of communicator 1, of which the second one does more, and other things: all is well."""
    first = [row(1, 0, (0, 1), 10)]
    second = [row(1, number, (2, 3), 20) for number in range(3)]
    found = findings(dumps(first, first, second, second))
    assert [(finding.kind, finding.ranks) for finding in found] == [("even", (0, 1)), ("even", (2, 3))]


def test_who_lags_in_one_of_them_is_named_with_its_group() -> None:
    first = [row(1, 0, (0, 1), 10)]
    behind, ahead = [row(1, 0, (2, 3), 20)], [row(1, 0, (2, 3), 20), row(1, 1, (2, 3), 20, "running")]
    found = findings(dumps(first, first, behind, ahead))
    assert [(finding.kind, finding.ranks) for finding in found] == [
        ("even", (0, 1)), ("lags", (2,)), ("waits", (3,)),
    ]  # fmt: skip
    assert found[1].text.startswith("among ranks 2, 3: rank 2 lags: all_reduce.ring(sum, 20 x float32)")


def test_a_rank_that_called_nothing_in_its_group_lags() -> None:
    found = findings(dumps([row(0, 0, (0, 1), 10, "running")], []))
    assert [(finding.kind, finding.ranks) for finding in found] == [("lags", (1,)), ("waits", (0,))]
    assert found[0].text.startswith("rank 1 lags: called nothing")

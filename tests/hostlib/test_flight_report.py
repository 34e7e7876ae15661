"""What flight records of several ranks say together."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.flight.recorder import VERSION
from csaud.flight.report import findings, read

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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call("barrier.dissemination"), "barrier.dissemination()"),
        (Call("all_reduce.ring", "float32", 7, "sum"), "all_reduce.ring(sum, 7 x float32)"),
        (Call("broadcast.tree", "int8", 0, "", 0), "broadcast.tree(0 x int8, root 0)"),
        (Call("gather", "int8", -1, "", 1, "counts 3 4"), "gather(int8, root 1, counts 3 4)"),
    ],
)
def test_a_call_in_words(call: Call, words: str) -> None:
    """No elements are a number, too, and so is rank 0."""
    assert str(call) == words


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


def test_unlike_calls_under_one_number_come_first_and_only_the_first_of_them() -> None:
    """What comes later follows from it."""
    other = {
        **row(0, 1, (0, 1, 2), 10, "running"),
        "call": {**CALL, "name": "barrier", "op": "", "count": -1},
    }
    ranks = [[row(0, 0, (0, 1, 2), 10), row(0, 1, (0, 1, 2), 10, "running")] for _ in range(3)]
    ranks[1][1] = other
    for number, rank in enumerate(ranks):
        rank.append(row(0, 2, (0, 1, 2), 20 + number, "running"))
    found = findings(dumps(*ranks))
    assert [(finding.kind, finding.ranks) for finding in found if finding.kind != "waits"] == [
        ("differ", (0, 1, 2))
    ]
    assert found[0].text == (
        "number 1 is not the same everywhere: all_reduce.ring(sum, 10 x float32) at ranks 0, 2; "
        "barrier(float32) at rank 1"
    )


@pytest.mark.parametrize(("sends", "way"), [(True, "to"), (False, "from")])
def test_a_transfer_that_runs_says_with_whom_and_what_is_missing(sends: bool, way: str) -> None:
    wait = {"rank": 1, "sends": sends, "step": 0, "chunk": 3, "nbytes": 40, "arrived": 2, "packets": 5}
    runs = {**row(0, 7, (0, 1), 10, "running"), "peer": 1, "sends": sends, "waits_for": [wait]}
    over = {**row(0, 6, (0, 1), 10), "peer": 1, "sends": sends}
    (found,) = findings(dumps([over, runs], []))
    assert (found.kind, found.ranks) == ("waits", (0,))
    assert found.text == (
        f"rank 0: all_reduce.ring(sum, 10 x float32) {way} rank 1, number 7, runs, waiting for messages "
        f"{way} rank 1 (step 0, message 3: 3 of 5 packets missing)"
    )


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda dump: dump.update(version=VERSION + 1), f": version {VERSION + 1}, expected {VERSION}"),
        (lambda dump: dump.pop("pid"), " is no flight record: KeyError('pid')"),
        (lambda dump: dump.update(world="two"), " is no flight record: TypeError("),
        (lambda dump: dump.update(time="noon"), " is no flight record: ValueError("),
        (lambda dump: dump["collectives"][0].pop("peer"), " is no flight record: KeyError('peer')"),
        (lambda dump: dump["collectives"][0]["call"].pop("name"), " is no flight record: TypeError("),
    ],
    ids=["version", "process", "ranks", "time", "row", "call"],
)
def test_a_record_that_cannot_be_read_is_named(change: Change, why: str, tmp_path: Path) -> None:
    (dump,) = dumps([row(0, 0, (0,), 10)])
    dump |= {"version": VERSION, "host": "here", "pid": 1}
    path = tmp_path / "epoch-1-rank-0.json"
    path.write_text(json.dumps(dump))
    assert [found["rank"] for found in read(tmp_path)] == [0]
    change(dump)
    path.write_text(json.dumps(dump))
    with pytest.raises(ConfigError) as refused:
        read(tmp_path)
    assert str(refused.value).startswith(f"{path}{why}")

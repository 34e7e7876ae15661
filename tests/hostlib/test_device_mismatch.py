"""Ranks that call different collectives: every rank ends with an error that says what differs."""

import pytest

from tests.hostlib.jobs import Job
from tests.support.marks import some, thorough

LARGE = 700_000  # float32, several messages a chunk

UNLIKE = {
    "op": ([["all_reduce", 1000, "float32", "sum"]], [["all_reduce", 1000, "float32", "max"]]),
    "dtype of the same bytes": (
        [["all_reduce", 1000, "float32", "sum"]],
        [["all_reduce", 1000, "int32", "sum"]],
    ),
    "size": ([["all_reduce", 1000, "int64", "sum"]], [["all_reduce", 1001, "int64", "sum"]]),
    "size by whole messages": (
        [["broadcast", LARGE, "float32", 0]],
        [["broadcast", LARGE + 2 * 520_192, "float32", 0]],
    ),
    "order": (
        [["all_gather", 100, "int32", ""], ["barrier", 0, "int32", ""]],
        [["barrier", 0, "int32", ""], ["all_gather", 100, "int32", ""]],
    ),
    "root": ([["broadcast", 10, "int32", 0]], [["broadcast", 10, "int32", 1]]),
    "root of a reduction": ([["reduce", 10, "int32", 0]], [["reduce", 10, "int32", 1]]),
    "large": ([["all_reduce", LARGE, "float32", "sum"]], [["all_reduce", LARGE, "int32", "sum"]]),
    "reduce_scatter": ([["reduce_scatter", 40, "int32", "min"]], [["reduce_scatter", 40, "int32", "max"]]),
}


PATIENT = {"timeout": 50, "dead_after": 60.0}  # a rank that a busy machine keeps waiting is no dead one
IN_MAKE_TEST = ("op", "dtype of the same bytes", "size", "order")


@pytest.mark.parametrize("what", some(UNLIKE, IN_MAKE_TEST))
@pytest.mark.parametrize("world", [thorough(2), 4])
def test_every_rank_ends_with_an_error_that_says_what_differs(what: str, world: int) -> None:
    """The last rank is unlike the others. None of them gets a result, of which part could be wrong."""
    most, last = UNLIKE[what]
    then = [["barrier", 0, "int8", ""]]  # who had no part in what failed hears of it in the next one
    arguments = {"ranks": [most + then] * (world - 1) + [last + then], "settings": PATIENT}
    with Job(world, "calls", arguments) as job:
        ends = job.ends()
    assert {end["error"] for end in ends} == {"MismatchError"}, ends
    for end in ends:  # several may have found it at once, each between itself and the last rank
        assert "number 0 of communicator 0" in end["message"]
        assert f"rank {world - 1}" in end["message"]
        for call in (most[0], last[0]):
            assert call[0] in end["message"]
            assert call[2] in end["message"] or call[0] == "barrier"
    if what == "op":
        assert "sum" in ends[0]["message"] and "max" in ends[0]["message"]
    if what in ("op", "dtype of the same bytes", "size", "large"):
        assert [worker for worker in job.workers if any(e["event"] == "returned" for e in worker._seen)] == []


def test_what_differs_is_told_whole_to_ranks_that_authenticate_it() -> None:
    """The note is longer than any bitmap."""
    most, last = UNLIKE["op"]
    settings = {**PATIENT, "secret": "correct horse battery staple", "auth": "headers"}
    with Job(2, "calls", {"ranks": [most, last], "settings": settings}) as job:
        ends = job.ends()
    assert {end["error"] for end in ends} == {"MismatchError"}, ends


FULL = 512 * (256 - 32) // 4  # int32 of a message of the longest


@pytest.mark.parametrize(
    ("sent", "expected", "nbytes"), [(5, 6, 24), (2 * FULL, FULL, 0), (FULL, 3 * FULL, 4 * FULL)]
)
def test_lengths_that_do_not_fit_together_are_named_by_who_expected_others(
    sent: int, expected: int, nbytes: int
) -> None:
    """Rank 1 expects another number of elements of rank 0; also where either is so many full messages."""
    calls = [
        [["all_to_all_v", 0, "int32", lengths], ["barrier", 0, "int8", ""]]
        for lengths in ([[0, sent], [0, 4]], [[4, 0], [expected, 0]])
    ]
    with Job(2, "calls", {"ranks": calls, "settings": {"mtu": 256}}) as job:
        ends = job.ends()
    assert ends[1]["error"] == "ProtocolError", ends
    assert (
        f"rank 0 sent what contradicts the collective: this rank expected a message of {nbytes} bytes"
        in (ends[1]["message"])
    )
    assert ends[0]["error"] == "Aborted" and f"{nbytes} bytes" in ends[0]["message"], ends


def test_lengths_that_differ_are_named() -> None:
    """Of the same array, cut by one rank in another way."""
    most, last = [["reduce_scatter_v", 12, "int32", counts] for counts in ([4, 4, 4], [4, 5, 3])]
    then = ["barrier", 0, "int8", ""]
    with Job(3, "calls", {"ranks": [[most, then], [most, then], [last, then]]}) as job:
        ends = job.ends()
    assert {end["error"] for end in ends} == {"MismatchError"}, ends
    for end in ends:
        assert "counts 4,4,4" in end["message"] and "counts 4,5,3" in end["message"]


def test_masks_that_differ_are_named() -> None:
    """As many elements, one of them another one."""
    most, last = [["sparse_all_reduce", 20, "float32", mask] for mask in ([1, 2, 3], [1, 2, 4])]
    then = ["barrier", 0, "int8", ""]
    with Job(3, "calls", {"ranks": [[most, then], [most, then], [last, then]]}) as job:
        ends = job.ends()
    assert {end["error"] for end in ends} == {"MismatchError"}, ends
    for end in ends:
        assert "sparse_all_reduce(sum, 3 x float32, halving_doubling, of 20, mask #" in end["message"]


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (["send", 10, "float32", 1], ["recv", 10, "int32", 0]),
        (["send", 10, "int32", 1], ["recv", 9, "int32", 0]),
    ],
)
def test_a_transfer_of_another_size_or_type_than_expected(sent: list, received: list) -> None:
    with Job(3, "calls", {"ranks": [[sent], [received], [["barrier", 0, "int8", ""]]]}) as job:
        ends = job.ends()
    assert {end["error"] for end in ends} == {"MismatchError"}, ends
    assert f"transfer({sent[1]} x {sent[2]})" in ends[2]["message"]
    assert f"transfer({received[1]} x {received[2]})" in ends[2]["message"]


def test_a_rank_that_is_only_late_is_waited_for() -> None:
    """It is asked what it is at, has nothing to compare, and calls the same thing in the end."""
    like = ["all_reduce", 1000, "float32", "sum"]
    slow = [["sleep", 0, "int8", ""], like, like]
    with Job(3, "calls", {"ranks": [[like, like], [like, like], slow]}) as job:
        job.workers[2].wait_for("asleep")
        with pytest.raises(AssertionError, match="within 4 s"):
            job.workers[0].wait_for("end", timeout=4)
        job.workers[2].send_line("")
        assert [end["error"] for end in job.ends()] == [None] * 3

"""Collectives of the backend beside gloo's, between the same processes."""

from __future__ import annotations

import pytest

from tests.torch_backend.ranks import Ranks

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("torch")]

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_WHOLE = ("int8", "uint8", "int32", "int64")


@pytest.mark.parametrize("dtype", [*_FLOATS, *_WHOLE])
def test_all_reduce_has_gloos_bits_between_two(two, dtype):
    two.run("all_reduce_beside_gloo", name=dtype, sizes=[1, 13, 40_000])


@pytest.mark.parametrize("dtype", _WHOLE)
def test_all_reduce_of_whole_numbers_among_four(four, dtype):
    four.run("all_reduce_beside_gloo", name=dtype, sizes=[1, 5000])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "bool", "int64"])
def test_what_moves_arrives_as_over_gloo(four, dtype):
    four.run("moves_beside_gloo", name=dtype)


CASES = [
    "average",
    "average_of_halves",
    "reductions_beside_gloo",
    "results_over_what_is_sent",
    "shapes",
    "split_sizes_of_some_ranks",
    "signs_that_a_view_has",
    "asynchronous",
    "callbacks_that_wait",
    "coalesced",
    "left_coalescing",
    "transfers",
    "objects",
    "subgroups",
    "sparse_sums_beside_gloo",
    "barriers",
    "called_by_numbers",
    "called_by_earlier_names",
]


@pytest.mark.parametrize("case", CASES)
def test_among_four(four, case):
    four.run(case)


def test_groups_beside_those_of_another_backend():
    with Ranks(2, "gloo") as ranks:
        ranks.run("beside_the_default_group")


def test_misuse_is_said_in_one_line(four):
    for said in four.run("refused"):
        assert set(said) == {
            "sizes",
            "average",
            "bits",
            "splits",
            "sparse",
            "tag",
            "any source",
            "device",
            "bytes",
        }
        assert "room for 5 elements" in said["sizes"]
        assert "use SUM and divide" in said["average"]
        assert "for integers and bool" in said["bits"]
        assert "split sizes [2, 2, 2, 2]" in said["splits"]
        assert "expected a dense one" in said["sparse"]
        assert said["tag"] == "ValueError: csaud: tag=-1: expected 0 or more"
        assert "name the rank" in said["any source"]
        assert "on device meta: expected one on cpu or cuda" in said["device"]
        assert "float8_e4m3fn are moved, not reduced" in said["bytes"]

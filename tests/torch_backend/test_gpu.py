"""Tensors of a GPU: all that is done with those of the CPU, beside gloo, and what streams promise."""

from __future__ import annotations

import pytest

from tests.torch_backend import test_collectives, test_training
from tests.torch_backend.ranks import Ranks

pytestmark = [pytest.mark.torch, pytest.mark.gpu, pytest.mark.xdist_group("torch")]


@pytest.fixture(scope="module")
def two():
    with Ranks(2, DEVICE="cuda") as ranks:
        yield ranks


@pytest.fixture(scope="module")
def four():
    with Ranks(4, DEVICE="cuda") as ranks:
        yield ranks


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int64"])
def test_all_reduce_has_gloos_bits(two, dtype):
    two.run("all_reduce_beside_gloo", name=dtype, sizes=[1, 13, 40_000])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_what_moves_arrives_as_over_gloo(four, dtype):
    four.run("moves_beside_gloo", name=dtype)


@pytest.mark.parametrize("case", test_collectives.CASES)
def test_collectives(four, case):
    four.run(case)


@pytest.mark.parametrize("case", [*test_training.CASES, "ddp_compiled", "dtensors"])
def test_training(two, case):
    two.run(case)


@pytest.mark.parametrize(
    "case", ["values_that_are_still_computed", "results_over_what_is_still_read", "of_both_kinds"]
)
def test_streams(two, case):
    two.run(case)

"""Element types of parameters: which there are gradients of, and in which those are summed."""

from __future__ import annotations

from typing import Any

import csaud
import numpy as np
import pytest
from csaud.recover import start
from csaud.recover.reduction import Reductions
from csaud.recover.sums import Sums
from csaud.testing import assert_bit_equal

from tests.hostlib.group_ranks import dtype_of, everywhere


@pytest.mark.parametrize(
    ("dtype", "in_order"), [("int32", True), ("bool", True), (">f4", True), ("complex64", False)]
)
def test_types_without_a_mean_are_named_before_the_job_begins(dtype: str, in_order: bool) -> None:
    arrays = [np.zeros(2, np.float32), np.zeros(3, dtype)]
    how = "" if in_order else " with in_order=False"
    with pytest.raises(csaud.ConfigError, match=rf"parameter 1: gradients of .* cannot be averaged{how}$"):
        start(2, arrays, in_order=in_order, environ={})


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16", "bfloat16"])
def test_types_that_have_one_are_trained(dtype: str) -> None:
    with start(3, [np.zeros(2, dtype_of(dtype))], environ={}) as job:
        for step in job.steps(2):
            for number in step:
                step.add([np.full(2, number).astype(dtype_of(dtype))])
            (mean,) = step.gradients
            assert_bit_equal(mean, np.full(2, 1).astype(dtype_of(dtype)))


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_beyond_a_short_type_have_a_mean(dtype: str, in_order: bool) -> None:
    """16 gradients of 5,000 at three ranks: their sum is above what float16 has."""
    short = dtype_of(dtype)
    gradient = np.array([5000, 1 + 2.0**-7, -5000], np.float32).astype(short)
    held = [frozenset(range(0, 7)), frozenset(range(7, 11)), frozenset(range(11, 16))]

    def work(group: Any) -> np.ndarray:
        sums = Sums(16, 1, in_order)
        for number in sorted(held[group.rank]):
            sums.add(number, 0, gradient.copy())
        second = group.split(0)
        out = np.zeros(3, short)
        for _ in range(2):  # after a failure it is done again, with the same sums
            reductions = Reductions(group, second, 16, held, in_order, lambda _: None)
            reductions.start(0, sums.of(0), out)
            assert list(reductions.finish()) == [0]
            assert_bit_equal(out, gradient)
        return out

    everywhere(3, work)


class Interrupted:
    """A group of one, whose collectives are waited for twice, since the first wait is interrupted."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.waits = 0
        self.ended_well = False

    def wait(self) -> None:
        self.waits += 1
        if self.waits % 2:
            raise KeyboardInterrupt

    def all_to_all_v(self, source: Any, sent: Any, received: Any, *, out: Any, wait: bool) -> Any:
        np.copyto(out, source)
        return self

    def all_gather_v(self, source: Any, counts: Any, *, out: Any, wait: bool) -> Any:
        return self


def test_a_bucket_whose_wait_was_interrupted_is_waited_for_again() -> None:
    group: Any = Interrupted()
    reductions = Reductions(group, group, 1, [frozenset({0})], True, lambda _: None)
    reductions.start(0, [np.ones(3)], np.zeros(3))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            list(reductions.finish())
    assert list(reductions.finish()) == [0]

"""A test of the checker: what must not pass as equal bits does not."""

import numpy as np
import pytest
from csaud.testing import assert_bit_equal


def test_a_gradient_that_is_wrong_in_one_element_fails():
    gradient = np.random.default_rng(1).normal(size=(128, 64)).astype(np.float32)
    wrong = gradient.copy()
    wrong[100, 17] = np.nextafter(wrong[100, 17], np.float32(np.inf))  # the smallest error there is
    assert_bit_equal(gradient.copy(), gradient)
    with pytest.raises(AssertionError, match=r"layer 1: 1 of 8192 elements differ; the first is \[100, 17\]"):
        assert_bit_equal(wrong, gradient, "layer 1")


def test_a_sign_of_zero_fails_and_the_same_nan_passes():
    with pytest.raises(AssertionError, match="1 of 2 elements differ"):
        assert_bit_equal(np.array([0.0, -0.0]), np.array([0.0, 0.0]))
    assert_bit_equal(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]))


def test_other_shapes_and_dtypes_fail():
    with pytest.raises(AssertionError, match=r"shape \(2,\), expected \(2, 1\)"):
        assert_bit_equal(np.zeros(2), np.zeros((2, 1)))
    with pytest.raises(AssertionError, match="dtype float32, expected float64"):
        assert_bit_equal(np.zeros(2, np.float32), np.zeros(2))


def test_views_and_single_values_are_compared_by_value():
    base = np.arange(20, dtype=np.int64)
    assert_bit_equal(base[::2], base[::2].copy())
    assert_bit_equal(np.array(3.5), np.array(3.5))
    with pytest.raises(AssertionError, match=r"1 of 1 elements differ; the first is \[\]"):
        assert_bit_equal(np.array(3.5), np.array(3.25))

"""The native reductions against numpy's ufuncs, bit by bit."""

from typing import Any

import numpy as np
import pytest
from csaud import _core
from csaud.collectives.reductions import REDUCED, REDUCTIONS
from csaud.collectives.reference import reference_sum
from csaud.testing import assert_bit_equal

PAIRS = [(op, name) for op, how in REDUCTIONS.items() for name in how.dtypes if not how.average]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def combined(op: str, first: np.ndarray, second: np.ndarray, into: np.ndarray, baseline: bool) -> np.ndarray:
    _core.combine(
        REDUCTIONS[op].native, first.dtype.name, first.view(np.uint8), second.view(np.uint8),
        into.view(np.uint8), baseline,
    )  # fmt: skip
    return into


def expected(op: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        result: np.ndarray = REDUCTIONS[op].combine(first, second)
    return result


def any_bits(dtype: np.dtype, count: int, seed: int) -> np.ndarray:
    """Every pattern of bits is likely that is special: NaN, infinity, zeros, subnormal numbers."""
    random = np.random.default_rng(seed)
    if dtype.name == "bool":
        return random.integers(0, 2, count).astype(bool)
    raw = random.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    if dtype.kind in "iu":
        return raw
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], np.float64).astype(dtype)
    places = random.random(count) < 0.3
    raw[places] = random.choice(special, int(places.sum()))
    return raw


def unambiguous(op: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where numpy's own result does not depend on an element's place in the array.

    Which of two NaNs with different bits is kept, and which of two zeros with different signs is the smaller
    one, depends on the width of the registers that numpy uses there.
    """
    if first.dtype.kind in "iub":
        return np.ones(first.shape, bool)
    with np.errstate(invalid="ignore"):
        both_nan = np.isnan(first) & np.isnan(second)
        zeros = (first == 0) & (second == 0) if op in ("min", "max") else np.zeros(first.shape, bool)
    return ~(both_nan | zeros)


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_the_bits_are_those_of_numpy(op: str, name: str, baseline: bool) -> None:
    dtype = dtype_of(name)
    first, second = any_bits(dtype, 20_011, 1), any_bits(dtype, 20_011, 2)
    clear = unambiguous(op, first, second)
    assert clear.mean() > 0.8
    native = combined(op, first, second, np.empty_like(first), baseline)
    assert_bit_equal(native[clear], expected(op, first, second)[clear], f"{op} of {name}")


@pytest.mark.parametrize("op", ["sum", "product", "min", "max"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_all_pairs_of_short_floats_of_one_operand(op: str, name: str) -> None:
    """All 65,536 values against some: also those that round to the next exponent, or to infinity."""
    dtype = dtype_of(name)
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    for other in (0.333, -1.0, 65504.0, 6e-8, -2e-5, np.inf):
        second = np.full(every.shape, other, np.float64).astype(dtype)
        clear = unambiguous(op, every, second)
        for baseline in (False, True):
            native = combined(op, every, second, np.empty_like(every), baseline)
            assert_bit_equal(native[clear], expected(op, every, second)[clear], f"{op} with {other}")


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("name", REDUCED)
def test_any_length_and_alignment_and_in_place(name: str, baseline: bool) -> None:
    dtype = dtype_of(name)
    for count in (0, 1, 7, 8, 31, 33, 100):
        first, second = any_bits(dtype, count, 3), any_bits(dtype, count, 4)
        clear = unambiguous("sum", first, second)
        wanted = expected("sum", first, second)[clear]
        for offset in (0, 1):
            bytes_ = np.zeros(offset + first.nbytes, np.uint8)[offset:]
            bytes_[:] = first.view(np.uint8)
            _core.combine("sum", name, bytes_, second.view(np.uint8), bytes_, baseline)
            assert_bit_equal(bytes_.copy().view(dtype)[clear], wanted, f"{count} x {name}")
            bytes_[:] = second.view(np.uint8)
            _core.combine("sum", name, first.view(np.uint8), bytes_, bytes_, baseline)
            assert_bit_equal(bytes_.copy().view(dtype)[clear], wanted, f"{count} x {name}")


def test_of_two_zeros_it_is_the_same_one_whatever_the_length() -> None:
    """So that ranks that cut their arrays differently would still agree."""
    for op in ("min", "max"):
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            results: set[bytes] = set()
            for count in range(1, 70):
                a, b = np.full(count, first, np.float32), np.full(count, second, np.float32)
                for baseline in (False, True):
                    one = combined(op, a, b, np.empty_like(a), baseline)
                    results |= {value.tobytes() for value in one}
            assert len(results) == 1


@pytest.mark.parametrize(
    ("op", "element", "why"),
    [("and", "float32", "no reduction and of float32"), ("sum", "float8_e5m2", "no element type float8_e5m2"),
     ("mean", "int32", "no reduction mean")],
)  # fmt: skip
def test_what_there_is_not_is_named(op: str, element: str, why: str) -> None:
    buffer: Any = np.zeros(4, np.uint8)
    with pytest.raises(ValueError, match=why):
        _core.combine(op, element, buffer, buffer, buffer)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ([], "a sum of no arrays"),
        ([np.zeros(2), np.zeros(3)], "the arrays differ in shape or dtype"),
        ([np.zeros(2), np.zeros(2, np.int64)], "the arrays differ in shape or dtype"),
    ],
    ids=["none", "shapes", "types"],
)
@pytest.mark.parametrize("algorithm", ["auto", "ring", "halving_doubling"])
def test_a_reference_needs_arrays_that_are_alike(algorithm: str, arrays: list[np.ndarray], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        reference_sum(arrays, algorithm)

"""Checks that tests and scenarios share."""

from typing import Any

import numpy as np
import numpy.typing as npt


def bits_of(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The array's bytes, flat, as unsigned integers."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.uint8)


def assert_bit_equal(actual: npt.NDArray[Any], expected: npt.NDArray[Any], what: str = "arrays") -> None:
    """Compare shape, dtype and every bit: -0.0 differs from 0.0, and a NaN equals the same NaN.

    Raises:
        AssertionError: names `what`, how many elements differ, and the first of them with both values.
    """
    if actual.shape != expected.shape:
        raise AssertionError(f"{what}: shape {actual.shape}, expected {expected.shape}")
    if actual.dtype != expected.dtype:
        raise AssertionError(f"{what}: dtype {actual.dtype}, expected {expected.dtype}")
    wrong = (bits_of(actual) != bits_of(expected)).reshape(-1, actual.dtype.itemsize).any(axis=1)
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    index = tuple(int(i) for i in np.unravel_index(first, actual.shape))
    raise AssertionError(
        f"{what}: {int(wrong.sum())} of {actual.size} elements differ; the first is {list(index)}: "
        f"{actual.flat[first]!r}, expected {expected.flat[first]!r}"
    )

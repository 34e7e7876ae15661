"""Which reductions there are, and on which element types.

Every reduction is a numpy ufunc, so what it means for an element type is what numpy says: "sum" of bool
is a logical or. "average" is a sum whose result each rank divides by the number of ranks, which gives
the same bits everywhere.
"""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives.executor import ReduceFunction
from csaud.errors import ConfigError

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = ("int32", "int64")
DTYPES = (*_FLOATS, *_INTEGERS, "bool")
"""Names of the element types; bfloat16 is that of the package ml_dtypes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reduction:
    """One operation: `combine(first, second, out=into)`, on elements of `dtypes`."""

    combine: ReduceFunction
    dtypes: tuple[str, ...] = DTYPES
    average: bool = False


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction(np.add),
    "product": Reduction(np.multiply),
    "min": Reduction(np.minimum),
    "max": Reduction(np.maximum),
    "average": Reduction(np.add, _FLOATS, average=True),
    "and": Reduction(np.bitwise_and, (*_INTEGERS, "bool")),
    "or": Reduction(np.bitwise_or, (*_INTEGERS, "bool")),
    "xor": Reduction(np.bitwise_xor, (*_INTEGERS, "bool")),
}


def reduction(op: str, array: npt.NDArray[Any]) -> Reduction:
    """The reduction `op`; ConfigError where there is none, or none for the array's elements."""
    found = REDUCTIONS.get(op)
    if found is None:
        raise ConfigError(f"op={op!r}: expected one of {', '.join(REDUCTIONS)}")
    if array.dtype.name not in found.dtypes:
        raise ConfigError(
            f"op={op!r} is not supported for {array.dtype}; it is for {', '.join(found.dtypes)}"
        )
    return found


def check_array(array: object, *, writable: bool = True) -> None:
    """ConfigError unless `array` can be sent, and where it is `writable` received into."""
    if not isinstance(array, np.ndarray):
        raise ConfigError(f"expected a numpy array, got {type(array).__name__}")
    if array.dtype.name not in DTYPES or not array.dtype.isnative:
        raise ConfigError(
            f"dtype {array.dtype} is not supported; supported are {', '.join(DTYPES)} in native byte order"
        )
    if not array.flags.c_contiguous:
        raise ConfigError("the array is not C-contiguous; use a copy made by numpy.ascontiguousarray")
    if writable and not array.flags.writeable:
        raise ConfigError("the array is read-only, and the result goes into it")

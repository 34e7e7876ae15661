"""Which reductions there are, and on which element types.

What a reduction means for an element type is what numpy's ufunc says: "sum" of bool is a logical or. The
native loops give the same bits. "average" is a sum whose result each rank divides by the number of ranks,
which gives the same bits everywhere.
"""

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from csaud.errors import ConfigError

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = ("int32", "int64")
DTYPES = (*_FLOATS, *_INTEGERS, "bool")
"""Names of the element types; bfloat16 is that of the package ml_dtypes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reduction:
    """One operation, on elements of `dtypes`.

    Attributes:
        native: the name of the native loops.
        combine: numpy's function with the same bits: combine(first, second).
    """

    native: str
    combine: Callable[..., Any]
    dtypes: tuple[str, ...] = DTYPES
    average: bool = False


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("sum", np.add),
    "product": Reduction("product", np.multiply),
    "min": Reduction("min", np.minimum),
    "max": Reduction("max", np.maximum),
    "average": Reduction("sum", np.add, _FLOATS, average=True),
    "and": Reduction("and", np.bitwise_and, (*_INTEGERS, "bool")),
    "or": Reduction("or", np.bitwise_or, (*_INTEGERS, "bool")),
    "xor": Reduction("xor", np.bitwise_xor, (*_INTEGERS, "bool")),
}


@lru_cache(maxsize=64)
def _supported(dtype: np.dtype[Any]) -> str:
    """The name of an element type that collectives take, which numpy would put together anew each time; "" of
    another one."""
    return dtype.name if dtype.name in DTYPES and dtype.isnative else ""


def reduction(op: str, dtype: str) -> Reduction:
    """The reduction `op`; ConfigError where there is none, or none for elements of that type."""
    found = REDUCTIONS.get(op)
    if found is None:
        raise ConfigError(f"op={op!r}: expected one of {', '.join(REDUCTIONS)}")
    if dtype not in found.dtypes:
        raise ConfigError(f"op={op!r} is not supported for {dtype}; it is for {', '.join(found.dtypes)}")
    return found


def check_array(array: object, *, writable: bool = True) -> str:
    """The name of the array's element type; ConfigError unless it can be sent, and where it is `writable`
    received into."""
    if not isinstance(array, np.ndarray):
        raise ConfigError(f"expected a numpy array, got {type(array).__name__}")
    dtype = _supported(array.dtype)
    if not dtype:
        raise ConfigError(
            f"dtype {array.dtype} is not supported; supported are {', '.join(DTYPES)} in native byte order"
        )
    flags = array.flags
    if not flags.c_contiguous:
        raise ConfigError("the array is not C-contiguous; use a copy made by numpy.ascontiguousarray")
    if writable and not flags.writeable:
        raise ConfigError("the array is read-only, and the result goes into it")
    return dtype

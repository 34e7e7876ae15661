"""Which reductions there are, and on which element types.

What a reduction means for an element type is what numpy's ufunc says: "sum" of bool is a logical or. The
native loops give the same bits. "average" is a sum whose result each rank divides by the number of ranks,
which gives the same bits everywhere.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from csaud.collectives.elements import of_kind
from csaud.errors import ConfigError

_FLOATS = of_kind("float")
_BITS = of_kind("integer", "bool")
REDUCED = of_kind("float", "integer", "bool")
"""Names of the element types that can be reduced."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reduction:
    """One operation, on elements of `dtypes`.

    Attributes:
        native: the name of the native loops.
        combine: numpy's function with the same bits: combine(first, second).
    """

    native: str
    combine: Callable[..., Any]
    dtypes: tuple[str, ...] = REDUCED
    average: bool = False


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("sum", np.add),
    "product": Reduction("product", np.multiply),
    "min": Reduction("min", np.minimum),
    "max": Reduction("max", np.maximum),
    "average": Reduction("sum", np.add, _FLOATS, average=True),
    "and": Reduction("and", np.bitwise_and, _BITS),
    "or": Reduction("or", np.bitwise_or, _BITS),
    "xor": Reduction("xor", np.bitwise_xor, _BITS),
}


def reduction(op: str, dtype: str) -> Reduction:
    """The reduction `op`; ConfigError where there is none, or none for elements of that type."""
    found = REDUCTIONS.get(op)
    if found is None:
        raise ConfigError(f"op={op!r}: expected one of {', '.join(REDUCTIONS)}")
    if dtype not in found.dtypes:
        raise ConfigError(f"op={op!r} is not supported for {dtype}; it is for {', '.join(found.dtypes)}")
    return found

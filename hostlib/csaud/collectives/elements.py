"""Element types: what each is called, its bytes, and what collectives can do with it."""

import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, slots=True)
class Element:
    """One element type.

    Attributes:
        name: as numpy, or the package `ml_dtypes`, calls it.
        itemsize: bytes of one element.
        kind: "float", "integer", "bool", or "storage": moved from rank to rank and not reduced.
        dlpack: its code in DLPack, which has bits beside it.
    """

    name: str
    itemsize: int
    kind: str
    dlpack: int


_INTEGER, _UNSIGNED, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6  # DLPack's codes

ELEMENTS: dict[str, Element] = {
    element.name: element
    for element in (
        Element("float16", 2, "float", _FLOAT),
        Element("bfloat16", 2, "float", _BFLOAT),
        Element("float32", 4, "float", _FLOAT),
        Element("float64", 8, "float", _FLOAT),
        Element("int8", 1, "integer", _INTEGER),
        Element("int16", 2, "integer", _INTEGER),
        Element("int32", 4, "integer", _INTEGER),
        Element("int64", 8, "integer", _INTEGER),
        Element("uint8", 1, "integer", _UNSIGNED),
        Element("uint16", 2, "integer", _UNSIGNED),
        Element("uint32", 4, "integer", _UNSIGNED),
        Element("uint64", 8, "integer", _UNSIGNED),
        Element("bool", 1, "bool", _BOOL),
        Element("complex64", 8, "storage", _COMPLEX),
        Element("complex128", 16, "storage", _COMPLEX),
        Element("float8_e4m3fn", 1, "storage", 10),
        Element("float8_e4m3fnuz", 1, "storage", 11),
        Element("float8_e5m2", 1, "storage", 12),
        Element("float8_e5m2fnuz", 1, "storage", 13),
        Element("float8_e8m0fnu", 1, "storage", 14),
    )
}
DTYPES = tuple(ELEMENTS)
"""Names of the element types; bfloat16 and those of 8 bits are dtypes of the package ml_dtypes."""

_BY_DLPACK = {(element.dlpack, 8 * element.itemsize): element for element in ELEMENTS.values()}


def of_kind(*kinds: str) -> tuple[str, ...]:
    """Names of the element types of these kinds."""
    return tuple(element.name for element in ELEMENTS.values() if element.kind in kinds)


@lru_cache(maxsize=64)
def element_of(dtype: np.dtype[Any]) -> Element | None:
    """The element type of a dtype, which numpy would name anew each time; None of one that is not taken."""
    return ELEMENTS.get(dtype.name) if dtype.isnative else None


def element_of_dlpack(code: int, bits: int) -> Element | None:
    """The element type that DLPack calls so; None of one that is not taken."""
    return _BY_DLPACK.get((code, bits))


@lru_cache(maxsize=64)
def dtype_of(element: Element) -> np.dtype[Any] | None:
    """numpy's dtype; None of one that only `ml_dtypes` has, where that is not installed."""
    try:
        found: np.dtype[Any] = np.dtype(element.name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            return None
        found = np.dtype(getattr(ml_dtypes, element.name))
    return found


def bits_of(element: Element) -> np.dtype[Any]:
    """A dtype of as many bytes that numpy always has, for an element of up to 8 of them."""
    return np.dtype(f"u{element.itemsize}")

"""What callers hand over, as flat arrays that the executor can send from and receive into.

numpy arrays are taken as they are, and so is memory of other libraries, by DLPack (`__dlpack__`: torch, JAX)
or Python's buffer protocol. What is not contiguous is copied, and where it is written copied back.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from csaud import _core
from csaud.collectives.elements import (
    DTYPES,
    ELEMENTS,
    Element,
    bits_of,
    dtype_of,
    element_of,
    element_of_dlpack,
)
from csaud.collectives.reductions import Reduction
from csaud.errors import ConfigError

Array = npt.NDArray[Any]

_CPU = (1, 3)  # DLPack's devices that this process can read: host memory, and that pinned by CUDA


class Operand(NamedTuple):
    """An array of the caller's.

    Attributes:
        flat: its elements in C order, one-dimensional and contiguous: its memory, or a copy of it.
        element: what they are. The dtype of `flat` only has as many bytes, where numpy does not know it.
        view: its memory in its own shape.
        copied: `flat` is a copy.
    """

    flat: Array
    element: Element
    view: Array
    copied: bool

    def copy_back(self) -> None:
        """What came into `flat` is in the caller's memory afterwards."""
        if self.copied:
            np.copyto(self.view, self.flat.reshape(self.view.shape))


def readable(given: Any) -> Operand:
    """An array that is read.

    Raises:
        ConfigError: it is no array in this machine's memory, or its element type is none of DTYPES.
    """
    view, element = _view(given)
    if view.flags.c_contiguous:
        return Operand(view.reshape(-1), element, view, False)
    return Operand(np.ascontiguousarray(view).reshape(-1), element, view, True)


def writable(given: Any) -> Operand:
    """An array that is written, and perhaps read before; ConfigError also where it is read-only."""
    operand = readable(given)
    if not operand.view.flags.writeable:
        raise ConfigError("the array is read-only, and the result goes into it")
    return operand


def result(out: Any, shape: Sequence[int], like: Operand, name: str) -> Operand:
    """Where a result of `shape` goes: `out`, or a new array where that is None.

    Args:
        like: an array of its element type.
        name: of the collective, for errors.

    Raises:
        ConfigError: `out` cannot be written, or is of another type or size; or numpy lacks the type.
    """
    if out is None:
        return fresh(shape, like.element, name)
    operand = writable(out)
    wanted = int(np.prod(shape))
    if operand.element is not like.element or operand.flat.size != wanted:
        raise ConfigError(
            f"{name}: out has {operand.flat.size} x {operand.element.name}, "
            f"expected {wanted} x {like.element.name} (shape {tuple(shape)})"
        )
    return operand


def apart(name: str, out: Array, array: Array, same: tuple[Array, Array] | None = None) -> None:
    """Refuse a result that goes over elements which are still to be sent: others would get what came instead.

    Args:
        name: of the collective, for errors.
        out, array: flat and contiguous, so that bounds tell whether they overlap.
        same: their parts for this rank itself, which may be the same memory; None: none may.

    Raises:
        ConfigError: `out` and `array` overlap in any other way.
    """
    if goes_over(out, array, same):
        besides = "" if same is None else ", or this rank's part of the one be that of the other"
        raise ConfigError(f"{name}: out overlaps the array: they must lie apart{besides}")


def goes_over(out: Array, array: Array, same: tuple[Array, Array] | None = None) -> bool:
    """Whether a result overlaps elements that are still to be sent; arguments as of `apart`."""
    if not np.may_share_memory(out, array):
        return False
    return same is None or len({(part.__array_interface__["data"], part.size) for part in same}) > 1


def fresh(shape: Sequence[int], element: Element, name: str) -> Operand:
    """A new array; ConfigError where numpy has none of that type."""
    dtype = dtype_of(element)
    if dtype is None:
        raise ConfigError(
            f"{name}: numpy has {element.name} by the package ml_dtypes alone, which is not installed; "
            "give out= for the result"
        )
    array = np.empty(tuple(shape), dtype)
    return Operand(array.reshape(-1), element, array, False)


def summable(operand: Operand, how: Reduction | None) -> Operand:
    """What is combined in place of an operand: of float16 that is averaged a copy as float32, rounded once
    when it is copied back, since the sum of values that float16 has may be more than it has."""
    if how is None or not how.average or operand.element.name != "float16":
        return operand
    return Operand(operand.flat.astype(np.float32), ELEMENTS["float32"], operand.view, True)


def _view(given: Any) -> tuple[Array, Element]:
    if isinstance(given, np.ndarray):
        if type(given) is not np.ndarray:
            given = _plain(given)
        element = element_of(given.dtype)
        if element is None:
            raise _unsupported(str(given.dtype))
        return given, element
    if hasattr(given, "__dlpack__"):
        return _by_dlpack(given)
    try:
        view = np.asarray(memoryview(given))
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"expected an array (of numpy, or with __dlpack__ or the buffer protocol), got "
            f"{type(given).__name__}: {error}"
        ) from None
    return _view(view)


def _plain(given: Array) -> Array:
    if isinstance(given, np.ma.MaskedArray):
        raise ConfigError("a masked array, whose masked elements would be sent, too: give .filled(...)")
    return given.view(np.ndarray)


def _by_dlpack(given: Any) -> tuple[Array, Element]:
    if getattr(given, "requires_grad", False):
        raise ConfigError(f"{type(given).__name__} asks for gradients: give it detached")
    try:
        device = given.__dlpack_device__()
    except Exception as error:  # whatever the other library raises
        raise ConfigError(f"{type(given).__name__} cannot be taken by DLPack: {error}") from None
    if device[0] not in _CPU:
        raise ConfigError(
            f"{type(given).__name__} lies on a device (DLPack {int(device[0])}, {device[1]}), not in this "
            "machine's memory: give a copy in memory"
        )
    try:
        memory, code, bits, lanes = _core.dlpack_memory(given)
    except Exception as error:  # whatever the other library raises
        raise ConfigError(f"{type(given).__name__} cannot be taken by DLPack: {error}") from None
    element = element_of_dlpack(code, bits) if lanes == 1 else None
    if memory is None or element is None:
        kind = getattr(given, "dtype", f"DLPack type {code} of {bits} bits")
        raise _unsupported(str(kind))
    dtype = dtype_of(element) or bits_of(element)
    return memory.view(dtype).reshape(memory.shape[:-1]), element


def _unsupported(dtype: str) -> ConfigError:
    return ConfigError(
        f"dtype {dtype} is not supported; supported are {', '.join(DTYPES)} in native byte order"
    )

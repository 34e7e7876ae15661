"""Tensors of the CPU as arrays of numpy, in the same memory."""

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch
from torch.utils.dlpack import to_dlpack

from csaud import _core
from csaud.collectives.elements import DTYPES

Array = npt.NDArray[Any]

DEVICES = ("cpu", "cuda")
"""Types of devices whose tensors are sent: those of the CPU from where they lie, the others by way of it."""

_BYTES = np.dtype(np.uint8)


@lru_cache
def _dtype_of(asked: torch.dtype) -> np.dtype[Any]:
    """numpy's; bytes where it has none."""
    if asked is torch.bfloat16:
        named: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return named
    try:
        dtype: np.dtype[Any] = np.dtype(str(asked).removeprefix("torch."))
    except TypeError:
        return _BYTES
    return dtype if dtype.isbuiltin == 1 else _BYTES  # one of ml_dtypes'


def check_tensor(tensor: torch.Tensor) -> None:
    """RuntimeError unless it can be sent."""
    if tensor.device.type not in DEVICES:
        raise RuntimeError(
            f"csaud: a tensor on device {tensor.device}: expected one on {' or '.join(DEVICES)}"
        )
    if tensor.layout is not torch.strided:
        raise RuntimeError(f"csaud: a tensor of layout {tensor.layout}: expected a dense one (to_dense())")


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether its memory is its values, one after the other: views may be negated or conjugated when read."""
    return tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj()


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of one that is not plain, which is."""
    return tensor.resolve_conj().resolve_neg().contiguous()


def array_of(tensor: torch.Tensor) -> Array:
    """A plain, checked tensor's elements in one dimension, in its own memory.

    Types that numpy does not know, but for bfloat16, come as bytes.
    """
    # Not by Tensor.numpy, which forbids for good that the storage is resized, as FSDP1 does.
    if tensor.requires_grad:
        tensor = tensor.detach()
    dtype = _dtype_of(tensor.dtype)
    if dtype is _BYTES:
        tensor = tensor.reshape(-1).view(torch.uint8)
    data = _core.dlpack_memory(to_dlpack(tensor))[0]
    assert data is not None  # torch has no elements of parts of bytes
    array: Array = data.reshape(-1).view(dtype)
    return array


def movable(array: Array) -> Array:
    """The same memory in elements that the library carries: the array itself, or its bytes."""
    return array if array.dtype.name in DTYPES else array.view(np.uint8)


def check_reducible(tensor: torch.Tensor, array: Array) -> None:
    """RuntimeError where the array of a tensor is its bytes, whose sum would mean nothing."""
    if array.dtype == np.uint8 and tensor.dtype is not torch.uint8:
        raise RuntimeError(f"csaud: tensors of {tensor.dtype} are moved, not reduced")

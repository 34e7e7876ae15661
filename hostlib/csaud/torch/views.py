"""Tensors of the CPU as arrays of numpy, in the same memory."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch

from csaud.collectives.elements import DTYPES

Array = npt.NDArray[Any]

# Element types that numpy has no name for: seen as integers of that size, then as what ml_dtypes calls them.
_NAMED_ELSEWHERE = {torch.bfloat16: (torch.int16, np.dtype(ml_dtypes.bfloat16))}


def check_tensor(tensor: torch.Tensor) -> None:
    """RuntimeError unless the library can read it where it lies."""
    if tensor.device.type != "cpu":
        raise RuntimeError(
            f"csaud: a tensor on device {tensor.device}: only tensors of the CPU are sent; "
            'use another backend for the others: init_process_group("cpu:csaud,cuda:nccl")'
        )
    if tensor.layout is not torch.strided:
        raise RuntimeError(f"csaud: a tensor of layout {tensor.layout}: expected a dense one (to_dense())")


def array_of(tensor: torch.Tensor) -> Array:
    """A contiguous, checked tensor's elements in one dimension, in its own memory.

    Types that numpy does not know, but for bfloat16, come as bytes.
    """
    if tensor.requires_grad:
        tensor = tensor.detach()
    named = _NAMED_ELSEWHERE.get(tensor.dtype)
    if named is not None:
        integers: Array = tensor.view(named[0]).numpy()
        return integers.reshape(-1).view(named[1])
    try:
        array: Array = tensor.numpy()
    except TypeError:
        array = tensor.reshape(-1).view(torch.uint8).numpy()
    return array.reshape(-1)


def movable(array: Array) -> Array:
    """The same memory in elements that the library carries: the array itself, or its bytes."""
    return array if array.dtype.name in DTYPES else array.view(np.uint8)


def check_reducible(tensor: torch.Tensor, array: Array) -> None:
    """RuntimeError where the array of a tensor is its bytes, whose sum would mean nothing."""
    if array.dtype == np.uint8 and tensor.dtype is not torch.uint8:
        raise RuntimeError(f"csaud: tensors of {tensor.dtype} are moved, not reduced")

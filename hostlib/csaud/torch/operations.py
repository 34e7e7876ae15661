"""torch's reductions by the library's names."""

from typing import Any

import numpy as np
from torch.distributed import ReduceOp

_NAMES = {
    int(ReduceOp.RedOpType.SUM): "sum",
    int(ReduceOp.RedOpType.AVG): "average",
    int(ReduceOp.RedOpType.PRODUCT): "product",
    int(ReduceOp.RedOpType.MIN): "min",
    int(ReduceOp.RedOpType.MAX): "max",
    int(ReduceOp.RedOpType.BAND): "and",
    int(ReduceOp.RedOpType.BOR): "or",
    int(ReduceOp.RedOpType.BXOR): "xor",
}


def name_of(op: Any, dtype: np.dtype[Any]) -> str:
    """The library's name of `op`, a ReduceOp or its type.

    Raises:
        RuntimeError: there is none for elements of `dtype`.
    """
    kind = getattr(op, "op", op)
    name = _NAMES.get(int(kind))
    if name is None:
        raise RuntimeError(
            f"csaud: ReduceOp.{getattr(kind, 'name', kind)} is not supported: scale before a SUM"
        )
    if name == "average" and dtype.kind in "iub":
        raise RuntimeError(f"csaud: ReduceOp.AVG is for floats, the tensor is of {dtype}: use SUM and divide")
    if name in ("and", "or", "xor") and dtype.kind not in "iub":
        raise RuntimeError(f"csaud: ReduceOp.{kind.name} is for integers and bool, the tensor is of {dtype}")
    return name

"""What `csaud perf` compares the results of collectives with, beside a communicator that reduces by numpy."""

from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from csaud.collectives.reductions import REDUCTIONS
from csaud.perf.collective import _AllReduce
from csaud.perf.plan import Plan

SIZE, ELEMENTS = 3, 40
WHOLE = [("int32", op) for op in ("product", "and", "or", "xor", "min", "sum")]
FLOATS = [(dtype, op) for dtype in ("float16", "bfloat16", "float32") for op in ("product", "average", "max")]


class Comm:
    """Rank 1; `wrong` of its reductions have a wrong element."""

    rank, size = 1, SIZE

    def __init__(self, wrong: int) -> None:
        self._wrong = wrong
        self.kind: _AllReduce | None = None

    def all_reduce(self, array: np.ndarray, op: str) -> None:
        assert self.kind is not None
        total = reduce(REDUCTIONS[op].combine, [self.kind.pattern(rank) for rank in range(SIZE)])
        array[:] = total / array.dtype.type(SIZE) if op == "average" else total
        array[: self._wrong] += array.dtype.type(1)


@pytest.mark.parametrize("wrong", [0, 7])
@pytest.mark.parametrize(("name", "op"), WHOLE + FLOATS)
def test_wrong_elements_of_all_reductions_are_counted(name: str, op: str, wrong: int) -> None:
    comm = Comm(wrong)
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    comm.kind = _AllReduce(comm, Plan("allreduce", (160,), 1, 1, name, op), dtype, ELEMENTS)
    assert comm.kind.wrong() == wrong

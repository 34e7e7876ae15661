"""What an all-reduce gives, bit by bit, in one process; for tests and for workloads that check themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives import halving_doubling, hierarchical, ring
from csaud.collectives.registry import choose_all_reduce

_BY_NAME = {"ring": ring.reference_sum, "halving_doubling": halving_doubling.reference_sum}


def reference_sum(
    arrays: Sequence[npt.NDArray[Any]], algorithm: str = "auto", hosts: hierarchical.Hosts = ()
) -> npt.NDArray[Any]:
    """The sum that `all_reduce(..., algorithm=algorithm)` gives: `arrays[r]` is what rank r contributes.

    Args:
        hosts: for "hierarchical", the ranks on each; empty: each on its own.

    Returns a new array of their shape and dtype.

    Raises:
        ValueError: there are none, or they differ in shape or dtype.
    """
    if not arrays:
        raise ValueError("a sum of no arrays")
    if len({(array.shape, array.dtype) for array in arrays}) != 1:
        raise ValueError("the arrays differ in shape or dtype")
    if algorithm == "auto":
        algorithm = choose_all_reduce(np.asarray(arrays[0]).nbytes, len(arrays))
    if algorithm == "hierarchical":
        return hierarchical.reference_sum(arrays, hosts or tuple((rank,) for rank in range(len(arrays))))
    return _BY_NAME[algorithm](arrays)

"""Collectives among all ranks. Rank 0 reports; a time is that of the rank that took longest."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives.reductions import reduction
from csaud.errors import ConfigError, CsaudError
from csaud.groups.communicator import Communicator
from csaud.perf.plan import Plan
from csaud.perf.row import Row, make_row

Array = npt.NDArray[Any]
ROOT = 0
_TYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64")


def dtype_of(name: str) -> np.dtype[Any]:
    """The element type of that name.

    Raises:
        ConfigError: there is none.
        CsaudError: the package `ml_dtypes` is needed and missing.
    """
    if name not in _TYPES:
        raise ConfigError(f"type {name!r}: expected one of {', '.join(_TYPES)}")
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise CsaudError("type bfloat16 needs the package ml_dtypes") from None
        name = ml_dtypes.bfloat16
    dtype: np.dtype[Any] = np.dtype(name)
    return dtype


def check(plan: Plan) -> None:
    """ConfigError: there are no elements of that type, or no such operation on them; see `dtype_of`."""
    dtype_of(plan.dtype)
    if plan.test == "allreduce":
        reduction(plan.op, plan.dtype)


def measure(comm: Communicator, plan: Plan, show: Callable[[Row], None]) -> list[Row]:
    """Run the plan on all ranks; rows at rank 0, which shows them as they come.

    Raises:
        CsaudError: a collective failed.
    """
    dtype = dtype_of(plan.dtype)
    rows: list[Row] = []
    for size in plan.sizes:
        once = _KINDS[plan.test](comm, plan, dtype, _elements(plan, size, dtype, comm.size))
        row = _measure_size(comm, plan, dtype, once)
        if comm.rank == ROOT:
            rows.append(row)
            show(row)
    return rows


def _elements(plan: Plan, size: int, dtype: np.dtype[Any], ranks: int) -> int:
    """What fits into `size`: at least one a rank; where each has a part of it, a multiple of the ranks."""
    unit = ranks if plan.test in ("alltoall", "reducescatter", "allgather") else 1
    return max(1, size // (dtype.itemsize * unit)) * unit


def _measure_size(comm: Communicator, plan: Plan, dtype: np.dtype[Any], kind: _Kind) -> Row:
    size = kind.elements * dtype.itemsize
    warmup = max(1, plan.warmup)
    begin = time.perf_counter()
    for _ in range(warmup):
        kind.run()
    wish = plan.iterations_for((time.perf_counter() - begin) / warmup)
    iterations = int(comm.broadcast(np.array([wish], np.int64), ROOT)[0])
    comm.barrier()
    samples = np.zeros(iterations)
    begin = last = time.perf_counter()
    for i in range(iterations):
        kind.run()
        now = time.perf_counter()
        samples[i], last = now - last, now
    total = np.array([last - begin])
    wrong = kind.wrong() if plan.check else None
    worst = comm.all_gather(samples).max(axis=0)
    longest = float(comm.all_gather(total).max())
    if wrong is not None:
        wrong = int(comm.all_reduce(np.array([wrong], np.int64))[0])
    op = {"allreduce": plan.op, "reducescatter": "sum"}.get(plan.test, "none")
    return make_row(
        plan.test, comm.size, size, (worst * 1e6).tolist(), longest * 1e6,
        type=plan.dtype, width=dtype.itemsize, op=op, wrong=wrong,
    )  # fmt: skip


class _Kind:
    """One collective with its arrays."""

    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        self.comm, self.plan, self.dtype, self.elements = comm, plan, dtype, elements

    def run(self) -> None:
        """Once, in place where that is how the collective works."""
        raise NotImplementedError

    def wrong(self) -> int:
        """Elements of one more run that are not as they must be."""
        raise NotImplementedError

    def pattern(self, rank: int) -> Array:
        """Small whole numbers, which every type holds exactly, different for each rank."""
        return ((np.arange(self.elements) + 3 * rank) % 5).astype(self.dtype)


class _AllReduce(_Kind):
    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        self._array = np.zeros(elements, dtype)

    def run(self) -> None:
        self.comm.all_reduce(self._array, self.plan.op)

    def wrong(self) -> int:
        array = self.pattern(self.comm.rank)
        self.comm.all_reduce(array, self.plan.op)
        found = reduction(self.plan.op, self.dtype.name)
        expected = reduce(found.combine, map(self.pattern, range(self.comm.size)))
        if found.average:
            expected = expected / self.dtype.type(self.comm.size)
        return int(np.count_nonzero(array != expected))

    def pattern(self, rank: int) -> Array:
        if self.plan.op != "product":
            return super().pattern(rank)
        # Ones and some twos, at up to eight ranks, of which every type holds the product exactly.
        places, size = np.arange(self.elements), self.comm.size
        return np.where((places + rank) % size <= places % min(size, 8), 2, 1).astype(self.dtype)


class _ReduceScatter(_Kind):
    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        self._array = self.pattern(comm.rank)

    def run(self) -> None:
        self._result = self.comm.reduce_scatter(self._array)

    def wrong(self) -> int:
        total = np.sum([self.pattern(rank).astype(np.float64) for rank in range(self.comm.size)], axis=0)
        return int(np.count_nonzero(self._result != np.split(total, self.comm.size)[self.comm.rank]))


class _AllGather(_Kind):
    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        self._array = np.split(self.pattern(0), comm.size)[comm.rank].copy()

    def run(self) -> None:
        self._result = self.comm.all_gather(self._array)

    def wrong(self) -> int:
        return int(np.count_nonzero(self._result.reshape(-1) != self.pattern(0)))


class _Broadcast(_Kind):
    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        self._array = self.pattern(comm.rank)

    def run(self) -> None:
        self.comm.broadcast(self._array, ROOT)

    def wrong(self) -> int:
        return int(np.count_nonzero(self._array != self.pattern(ROOT)))


class _AllToAll(_Kind):
    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        self._array = self.pattern(comm.rank).reshape(comm.size, -1)

    def run(self) -> None:
        self._result = self.comm.all_to_all(self._array)

    def wrong(self) -> int:
        rank = self.comm.rank
        wanted = [self.pattern(r).reshape(self.comm.size, -1)[rank] for r in range(self.comm.size)]
        return int(np.count_nonzero(self._result != np.stack(wanted)))


class _Incast(_Kind):
    """All ranks send to rank 0 at once; it answers with an empty message when it has everything."""

    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        self._mine = self.pattern(comm.rank)
        self._all = [np.zeros(elements, dtype) for _ in range(comm.size if comm.rank == ROOT else 0)]

    def run(self) -> None:
        comm, empty = self.comm, np.empty(0, np.int32)
        others = range(1, comm.size)
        if comm.rank != ROOT:
            comm.send(self._mine, ROOT)
            comm.recv(empty, ROOT)
            return
        for handle in [comm.recv(self._all[r], r, wait=False) for r in others]:
            handle.wait()
        for handle in [comm.send(empty, r, wait=False) for r in others]:
            handle.wait()

    def wrong(self) -> int:
        if self.comm.rank != ROOT:
            return 0
        return sum(
            int(np.count_nonzero(self._all[rank] != self.pattern(rank))) for rank in range(1, self.comm.size)
        )


class _Permutation(_Kind):
    """Each rank sends to the one half the ranks further on: all cross the middle of a fabric."""

    def __init__(self, comm: Communicator, plan: Plan, dtype: np.dtype[Any], elements: int) -> None:
        super().__init__(comm, plan, dtype, elements)
        half = comm.size // 2
        self._to, self._from = (comm.rank + half) % comm.size, (comm.rank - half) % comm.size
        self._mine, self._other = self.pattern(comm.rank), np.zeros(elements, dtype)

    def run(self) -> None:
        receiving = self.comm.recv(self._other, self._from, wait=False)
        self.comm.send(self._mine, self._to)
        receiving.wait()

    def wrong(self) -> int:
        return int(np.count_nonzero(self._other != self.pattern(self._from)))


_KINDS: dict[str, type[_Kind]] = {
    "allreduce": _AllReduce,
    "reducescatter": _ReduceScatter,
    "allgather": _AllGather,
    "alltoall": _AllToAll,
    "broadcast": _Broadcast,
    "incast": _Incast,
    "permutation": _Permutation,
}

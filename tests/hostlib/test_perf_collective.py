"""The collectives of `csaud perf`: what it compares their results with, beside a communicator that reduces by
numpy, and all of them over a network in memory."""

import io
import json
import sys
import threading
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from csaud.collectives.reductions import REDUCTIONS
from csaud.errors import CsaudError
from csaud.perf import report, run
from csaud.perf.collective import _KINDS, _AllReduce, _Broadcast, measure
from csaud.perf.plan import Plan
from csaud.perf.row import Row, make_row

from tests.hostlib.group_ranks import everywhere
from tests.hostlib.jobs import free_port, loopback_address
from tests.hostlib.memory_network import on_every_rank

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


@pytest.mark.parametrize("test", _KINDS)
def test_each_collective_is_measured_in_sizes_that_the_ranks_can_share(test: str) -> None:
    plan = Plan(test, (1, 100, 1000), 2, 1, "int32")
    rows, *others = everywhere(SIZE, lambda group: measure(group, plan, lambda row: None))
    # where each of the three ranks has a part, all parts are alike
    sizes = [12, 96, 996] if test in ("alltoall", "reducescatter", "allgather") else [4, 100, 1000]
    assert [(row.size, row.iterations, row.wrong) for row in rows] == [(size, 2, 0) for size in sizes]
    assert others == [[], []]  # the first rank tells it


def test_wrong_elements_are_an_error_once_they_are_written_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Garbles(_Broadcast):
        def run(self) -> None:
            super().run()
            if self.comm.rank == 1:
                self._array[:3] += 1

    monkeypatch.setitem(_KINDS, "broadcast", Garbles)
    address = loopback_address()
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": address, "MASTER_PORT": str(free_port(address))}
    output, told = run.Output(json=tmp_path / "rows.json"), threading.Event()

    def work(rank: int) -> None:
        plan = Plan("broadcast", (40, 80), 1, 1, "int32")
        if rank != 0:
            run.rank(plan, output, {**place, "RANK": str(rank)})
            return
        with pytest.raises(CsaudError) as raised:
            run.rank(plan, output, {**place, "RANK": "0"})
        assert str(raised.value) == "6 elements are wrong"
        told.set()

    on_every_rank(2, work)
    assert told.is_set()
    assert [row["wrong"] for row in json.loads((tmp_path / "rows.json").read_text())] == [3, 3]


def test_what_is_measured_is_read_while_more_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a pipe, too, which Python gives whole blocks of text otherwise."""
    read: list[int] = []

    def measured(comm: object, plan: Plan, show: Callable[[Row], None]) -> list[Row]:
        rows = [make_row("allreduce", 2, size, [5.0], 20.0) for size in plan.sizes]
        for row in rows:
            read.append(len(pipe.getvalue().splitlines()))
            show(row)
        read.append(len(pipe.getvalue().splitlines()))
        return rows

    pipe = io.BytesIO()
    monkeypatch.setattr(run.collective, "measure", measured)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    comm = SimpleNamespace(rank=0, size=2, mode="raw", local_ranks=())
    run._measure(comm, Plan("allreduce", (64, 128)), run.Output())  # type: ignore[arg-type]
    heading = len(report.heading(Plan("allreduce", (64,)), 2, "raw").splitlines())
    assert read == [heading, heading + 1, heading + 2]

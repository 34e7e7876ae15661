"""How a worker process talks to the runner, and the command line that every workload module shares.

`python -m csaud_topologies.workloads.<name> worker` is one rank; RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT tell it its place. On stdout it writes one JSON object a line: {"event": "step", "step",
"all_reduce_s", ...} after each step, {"event": "done", ...} when all its messages are acknowledged, {"event":
"error", "type", "message", "rank"} when it ends early. On stdin, `report` is answered by {"event": "report",
"stats", "flow_times", ...}; `exit` or end of file ends it. `prepare` writes what the ranks read (a data set)
into the folder, `reference` computes the result in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

Spec = TypeVar("Spec", bound=BaseModel)
SpecIn = TypeVar("SpecIn", bound=BaseModel, contravariant=True)
Emit = Callable[..., None]


class Communicator(Protocol):
    """What workloads use of csaud.Communicator."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def all_reduce(self, array: NDArray[Any], op: str = "sum") -> Any: ...
    def barrier(self) -> None: ...
    def quiesce(self) -> Any: ...
    def stats(self) -> dict[str, Any]: ...
    def flow_times(self) -> list[float]: ...
    def close(self) -> None: ...


RingSum = Callable[[list[NDArray[Any]]], NDArray[Any]]
"""csaud.collectives.reference.reference_sum: the sum of one array a rank, with the bits of an all-reduce."""


class Workload(Protocol[SpecIn]):
    """One workload; `folder` is shared by all processes of the run."""

    def prepare(self, spec: SpecIn, seed: int, folder: Path) -> None:
        """Write what the ranks will read."""

    def work(self, comm: Communicator, spec: SpecIn, seed: int, folder: Path, emit: Emit) -> dict[str, Any]:
        """One rank's work; the result goes into its `done` event and must equal the reference's."""

    def reference(
        self, spec: SpecIn, seed: int, world: int, folder: Path, ring_sum: RingSum
    ) -> dict[str, Any]:
        """The same result from one process that does the work of all ranks."""


def emit_line(event: str, **fields: Any) -> None:
    """Write one event; the runner reads line by line."""
    sys.stdout.write(json.dumps({"event": event, **fields}, default=_plain) + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


class Main(Generic[Spec]):
    """The command line of a workload module."""

    def __init__(self, workload: Workload[Spec], spec: type[Spec]) -> None:
        self.workload = workload
        self.spec = spec

    def __call__(self) -> int:
        """Run `worker`, `prepare` or `reference`; the exit status."""
        parser = argparse.ArgumentParser(description=self.workload.__doc__)
        parser.add_argument("mode", choices=("worker", "prepare", "reference"))
        parser.add_argument("--spec", default="{}", help="JSON of the scenario's `workload`")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--world", type=int, default=1, help="ranks (reference only)")
        parser.add_argument("--folder", type=Path, default=Path())
        asked = parser.parse_args()
        spec = self.spec.model_validate_json(asked.spec)
        match asked.mode:
            case "prepare":
                self.workload.prepare(spec, asked.seed, asked.folder)
            case "reference":
                from csaud.collectives.reference import reference_sum

                result = self.workload.reference(spec, asked.seed, asked.world, asked.folder, reference_sum)
                emit_line("reference", **result)
            case _:
                return self._worker(spec, asked.seed, asked.folder)
        return 0

    def _worker(self, spec: Spec, seed: int, folder: Path) -> int:
        import csaud

        try:
            comm = csaud.init()
        except csaud.CsaudError as error:
            return _fail(error)
        try:
            emit_line("start", pid=os.getpid(), rank=comm.rank)
            result = self.workload.work(comm, spec, seed, folder, emit_line)
            comm.quiesce()
            emit_line("done", **result)
            for line in sys.stdin:
                if line.strip() == "report":
                    emit_line(
                        "report",
                        stats=comm.stats(),
                        flow_times=comm.flow_times(),
                        spans=comm.spans(),
                        **result,
                    )
                elif line.strip() == "exit":
                    break
            comm.close()
        except csaud.CsaudError as error:
            return _fail(error)
        return 0


def _fail(error: Exception) -> int:
    traceback.print_exc()
    fields = {"rank": getattr(error, "rank", None), "last_contact_s": getattr(error, "last_contact_s", None)}
    emit_line("error", type=type(error).__name__, message=str(error), **fields)
    return 1

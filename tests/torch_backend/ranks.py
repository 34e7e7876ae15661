"""A job of `torch.distributed` whose ranks do one case after the other."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from tests.hostlib.jobs import ROOT, Worker, free_port


class Ranks:
    """`world` processes with torchrun's variables; a context manager that ends them."""

    def __init__(self, world: int, backend: str = "csaud", **environ: str) -> None:
        shared = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "WORLD_SIZE": str(world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port("127.0.0.1")),
            "OMP_NUM_THREADS": "1",
            **environ,
        }
        command = [sys.executable, "-m", "tests.torch_backend.worker", backend]
        self.workers = [Worker(command, {**shared, "RANK": str(rank)}) for rank in range(world)]
        self._calls = 0

    def start(self, case: str, *, ranks: Sequence[int] | None = None, **arguments: Any) -> str:
        """Have all ranks, or some, begin `case` of the worker's rooms; the name of the event that
        ends it."""
        self._calls += 1
        name = f"end {self._calls}"
        for rank in range(len(self.workers)) if ranks is None else ranks:
            self.workers[rank].send_line(json.dumps({"event": name, "case": case, "arguments": arguments}))
        return name

    def run(self, case: str, **arguments: Any) -> list[Any]:
        """What `case` returns, by rank. AssertionError: it raised."""
        name = self.start(case, **arguments)
        ends = [worker.wait_for(name) for worker in self.workers]
        errors = [f"rank {rank}: {end['error']}" for rank, end in enumerate(ends) if end["error"]]
        assert not errors, "\n".join(errors)
        return [end["result"] for end in ends]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.close()

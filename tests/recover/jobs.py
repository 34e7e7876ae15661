"""Jobs of workers that are killed, as processes."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.hostlib.jobs import PATIENCE, ROOT, Worker, free_port, loopback_address

MODULE = "tests.recover.worker"


def command(arguments: dict[str, Any], module: str = MODULE) -> list[str]:
    return [sys.executable, "-m", module, json.dumps(arguments)]


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


class Workers:
    """`world` workers that train, each with arguments of its own beside those of all; a context manager."""

    def __init__(
        self, world: int, arguments: dict[str, Any], own: dict[int, dict[str, Any]] | None = None,
        module: str = MODULE,
    ) -> None:  # fmt: skip
        master = loopback_address()
        shared = {
            **environment(), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world),
            "MASTER_ADDR": master, "MASTER_PORT": str(free_port(master)),
        }  # fmt: skip
        self._arguments, self._module = arguments, module
        self.workers = [
            Worker(
                command({**arguments, **(own or {}).get(rank, {})}, module),
                {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank in range(world)
        ]

    def newcomer(self, **own: Any) -> Worker:
        """One that joins by the door of the first worker."""
        door = self.workers[0].wait_for("door")["door"]
        environ = {name: value for name, value in environment().items() if name not in ("RANK", "WORLD_SIZE")}
        self.workers.append(Worker(command({**self._arguments, "join": door, **own}, self._module), environ))
        return self.workers[-1]

    def trained(self, doomed: set[int]) -> list[dict[str, Any]]:
        """What the workers that live end with; those that are doomed were killed."""
        found = []
        for rank, worker in enumerate(self.workers):
            if rank in doomed:
                assert worker.process.wait(PATIENCE) == -9
            else:
                found.append(worker.wait_for("trained"))
        for rank, worker in enumerate(self.workers):
            if rank not in doomed:
                end = worker.wait_for("end")
                assert end["error"] is None, end
        return found

    def computed(self) -> list[set[tuple[int, int]]]:
        """(step, microbatch) that each worker has computed; none twice."""
        found = []
        for worker in self.workers:
            told = [(event["step"], event["number"]) for event in worker.events("computed")]
            assert len(told) == len(set(told))
            found.append(set(told))
        return found

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()

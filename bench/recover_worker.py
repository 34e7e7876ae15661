"""One worker of a training job that is killed now and then: `recover_worker.py HOW FOLDER CASE`.

HOW is "recover" (csaud.torch.recover, under `csaud recover`) or "restart" (DDP over gloo with checkpoints,
under torchrun). Each worker leaves FOLDER/PID.log, a line an event, in time.monotonic(): `begin STEP T`,
`microbatch STEP T`, `end STEP T`, `checkpoint SECONDS T`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

# Linux shares processors out among sessions first, and torchrun gives each worker one: all have their own,
# with the priority of benchmarks (bench/machine.py), from before they import anything that takes long.
with contextlib.suppress(OSError):  # torchrun's
    os.setsid()
with contextlib.suppress(OSError):  # not root, or a kernel without such groups
    Path("/proc/self/autogroup").write_text("-19")

import torch


class Training:
    """The same model, samples and optimizer, however it is made to go on.

    Args:
        case: {"microbatches", "steps", "width", "every"}; `every`: steps between two checkpoints.
    """

    def __init__(self, case: dict[str, Any], log: TextIO) -> None:
        self.case, self._log = case, log
        width = case["width"]
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
            torch.nn.Linear(width, 1),
        )  # fmt: skip

    def tell(self, what: str, number: float) -> None:
        """A line of the log."""
        print(what, number, time.monotonic(), file=self._log, flush=True)

    def backward(self, model: Any, step: int, number: int, share: float) -> None:
        """A microbatch."""
        inputs = torch.randn(64, 64, generator=torch.Generator().manual_seed(step * 1000 + number))
        (torch.nn.functional.mse_loss(model(inputs), inputs[:, :1]) * share).backward()
        self.tell("microbatch", step)

    def recover(self) -> None:
        """Workers that are left go on."""
        from csaud.torch import recover

        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        settings = {"dead_after": self.case["dead_after"], "timeout": self.case["timeout"]}
        with recover.start(self.case["microbatches"], self.model, optimizer, **settings) as job:
            for step in job.steps(self.case["steps"]):
                self.tell("begin", step.index)
                for number in step:
                    self.backward(self.model, step.index, number, 1.0)
                optimizer.step()
                self.tell("end", step.index)

    def restart(self, saved: Path) -> None:
        """All end with one, and begin again at the last checkpoint."""
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        dist.init_process_group("gloo")
        rank, world = dist.get_rank(), dist.get_world_size()
        model = DistributedDataParallel(self.model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        first = 0
        if saved.exists():
            state = torch.load(saved, weights_only=True)
            self.model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            first = state["step"]
        numbers = range(rank, self.case["microbatches"], world)
        for step in range(first, self.case["steps"]):
            self.tell("begin", step)
            optimizer.zero_grad()
            self._accumulate(model, step, numbers, world / self.case["microbatches"])
            optimizer.step()
            self.tell("end", step)
            if rank == 0 and (step + 1) % self.case["every"] == 0:
                begun = time.monotonic()
                self._save(saved, {"model": self.model.state_dict(), "optimizer": optimizer.state_dict(),
                                   "step": step + 1})  # fmt: skip
                self.tell("checkpoint", time.monotonic() - begun)
        dist.destroy_process_group()

    def _accumulate(self, model: Any, step: int, numbers: Iterable[int], share: float) -> None:
        *first, last = numbers
        with model.no_sync():
            for number in first:
                self.backward(model, step, number, share)
        self.backward(model, step, last, share)

    def _save(self, saved: Path, state: dict[str, Any]) -> None:
        partial = saved.with_suffix(".partial")
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(saved)


def main() -> None:
    how, folder, case = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    torch.set_num_threads(1)
    with (folder / f"{os.getpid()}.log").open("w") as log:
        training = Training(case, log)
        if how == "recover":
            training.recover()
        else:
            training.restart(folder / "checkpoint.pt")


if __name__ == "__main__":
    main()

"""Workers that train by PyTorch, forked from one process that has imported it:
`python -m tests.recover.torch_family FOLDER JSON`, a line of JSON on stdout for each job.

A job is {"world": 4, "sharded": true, "deaths": {"1": {"phase": "forward", "step": 1}}, "newcomer_at": 2}:
half of the workers die, and rank 0 waits in step 2 for one that returns, which is called by the next free
number. Its line is {"ends": {worker: {"rank", "size", "state"}}, "killed": [...],
"computed": {worker: [[step, number], ...]}, "errors": {worker: ...}}.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
from csaud.torch import recover

from tests.hostlib.jobs import SLOWER, free_port, loopback_address
from tests.recover.worker import Deaths, wait_for_newcomer

MICROBATCHES, STEPS = 6, 4


def train(folder: Path, name: int, job_of: dict[str, Any]) -> dict[str, Any]:
    doom = job_of["deaths"].get(str(name), {})
    deaths = Deaths(doom.get("phase"), doom.get("step", 0), doom.get("times", 1))
    torch.manual_seed(name)  # workers begin with the weights of rank 0, however they were made
    if name == 0:
        torch.manual_seed(7)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.Dropout(0.2), torch.nn.Tanh(), torch.nn.Linear(32, 4)
    )
    kind = torch.optim.AdamW
    optimizer = (
        recover.ShardedOptimizer(model.parameters(), kind, lr=0.01)
        if job_of["sharded"]
        else kind(model.parameters(), lr=0.01)
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    with (
        (folder / f"computed-{name}").open("a") as computed,
        recover.start(
            MICROBATCHES, model, optimizer, [scheduler], overlap=job_of.get("overlap", True),
            seed=job_of.get("seeds", {}).get(str(name), 0),
            bucket_bytes=64, timeout=30.0 * SLOWER, watch=deaths.at, mode="udp", dead_after=1.0 * SLOWER,
        ) as job,
    ):  # fmt: skip
        for step in job.steps(STEPS):
            if step.index == job_of.get("newcomer_at") and job.rank == 0:
                wait_for_newcomer(job, job_of["world"] // 2 + 1)
            for number in step:
                print(json.dumps([step.index, number]), file=computed, flush=True)
                inputs = torch.randn(8, 16)
                deaths.at("forward", step.index)
                loss = torch.nn.functional.mse_loss(model(inputs), inputs[:, :4])
                deaths.at("backward", step.index)
                loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            deaths.at("optimizer", step.index)
            optimizer.step()
            scheduler.step()
        state = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
        return {"rank": job.rank, "size": job.size, "state": state.hex()}


def fork(folder: Path, name: int, job: dict[str, Any], variables: dict[str, str]) -> int:
    child = os.fork()
    if child:
        return child
    os.environ.update(variables)
    status = 1
    try:
        end = train(folder, name, job)
        (folder / f"end-{name}").write_text(json.dumps(end))
        status = 0
    except BaseException:
        (folder / f"error-{name}").write_text(traceback.format_exc())
    os._exit(status)


def run(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    folder.mkdir()
    master, world = loopback_address(), job["world"]
    shared = {
        "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": master,
        "MASTER_PORT": str(free_port(master)), "CSAUD_RECOVER_DOORS": str(folder / "doors"),
    }  # fmt: skip
    workers = {
        fork(folder, rank, job, {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}): rank
        for rank in range(world)
    }
    killed, names, returns = [], world, int("newcomer_at" in job)
    while workers:
        child, status = os.wait()
        name = workers.pop(child)
        if os.WIFSIGNALED(status):
            killed.append(name)
            assert os.WTERMSIG(status) == signal.SIGKILL
            if returns:
                returns -= 1
                doors = {"CSAUD_RECOVER_JOIN": f"@{folder / 'doors'}"}
                workers[fork(folder, names, job, doors)] = names
                names += 1
    found = {
        kind: {
            int(path.name.removeprefix(kind)): path.read_text() for path in sorted(folder.glob(f"{kind}*"))
        }
        for kind in ("end-", "error-", "computed-")
    }
    return {
        "ends": {name: json.loads(text) for name, text in found["end-"].items()},
        "errors": found["error-"],
        "computed": {
            name: [json.loads(line) for line in text.splitlines()]
            for name, text in found["computed-"].items()
        },
        "killed": sorted(killed),
    }


def main() -> None:
    torch.set_num_threads(1)
    for number, job in enumerate(json.loads(sys.argv[2])):
        print(json.dumps(run(Path(sys.argv[1]) / str(number), job)), flush=True)


if __name__ == "__main__":
    main()

"""A worker of a job that recovers: `python -m tests.recover.worker JSON`, JSON lines on stdout.

It trains a small linear model with momentum, and kills itself where its arguments say.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from typing import Any

import csaud
import numpy as np
from csaud import recover

from tests.hostlib.jobs import PATIENCE, SLOWER

COLUMNS, ROWS = 57, 33


def tell(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class Deaths:
    """Kills this process at a phase of a step: the n-th time that it is there."""

    def __init__(self, phase: str | None, step: int, times: int) -> None:
        self._doomed, self._times = (phase, step), times
        self._seen: Counter[tuple[str, int]] = Counter()

    def at(self, phase: str, step: int) -> None:
        # a recovery is one, in whatever step it comes
        place = (phase, step if phase not in ("shrink", "settle", "state") else -1)
        self._seen[place] += 1
        doomed = (self._doomed[0], self._doomed[1] if place[1] >= 0 else -1)
        if place == doomed and self._seen[place] == self._times:
            os.kill(os.getpid(), signal.SIGKILL)


def wait_for_newcomer(job: Any, enough: int) -> None:
    """Until somebody waits at this worker's door or has come in, so that there are `enough` workers."""
    limit = time.monotonic() + PATIENCE
    while not job.comm.newcomers and job.size < enough:
        assert time.monotonic() < limit, f"nobody came within {PATIENCE:g} s, {job.size} workers are here"
        time.sleep(0.01)


def train(arguments: dict[str, Any]) -> None:
    dtype = np.dtype(arguments.get("dtype", "float32"))
    deaths = Deaths(arguments.get("phase"), arguments.get("step", 0), arguments.get("times", 1))
    microbatches, steps = arguments["microbatches"], arguments["steps"]
    seed = arguments.get("seed", 1)
    random = np.random.default_rng(seed)
    weights, bias = random.normal(size=(COLUMNS, 3)).astype(dtype), np.zeros(3, dtype)
    momenta = [np.zeros_like(weights), np.zeros_like(bias)]
    parameters = [weights, bias]
    with recover.start(
        microbatches, parameters, momenta, in_order=arguments.get("in_order", True),
        doors=arguments.get("join", ""), bucket_bytes=arguments.get("bucket_bytes", 64),
        timeout=30.0 * SLOWER, watch=deaths.at, mode="udp", dead_after=1.0 * SLOWER,
    ) as job:  # fmt: skip
        tell("door", door=job.comm.door)
        for step in job.steps(steps):
            tell("step", step=step.index, rank=job.rank, size=job.size)
            if step.index == arguments.get("newcomer_at") and job.rank == 0:
                tell("waits")
                wait_for_newcomer(job, job.size + 1)
            for number in step:
                samples = np.random.default_rng([seed, step.index, number])
                inputs = samples.normal(size=(ROWS, COLUMNS)).astype(dtype)
                deaths.at("forward", step.index)
                error = inputs @ weights + bias - np.tanh(inputs[:, :3])
                deaths.at("backward", step.index)
                gradients = [inputs.T @ error / ROWS, error.mean(axis=0, dtype=dtype)]
                tell("computed", step=step.index, number=number)  # it may die in what follows, and be counted
                step.add(gradients)
            for parameter, momentum, gradient in zip(parameters, momenta, step.gradients, strict=True):
                momentum *= dtype.type(0.9)
                momentum += gradient
                deaths.at("optimizer", step.index)
                parameter -= dtype.type(0.05) * momentum
        weights_hex = b"".join(array.tobytes() for array in [*parameters, *momenta]).hex()
        tell("trained", state=weights_hex, rank=job.rank, size=job.size)


def main() -> None:
    try:
        train(json.loads(sys.argv[1]))
        tell("end", error=None)
    except csaud.CsaudError as error:
        tell("end", error=type(error).__name__, message=str(error))


if __name__ == "__main__":
    main()

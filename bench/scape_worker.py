"""One rank of a job that measures steps of training: `scape_worker.py OUT CASE`, by `csaud net job`.

CASE is {"count", "steps", "method", "pauses"}. The computing of a step is a pause of so many seconds before
the method's step; nothing is sent within it. Rank 0 writes OUT, a JSON object: {"step_s": a median for each
pause, "sent": bytes of payload that a rank sends in a step}.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median

import csaud
import numpy as np
from csaud.scape.baselines import ByGradients, Chance, Dense, EightBits, Mean, TopK
from csaud.scape.exchange import Traffic, over
from csaud.scape.local import Local, Sparsity
from csaud.scape.method import Method
from csaud.scape.rules import AdamS, Rates


def method_of(name: str, count: int, rank: int, size: int) -> Method:
    """By its name in CASE: "dense", "8 bits", "top-k D" or "chance D" at density D, or SCAPE's density."""
    weights = np.zeros(count, np.float32)
    mean: Mean
    match name.split():
        case ["dense"]:
            mean = Dense()
        case ["8", "bits"]:
            mean = EightBits(count, rank, size)
        case ["top-k", density]:
            mean = TopK(count, float(density))
        case ["chance", density]:
            mean = Chance(count, rank, size, float(density))
        case _:
            return Local(weights, rank, size, Sparsity(float(name)))
    return ByGradients(weights, AdamS(count, Rates()), mean)


def measure(comm: csaud.Communicator, method: Method, pause: float, steps: int) -> tuple[float, float]:
    """Seconds of a step, median, and bytes that a rank sends in one."""
    random = np.random.default_rng(comm.rank)
    traffic, took = Traffic(), []
    for _ in range(steps + 1):  # the first one builds schedules
        gradient = random.normal(size=method.weights.size).astype(np.float32)
        comm.barrier()
        begun = time.monotonic()
        time.sleep(pause)
        over(comm, method.step(gradient, 1e-3), traffic)
        comm.barrier()
        took.append(time.monotonic() - begun)
    return median(took[1:]), traffic.total / (steps + 1)


def main() -> None:
    out, case = Path(sys.argv[1]), json.loads(sys.argv[2])
    with csaud.init() as comm:
        method = method_of(case["method"], case["count"], comm.rank, comm.size)
        found = [measure(comm, method, pause, case["steps"]) for pause in case["pauses"]]
        if comm.rank == 0:
            told = {"step_s": [took for took, _ in found], "sent": found[0][1]}
            out.write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()

"""A worker that trains with sparse averages, and perhaps dies: `python -m tests.scape.worker JSON`."""

from __future__ import annotations

import json
import os
import signal
import sys

import csaud
import numpy as np
from csaud import scape

from tests.hostlib.jobs import SLOWER
from tests.hostlib.workers import tell

COUNT = 3_000


def main() -> None:
    arguments = json.loads(sys.argv[1])
    comm = csaud.init(mode="udp", dead_after=1.0 * SLOWER)
    weights = np.random.default_rng(1).normal(size=COUNT).astype(np.float32)
    first = float(np.linalg.norm(weights))
    name, method = comm.rank, scape.Local(weights, comm.rank, comm.size)
    while method.steps < arguments["steps"]:
        noise = np.random.default_rng([method.steps, name]).normal(size=COUNT).astype(np.float32)
        step = method.step(weights + noise / 10, 0.02)
        if name == arguments["doomed"] and method.steps == arguments["at"]:
            if arguments["moment"] == "within":
                next(step)  # its own part of the step is done, and nothing of it was sent
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            scape.over(comm, step)
        except csaud.PeerUnreachable:
            comm = comm.shrink(timeout=60.0 * SLOWER)
            scape.over(comm, method.restart(comm.rank, comm.size))
    scape.over(comm, method.together())
    loss = float(np.linalg.norm(weights))
    tell("trained", weights=weights.tobytes().hex(), size=comm.size, loss=loss, first=first)
    comm.close()
    tell("end", error=None)


if __name__ == "__main__":
    main()

"""All-reduces of given sizes; the results of every rank must equal the ring-order sum, bit by bit."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from csaud_topologies.workloads.mlp import Floats
from csaud_topologies.workloads.protocol import Communicator, Emit, Main, RingSum
from csaud_topologies.workloads.specs import AllReduce


def contribution(seed: int, step: int, rank: int, elements: int) -> Floats:
    """What a rank brings to one all-reduce: values over many magnitudes, so that another order gives other
    bits.
    """
    random = np.random.default_rng([seed, step, rank])
    values = random.standard_normal(elements, np.float32)
    return values * np.exp2(random.integers(-12, 13, elements)).astype(np.float32)


def element_counts(spec: AllReduce) -> list[int]:
    """Elements of each all-reduce, in order."""
    return spec.sizes * spec.repeats


class AllReduceWorkload:
    """All-reduce seeded arrays and hash every result."""

    def prepare(self, spec: AllReduce, seed: int, folder: Path) -> None:
        """Nothing to prepare: the arrays come from the seed."""

    def work(
        self, comm: Communicator, spec: AllReduce, seed: int, folder: Path, emit: Emit
    ) -> dict[str, Any]:
        """One rank."""
        digest = hashlib.sha256()
        for step, elements in enumerate(element_counts(spec)):
            array = contribution(seed, step, comm.rank, elements)
            begun = time.monotonic()
            comm.all_reduce(array)
            emit("step", step=step, all_reduce_s=time.monotonic() - begun, bytes=array.nbytes)
            digest.update(array.tobytes())
        return {"digest": digest.hexdigest()}

    def reference(
        self, spec: AllReduce, seed: int, world: int, folder: Path, ring_sum: RingSum
    ) -> dict[str, Any]:
        """One process that sums all contributions in ring order."""
        digest = hashlib.sha256()
        for step, elements in enumerate(element_counts(spec)):
            total = ring_sum([contribution(seed, step, rank, elements) for rank in range(world)])
            digest.update(np.asarray(total).tobytes())
        return {"digest": digest.hexdigest()}


if __name__ == "__main__":
    sys.exit(Main(AllReduceWorkload(), AllReduce)())

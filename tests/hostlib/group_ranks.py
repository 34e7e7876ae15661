"""Groups over a network in memory, each rank in a thread, and values for them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from csaud.groups.group import Group
from csaud.groups.job_state import JobState

from tests.hostlib.memory_network import MemoryNetwork, MemoryTransport, on_every_rank

LONGEST = 256  # bytes of a message, so that some are several


def everywhere(
    size: int,
    work: Callable[[Group], Any],
    *,
    all_reduce: str = "auto",
    seed: int = 1,
    hosts: Sequence[int] = (),
) -> list[Any]:
    """What `work` gives on each rank, each in a thread of its own."""
    network = MemoryNetwork(seed)
    results: list[Any] = [None] * size

    def run(rank: int) -> None:
        transport = MemoryTransport(network, rank)
        job = JobState(transport, LONGEST, None, all_reduce, network.fail, lambda: None, hosts=hosts)
        results[rank] = work(Group(job, 0, range(size), rank))

    on_every_rank(size, run, network.fail)
    return results


def values(rank: int, count: int, dtype: Any, seed: int = 3) -> np.ndarray:
    random = np.random.default_rng([seed, rank])
    kind = np.dtype(dtype).name
    if kind == "bool":
        return random.integers(0, 2, count).astype(bool)
    if kind.startswith("int"):
        return random.integers(-1000, 1000, count).astype(dtype)
    if kind.startswith("uint"):
        return random.integers(0, 1000, count).astype(dtype)
    return (random.normal(size=count) * 10.0 ** random.integers(-2, 3, count)).astype(dtype)


def dtype_of(name: str) -> Any:
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name

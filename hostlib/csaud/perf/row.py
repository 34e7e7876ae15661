"""One line of a measurement: a size, what it took, and the bandwidths that follow from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from csaud.perf.plan import Test

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """Times in microseconds, bandwidths in GB/s (10^9 bytes), as nccl-tests have them.

    Attributes:
        test, ranks: what was measured, among how many.
        size: bytes. bandwidth, latency: of a message; allreduce, reducescatter, broadcast: of each
            rank's array; allgather: of all ranks' arrays together; alltoall: that a rank
            sends to all others and itself; incast: that each rank sends to rank 0; permutation: that each
            rank sends to another.
        count, type, op: elements of `size`, their type, how they are combined ("none": they are not).
        iterations: that count.
        time: mean. latency: half a round trip. Others: what one iteration took all ranks.
        algbw: `size` (incast: what rank 0 got) by `time`.
        busbw: algbw times what the algorithm moves over each link for a byte, so that it compares with the
            link's rate (all-reduce 2(n-1)/n; reduce-scatter, all-gather, all-to-all (n-1)/n).
        rate: messages a second.
        t_min, t_max, p50 to p99_99: of single iterations. A percentile for which there are too few
            iterations is None. bandwidth: from a message's post to its acknowledgement.
        wrong: elements that were not as they must be; None: not checked.
    """

    test: Test
    ranks: int
    size: int
    count: int
    type: str
    op: str
    iterations: int
    time: float
    algbw: float
    busbw: float
    rate: float
    t_min: float
    t_max: float
    p50: float | None
    p90: float | None
    p99: float | None
    p99_9: float | None
    p99_99: float | None
    wrong: int | None = None


def bus_factor(test: Test, ranks: int) -> float:
    """busbw / algbw, see nccl-tests' PERFORMANCE.md."""
    if test == "allreduce":
        return 2 * (ranks - 1) / ranks
    if test in ("alltoall", "reducescatter", "allgather"):
        return (ranks - 1) / ranks
    return 1.0


def percentile(samples: Sequence[float], percent: float) -> float | None:
    """None where fewer samples than one lie beyond it: it would be no more than the maximum."""
    if len(samples) * (100.0 - percent) < 100.0 - 1e-6:
        return None
    return float(np.percentile(samples, percent))


def make_row(
    test: Test,
    ranks: int,
    size: int,
    samples_us: Sequence[float],
    total_us: float,
    *,
    type: str = "byte",
    width: int = 1,
    op: str = "none",
    wrong: int | None = None,
) -> Row:
    """The row of `samples_us`, times of single iterations, that took `total_us` all together."""
    iterations = len(samples_us)
    time = total_us / iterations
    moved = size * (ranks - 1) if test == "incast" else size
    algbw = moved / time * 1e-3 if time > 0 else 0.0
    tails = {name: percentile(samples_us, percent) for name, percent in PERCENTILES.items()}
    return Row(
        test, ranks, size, size // width, type, op, iterations, time, algbw,
        algbw * bus_factor(test, ranks), 1e6 / time if time > 0 else 0.0,
        min(samples_us), max(samples_us), wrong=wrong, **tails,
    )  # fmt: skip

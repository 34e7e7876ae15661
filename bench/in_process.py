"""Switches linked in memory, in one process: hops per second of processor time, and the time of one hop."""

from __future__ import annotations

from statistics import median

from bench import native
from bench.results import Result, result

HOPS_PER_SECOND = 1e6
HOP_US = 5.0


def measure(core: int, *, packets: int, rounds: int) -> list[Result]:
    """A row of four switches, as a packet meets them between two hosts; 94-byte and 1,100-byte frames."""
    rows = []
    for size in (98, 1100, 4214):
        found = [native.hop(core, hops=4, bytes=size, packets=packets) for _ in range(rounds)]
        target = size == 1100
        rows.append(
            result(
                f"hop in process, {size} B", median(one["hops_per_second"] for one in found), "packets/s",
                bound="at least" if target else None, limit=HOPS_PER_SECOND if target else None,
            )
        )  # fmt: skip
        rows.append(
            result(
                f"time of a hop when idle, {size} B", median(one["median_hop_ns"] for one in found) / 1000,
                "us", bound="at most" if target else None, limit=HOP_US if target else None,
            )
        )  # fmt: skip
    return rows

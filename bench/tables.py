"""How throughput falls when tables grow: in process, one switch, packets drawn from all over the tables.

Exact: buckets of weighted spraying (group, bucket), and with them a path and a route for each 64. LPM: routes
of /16 to /32. Ternary: policies under random priorities, with 32 different masks (and with 1,000, without a
target).
"""

from __future__ import annotations

from statistics import median

from bench import native
from bench.results import Result, result

SMALL = 10
_KINDS: dict[str, tuple[str, dict[str, int | str], int, float]] = {
    # kind: (option, other options, large size, most that may be lost)
    "exact": ("buckets", {"spray": "weighted"}, 100_000, 0.20),
    "LPM": ("routes", {}, 100_000, 0.20),
    "ternary": ("policies", {"masks": 32}, 10_000, 0.50),
    "ternary, 1000 masks": ("policies", {"masks": 1000}, 10_000, 0.0),
}


def measure(core: int, *, packets: int, rounds: int, largest: int | None = None) -> list[Result]:
    """For each kind of table a curve, and its fall from 10 entries to the largest size."""
    rows = []
    for kind, (option, others, large, most_lost) in _KINDS.items():
        large = min(large, largest or large)
        sizes = [size for size in (SMALL, 100, 1000, 10_000, 100_000) if size < large] + [large]
        rates: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(rounds):
            for size in sizes:
                options = {**others, option: size}
                found = native.hop(core, hops=1, bytes=1100, packets=packets, **options)
                rates[size].append(found["hops_per_second"])
        for size in sizes:
            name = f"{kind}, {size:,} entries"
            rows.append(
                result(name, median(rates[size]), "packets/s", at={"curve": f"table {kind}", "x": size})
            )
        rows.append(
            result(
                f"{kind}, {large:,} entries", median(rates[large]), "packets/s", peer=f"{SMALL} entries",
                peer_value=median(rates[SMALL]), bound="at least" if most_lost else None,
                limit=1 - most_lost if most_lost else None,
            )
        )  # fmt: skip
    return rows

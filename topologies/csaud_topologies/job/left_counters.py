"""What the ranks of a user's own program have left behind: counters of all their communicators (see
csaud.groups.left_counters), in a folder a rank."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any


class LeftCounters:
    """The folders of one job; what an earlier job has left in them is removed."""

    def __init__(self, folder: Path, ranks: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.folders = [folder / f"rank{rank}" for rank in range(ranks)]
        for each in self.folders:
            each.mkdir(parents=True)

    def variables(self, rank: int) -> dict[str, str]:
        """What tells a rank's library where to leave them."""
        return {"CSAUD_STATS_DIR": str(self.folders[rank])}

    def read(self) -> list[list[dict[str, Any]]]:
        """Of each rank, what its communicators left, in the order in which they ended."""
        found = [[json.loads(path.read_text()) for path in folder.glob("*.json")] for folder in self.folders]
        return [sorted(of_rank, key=lambda left: float(left["time"])) for of_rank in found]


def as_report(left: list[dict[str, Any]]) -> dict[str, Any]:
    """One rank's report event, with the counters of its communicators added up; {} where there is none."""
    if not left:
        return {}
    stats: dict[str, Any] = {}
    for each in left:
        for name, value in each["stats"].items():
            stats[name] = _sum(stats[name], value) if name in stats else value
    return {
        "stats": stats,
        "flow_times": [time for each in left for time in each["flow_times"]],
        "spans": [span | {"epoch": each["epoch"]} for each in left for span in each["spans"]],
    }


def as_steps(ranks: Iterable[list[dict[str, Any]]]) -> list[dict[int, dict[str, Any]]]:
    """Each all-reduce as a step event of every rank that took part, in order."""
    found: dict[tuple[int, int, int], dict[int, dict[str, Any]]] = defaultdict(dict)
    for rank, left in enumerate(ranks):
        for each in left:
            for one in each["all_reduces"]:
                key = (each["epoch"], one["communicator"], one["number"])
                found[key][rank] = {"all_reduce_s": one["seconds"], "bytes": one["bytes"]}
    return list(found.values())


def _sum(first: Any, second: Any) -> Any:
    if isinstance(first, list):
        return [a + b for a, b in zip_longest(first, second, fillvalue=0)]  # communicators of other paths
    return first + second

"""Sizes of flows: published distributions, or one's own.

A distribution is a list of (bytes, percent of flows that are at most so long), between which it is linear,
from (0 or the smallest, 0) to (the largest, 100). The published ones are figures measured in data centres as
these repositories give them, with their mean sizes:

AliStorage2019, 40.9 KB: `traffic_gen/AliStorage2019.txt` of alibaba-edu/High-Precision-Congestion-Control
    (storage nodes of Alibaba).
WebSearch, 1.71 MB: `traffic_gen/WebSearch_distribution.txt` there; the web search cluster of DCTCP (Alizadeh
    and others, SIGCOMM 2010).
FbHdp, 120 KB: `traffic_gen/FbHdp_distribution.txt` there; Facebook's Hadoop cluster (Roy and others, SIGCOMM
    2015).
Solar2022, 39.4 KB: `traffic_gen/Solar2022.txt` of conweave-project/conweave-ns3; Alibaba's storage over Solar
    (Miao and others, SIGCOMM 2022).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from csaud_sim.experiment.limits import LONGEST_FLOW

Points = tuple[tuple[int, float], ...]

PUBLISHED: dict[str, Points] = {
    "AliStorage2019": (
        *((0, 0.0), (4000, 22.93), (8000, 69.21), (16000, 80.61), (32000, 90.47), (64000, 93.53)),
        *((128000, 96.77), (256000, 97.53), (2000000, 100.0)),
    ),
    "WebSearch": (
        *(
            (0, 0.0),
            (10000, 15.0),
            (20000, 20.0),
            (30000, 30.0),
            (50000, 40.0),
            (80000, 53.0),
            (200000, 60.0),
        ),
        *((1000000, 70.0), (2000000, 80.0), (5000000, 90.0), (10000000, 97.0), (30000000, 100.0)),
    ),
    "FbHdp": (
        *((0, 0.0), (100, 1.0), (200, 2.0), (300, 5.0), (350, 15.0), (400, 20.0), (500, 30.0), (600, 40.0)),
        *((700, 50.0), (1000, 60.0), (2000, 67.0), (7000, 70.0), (30000, 72.0), (50000, 82.0), (80000, 87.0)),
        *((120000, 90.0), (300000, 95.0), (1000000, 97.5), (2000000, 99.0), (10000000, 100.0)),
    ),
    "Solar2022": (
        *((0, 0.0), (4095, 0.001), (4096, 30.0), (16383, 35.0), (16384, 50.0), (65535, 60.0), (65536, 95.0)),
        (262144, 100.0),
    ),
}


def check_points(points: Points) -> None:
    """ValueError where they are no distribution."""
    if len(points) < 2 or points[0][1] != 0 or points[-1][1] != 100:
        raise ValueError("expected pairs [bytes, percent], the first with 0 percent, the last with 100")
    for end in (points[0][0], points[-1][0]):
        if not 0 <= end <= LONGEST_FLOW:
            raise ValueError(f"expected 0 to {LONGEST_FLOW} bytes, got {end}")
    for (shorter, fewer), (longer, more) in pairwise(points):
        if not (longer > shorter and more >= fewer):  # nan is neither
            raise ValueError(
                f"expected growing bytes and percent, got {[longer, more]} after {[shorter, fewer]}"
            )


def mean_bytes(points: Points) -> float:
    """Mean size: of each linear piece its middle, by the share of flows in it."""
    return sum(
        (more - fewer) / 100 * (shorter + longer) / 2 for (shorter, fewer), (longer, more) in pairwise(points)
    )


def mean_of(sizes: str | int | Points) -> float:
    """Mean size of flows: of a published distribution, of flows of so many bytes, or by points."""
    if isinstance(sizes, int):
        return sizes
    return mean_bytes(PUBLISHED[sizes] if isinstance(sizes, str) else sizes)


def draw(points: Points, count: int, random: np.random.Generator) -> npt.NDArray[np.uint64]:
    """So many sizes, at least a byte each."""
    sizes, percent = np.array(points).T
    drawn = np.interp(random.uniform(0, 100, count), percent, sizes)
    return np.asarray(np.maximum(drawn, 1), np.uint64)

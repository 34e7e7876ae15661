"""Figures over seeds, with intervals.

Flows of one run are not independent of each other; runs of different seeds are. So a percentile is taken of
each run by itself, the figure is the mean of these over the seeds, and its 95 % interval comes from a
bootstrap of the seeds: so many seeds are drawn from them with replacement, again and again, and the interval
is from the 2.5th to the 97.5th percentile of the means. Of fewer than three seeds there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
LEAST_SEEDS = 3
SEED = 20

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval; `low` and `high` are nan where there is none."""

    value: float
    low: float = float("nan")
    high: float = float("nan")

    @property
    def has_interval(self) -> bool:
        return not np.isnan(self.low)


def mean_over_seeds(values: Floats) -> Estimate:
    """`values`: one a seed."""
    mean = float(np.mean(values))
    if len(values) < LEAST_SEEDS:
        return Estimate(mean)
    means = values[_draws(len(values))].mean(axis=1)
    return Estimate(mean, *map(float, np.percentile(means, (2.5, 97.5))))


def reduction(ours: Floats, theirs: Floats) -> Estimate:
    """By what share the mean of `ours` is below that of `theirs`; of the same seeds in the same order, which
    are drawn together."""
    value = 1 - float(np.mean(ours)) / float(np.mean(theirs))
    if len(ours) < LEAST_SEEDS:
        return Estimate(value)
    drawn = _draws(len(ours))
    reductions = 1 - ours[drawn].mean(axis=1) / theirs[drawn].mean(axis=1)
    return Estimate(value, *map(float, np.percentile(reductions, (2.5, 97.5))))


def _draws(count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))

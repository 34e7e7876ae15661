"""The runs of a folder, by setting, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from csaud_runs.errors import RunError

from csaud_sim.experiment.results import ENDING, Run, read_run
from csaud_sim.experiment.statistics import Estimate, mean_over_seeds, reduction
from csaud_sim.experiment.sweep import RUNS

SHARES = (50.0, 99.0, 99.9)
"""Percentiles that are shown."""
_NS_IN_US = 1e3

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SettingFigures:
    """One setting, over its seeds.

    Attributes:
        slowdown, fct_us: estimates, in the order of SHARES.
        totals: means over seeds, by name (`columns.TOTALS`).
        per_seed: (seeds, SHARES) of both, for comparisons.
    """

    setting: str
    seeds: tuple[int, ...]
    slowdown: tuple[Estimate, ...]
    fct_us: tuple[Estimate, ...]
    totals: Mapping[str, float]
    per_seed: Mapping[str, Floats]


@dataclass(frozen=True)
class Reduction:
    """By how much a setting's percentiles are below another's, as shares, in the order of SHARES."""

    setting: str
    against: str
    slowdown: tuple[Estimate, ...]
    fct: tuple[Estimate, ...]


def load_runs(folder: Path) -> dict[str, list[Run]]:
    """Runs by setting, each list by seed.

    RunError where there is none, or two of one setting and seed, or of several experiments.
    """
    inner = folder / RUNS
    files = sorted((inner if inner.is_dir() else folder).glob(f"*{ENDING}"))
    if not files:
        raise RunError(f"{folder}: no runs in it: expected the folder that csaud sim run wrote (--out)")
    runs = [read_run(file) for file in files]
    if len(names := {run.experiment for run in runs}) > 1:
        raise RunError(f"{folder}: runs of several experiments: {', '.join(sorted(names))}")
    found: dict[str, dict[int, Run]] = {}
    for run in runs:
        other = found.setdefault(run.setting, {}).setdefault(run.seed, run)
        if other is not run:
            raise RunError(
                f"{run.path} and {other.path.name} are both of {run.setting}, seed {run.seed}, and differ in "
                "what was run: remove those that are not meant"
            )
    return {setting: [by_seed[seed] for seed in sorted(by_seed)] for setting, by_seed in found.items()}


def figures_of(setting: str, runs: Sequence[Run]) -> SettingFigures:
    """RunError where no flow of some run is over."""
    per_seed = {
        "slowdown": np.array([_percentiles(run, "slowdown") for run in runs]),
        "fct": np.array([_percentiles(run, "fct_ns") for run in runs]) / _NS_IN_US,
    }
    return SettingFigures(
        setting,
        tuple(run.seed for run in runs),
        tuple(mean_over_seeds(values) for values in per_seed["slowdown"].T),
        tuple(mean_over_seeds(values) for values in per_seed["fct"].T),
        {name: float(np.mean([run.totals[name] for run in runs])) for name in runs[0].totals},
        per_seed,
    )


def compare(ours: SettingFigures, theirs: SettingFigures) -> Reduction:
    """RunError where they have no seed in common. Only those seeds count."""
    common = sorted(set(ours.seeds) & set(theirs.seeds))
    if not common:
        raise RunError(f"{ours.setting} and {theirs.setting} have no seed in common")

    def of(kind: str) -> tuple[Estimate, ...]:
        mine = ours.per_seed[kind][[ours.seeds.index(seed) for seed in common]]
        other = theirs.per_seed[kind][[theirs.seeds.index(seed) for seed in common]]
        return tuple(reduction(a, b) for a, b in zip(mine.T, other.T, strict=True))

    return Reduction(ours.setting, theirs.setting, of("slowdown"), of("fct"))


def _percentiles(run: Run, name: str) -> Floats:
    values = run.column(name)
    values = values[~np.isnan(values)]
    if not len(values):
        raise RunError(f"{run.path}: no flow of it is over")
    return np.asarray(np.percentile(values, SHARES), np.float64)

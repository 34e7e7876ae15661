"""The runs of a folder, by setting, and the figures that follow from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from csaud_topologies.base.usage import UsageError

from csaud_sim.experiment.asked import against_asked
from csaud_sim.experiment.baselines import (
    NOT_HELD,
    Baseline,
    Doubts,
    baseline_of,
    doubt_of,
    footnotes,
    marked,
)
from csaud_sim.experiment.results import ENDING, Run, read_run
from csaud_sim.experiment.statistics import Estimate, mean_over_seeds, reduction
from csaud_sim.experiment.sweep import RUNS

SHARES = (50.0, 99.0, 99.9)
"""Percentiles that are shown."""
MEASURES = {
    "slowdown": "slowdown of flows",
    "fct_us": "flow completion time, us",
    "message_us": "messages of collectives, from send to arrival, us",
    "completion_us": "completion time of collectives, us",
}
_NS_IN_US = 1e3
_NAMED = 5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SettingFigures:
    """One setting, over its seeds.

    Attributes:
        percentiles: estimates by what was measured (MEASURES, those that there are), in the order of SHARES.
        totals: means over seeds, by name (`columns.TOTALS`).
        per_seed: (seeds, SHARES) of the same, for comparisons.
        baseline: that it is; None: CSA-UD.
        doubt: of a baseline, why its figures are to be taken with care; empty: none (`baselines`).
    """

    setting: str
    seeds: tuple[int, ...]
    percentiles: Mapping[str, tuple[Estimate, ...]]
    totals: Mapping[str, float]
    per_seed: Mapping[str, Floats]
    baseline: Baseline | None = None
    doubt: str = ""

    @property
    def label(self) -> str:
        """The setting, marked where there is doubt."""
        return marked(self.setting, self.doubt)


@dataclass(frozen=True)
class Reduction:
    """By how much a setting's percentiles are below another's, as shares, in the order of SHARES. Both are
    labels."""

    setting: str
    against: str
    percentiles: Mapping[str, tuple[Estimate, ...]]


def told(figures: Any) -> dict[str, Any]:
    """Fields of a dataclass of figures as JSON values, without what is by seed; what is no number is None."""
    return {
        field.name: _plain(getattr(figures, field.name))
        for field in fields(figures)
        if field.name != "per_seed"
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return told(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def load_runs(folder: Path) -> dict[str, list[Run]]:
    """Runs by setting, in the order of their names; each list by seed.

    RunError where there is none, or two of one setting and seed, or of several experiments.
    """
    inner = folder / RUNS
    files = sorted((inner if inner.is_dir() else folder).glob(f"*{ENDING}"))
    if not files:
        raise UsageError(f"{folder}: no runs in it: expected the folder that csaud sim run wrote (--out)")
    runs = [read_run(file) for file in files]
    if len(names := {run.experiment for run in runs}) > 1:
        raise UsageError(f"{folder}: runs of several experiments: {', '.join(sorted(names))}")
    found: dict[str, dict[int, Run]] = {}
    for run in runs:
        other = found.setdefault(run.setting, {}).setdefault(run.seed, run)
        if other is not run:
            raise UsageError(
                f"{run.path} and {other.path.name} are both of {run.setting}, seed {run.seed}, and differ in "
                "what was run: remove those that are not meant"
            )
    return {
        setting: [found[setting][seed] for seed in sorted(found[setting])]
        for setting in sorted(found, key=_natural)
    }


def _natural(setting: str) -> list[tuple[float, str]]:
    """Numbers in words by their value: 20us before 100us."""
    parts = re.split(r"(\d+(?:\.\d+)?)", setting)
    return [(float(part), "") if index % 2 else (0.0, part) for index, part in enumerate(parts)]


def figures_of(setting: str, runs: Sequence[Run], doubts: Doubts = NOT_HELD) -> SettingFigures:
    """Without what it was asked to measure, and of which nothing is over in some run."""
    values = {measure: [values_of(run, measure) for run in runs] for measure in measures_of(runs[0])}
    per_seed = {
        measure: np.array([np.percentile(of_run, SHARES) for of_run in of_runs])
        for measure, of_runs in values.items()
        if all(len(of_run) for of_run in of_runs)
    }
    baseline = baseline_of(runs[0].settings)
    return SettingFigures(
        setting,
        tuple(run.seed for run in runs),
        {
            measure: tuple(mean_over_seeds(values) for values in found.T)
            for measure, found in per_seed.items()
        },
        {name: float(np.mean([run.totals[name] for run in runs])) for name in runs[0].totals},
        per_seed,
        baseline,
        doubt_of(baseline, doubts),
    )


def notes_of(runs: Mapping[str, Sequence[Run]], figures: Sequence[SettingFigures]) -> list[str]:
    """What is to be known beside the tables: marks of baselines, and figures that do not go together."""
    absent = [
        f"{each.setting}: nothing of some run is over that {MEASURES[measure]} could be of"
        for each in figures
        for measure in measures_of(runs[each.setting][0])
        if measure not in each.percentiles
    ]
    codes = {str(run.code or "a version that did not say") for those in runs.values() for run in those}
    notes = [*footnotes(figures), *absent]
    if len(codes) > 1:
        notes.append(f"runs of {len(codes)} versions of the code: {', '.join(sorted(codes))}")
    files = [run.path for those in runs.values() for run in those]
    missing, others = against_asked(files)
    if missing:
        notes.append(f"{_some(missing)} of {len(missing) + len(files)} runs are missing")
    if others:
        notes.append(f"{_some(others)} are not of the experiment as it was run last")
    return notes


def _some(words: Sequence[str]) -> str:
    """How many, and the first of them."""
    more = ", ..." if len(words) > _NAMED else ""
    return f"{len(words)} ({'; '.join(words[:_NAMED])}{more})"


def measures_of(run: Run) -> tuple[str, ...]:
    """Those of MEASURES that a run has."""
    flows = ("slowdown", "fct_us") if run.settings["traffic"] is not None else ()
    return (*flows, "message_us", "completion_us") if run.settings["collectives"] is not None else flows


def measures_in(figures: Iterable[SettingFigures]) -> list[str]:
    """Those of MEASURES that any setting has."""
    have = {measure for each in figures for measure in each.percentiles}
    return [measure for measure in MEASURES if measure in have]


def compare(ours: SettingFigures, theirs: SettingFigures) -> Reduction:
    """RunError where they have no seed in common. Only those seeds count."""
    common = sorted(set(ours.seeds) & set(theirs.seeds))
    if not common:
        raise UsageError(f"{ours.setting} and {theirs.setting} have no seed in common")

    def of(measure: str) -> tuple[Estimate, ...]:
        mine = ours.per_seed[measure][[ours.seeds.index(seed) for seed in common]]
        other = theirs.per_seed[measure][[theirs.seeds.index(seed) for seed in common]]
        return tuple(reduction(a, b) for a, b in zip(mine.T, other.T, strict=True))

    both = [measure for measure in ours.per_seed if measure in theirs.per_seed]
    return Reduction(ours.label, theirs.label, {measure: of(measure) for measure in both})


def values_of(run: Run, measure: str) -> Floats:
    """What a run measured: of every flow, or of every collective; what is not over is left out."""
    if measure == "completion_us":
        return np.array(run.collectives["completion_ns"], np.float64) / _NS_IN_US
    if measure == "slowdown":
        values = run.column("slowdown")
    else:
        values = run.column("fct_ns", messages=measure == "message_us") / _NS_IN_US
    return np.asarray(values[~np.isnan(values)], np.float64)

"""Distributions of what was measured, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from csaud_topologies.report.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Drawn, new_figure
from matplotlib.ticker import LogLocator, NullFormatter

from csaud_sim.experiment.baselines import marked
from csaud_sim.experiment.comparison import MEASURES, SettingFigures, measures_in, values_of
from csaud_sim.experiment.results import Run
from csaud_sim.experiment.sweep import CASE_MARK

_COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
_DASHES = ("-", "--", ":")
_POINTS = 1000  # of a curve


def curves(runs: Mapping[str, Sequence[Run]], figures: Mapping[str, SettingFigures]) -> dict[str, Drawn]:
    """Share of flows, or collectives, that took longer, by what was measured; both axes logarithmic, all
    seeds of a setting together."""
    drawn = {}
    for measure in measures_in(figures[setting] for setting in runs):
        measured = {name: those for name, those in runs.items() if measure in figures[name].percentiles}
        what = MEASURES[measure]
        figure, axes = new_figure()
        columns: dict[str, Any] = {"share that took longer": _shares()}
        for number, (setting, those) in enumerate(measured.items()):
            values = np.concatenate([values_of(run, measure) for run in those])
            at = np.quantile(values, 1 - _shares())
            colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number // len(_COLOURS) % len(_DASHES)]
            label = marked(_after_case(setting), figures[setting].doubt)
            axes.plot(at, _shares(), color=colour, linestyle=dash, label=label)
            columns[f"{what}: {setting}"] = at
        axes.set(xlabel=what, ylabel="share that took longer", xscale="log", yscale="log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter("{x:g}")
        axes.legend(frameon=False, ncols=1 + len(measured) // 8)
        drawn[measure] = Drawn(figure, columns)
    return drawn


def _after_case(setting: str) -> str:
    return setting.rpartition(CASE_MARK)[2]


def _shares() -> Any:
    return np.geomspace(1, 1e-4, _POINTS)

"""What is read of an experiment's runs to be put beside a published figure: one value a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from csaud_sim.experiment.results import Run

Floats = npt.NDArray[np.float64]
Runs = Mapping[str, Sequence[Run]]
Figure = Callable[[Runs], Floats]
"""Of the runs of an experiment by setting."""

_PERCENT = 100.0
_NS_IN_US = 1e3


def last_flow(setting: str, more_us: float = 0.0) -> Figure:
    """us until the last flow is over, and `more_us`."""
    return lambda runs: _each(runs[setting], lambda run: float(_fct(run).max()) / _NS_IN_US + more_us)


def goodput(setting: str, whole: str) -> Figure:
    """Percent of that of the setting `whole`, of one flow."""
    return lambda runs: _PERCENT * _mean_fct(runs[whole]) / _mean_fct(runs[setting])


def reduction(setting: str, against: str) -> Figure:
    """Percent by which mean completion times are below those of another setting."""
    return lambda runs: _PERCENT * (1 - _mean_fct(runs[setting]) / _mean_fct(runs[against]))


def first_share(setting: str) -> Figure:
    """Percent of the link that the first of two flows to one host has while the other one sends, too."""

    def of(run: Run) -> float:
        start, fct, alone = (
            run.column(name).astype(np.float64) for name in ("start_ns", "fct_ns", "ideal_ns")
        )
        first = int(start.argmin())
        both = start[first] + fct[first] - start[1 - first]
        return float(_PERCENT * (alone[first] - (start[1 - first] - start[first])) / both)

    return lambda runs: _each(runs[setting], of)


def sent_again(setting: str) -> Figure:
    """Copies sent again because the receiver told of a hole, as percent of the packets; nan where any was
    lost."""

    def of(run: Run) -> float:
        again = run.totals["rtx_gap"]
        lost = run.totals["tx_data"] - run.totals["rx_data"]
        return _PERCENT * again / (run.totals["tx_data"] - again) if lost == 0 else float("nan")

    return lambda runs: _each(runs[setting], of)


def _fct(run: Run) -> Floats:
    """ns; nan is a flow that was not over."""
    return run.column("fct_ns").astype(np.float64)


def _mean_fct(runs: Sequence[Run]) -> Floats:
    return _each(runs, lambda run: float(_fct(run).mean()))


def _each(runs: Sequence[Run], figure: Callable[[Run], float]) -> Floats:
    return np.array([figure(run) for run in runs])

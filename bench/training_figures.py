"""The figure of `make reproduce-training`: what each method has learnt, by letters and by the clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib
from csaud_topologies.report.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, STYLE, Drawn
from matplotlib.figure import Figure

from bench.results import Result

Curve = Mapping[str, Any]
"""{"step", "letters", "nats"}: lists of one length, of a method's training."""

CAPTION = (
    "Validation loss, the mean over seeds, of the methods whose steps were measured. Seconds are not those "
    "of the training, which was in one process: they are its steps times what a step takes in the fabric."
)

_SIZE = (9.0, 5.6)  # inches
_COLOURS = (GREY, BLUE, ORANGE, RED, GREEN, PURPLE)


def losses(rows: Iterable[Result]) -> Drawn | None:
    """Losses against letters read, and against seconds in the fabric for each share of communication.

    Without steps that were measured all methods are drawn against letters alone; None without losses.

    Args:
        rows: of all parts; `at` has a loss's curve, and of a step its method and share.
    """
    curves, steps = _found(rows)
    if not curves:
        return None
    shares = sorted({share for _, share in steps})
    drawn = [name for name in curves if not shares or (name, shares[0]) in steps]
    columns: dict[str, list[Any]] = {"method": [], "step": [], "letters": [], "loss, nats a letter": []}
    columns |= {_seconds(share): [] for share in shares}
    for name in drawn:
        curve = curves[name]
        columns["method"] += [name] * len(curve["step"])
        for heading, key in (("step", "step"), ("letters", "letters"), ("loss, nats a letter", "nats")):
            columns[heading] += curve[key]
        for share in shares:
            columns[_seconds(share)] += [step * steps[name, share] for step in curve["step"]]
    return Drawn(_panels(drawn, columns, shares), columns)


def _found(rows: Iterable[Result]) -> tuple[dict[str, Curve], dict[tuple[str, float], float]]:
    """Curves by method, and seconds of a step by method and share."""
    curves: dict[str, Curve] = {}
    steps: dict[tuple[str, float], float] = {}
    for row in rows:
        if "curve" in row.at:
            curves[row.at["method"]] = row.at["curve"]
        elif "share" in row.at:
            steps[row.at["method"], row.at["share"]] = row.value
            if row.peer is not None and row.peer_value is not None:
                steps[row.peer, row.at["share"]] = row.peer_value
    return curves, steps


def _seconds(share: float) -> str:
    return f"seconds, communication {share:.0%} of a dense step"


def _panels(drawn: list[str], columns: Mapping[str, list[Any]], shares: list[float]) -> Figure:
    points: dict[str, list[int]] = defaultdict(list)
    for at, name in enumerate(columns["method"]):
        points[name].append(at)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        across = ["letters", *(_seconds(share) for share in shares)]
        high, wide = (2, (len(across) + 1) // 2) if shares else (1, 1)
        for number, heading in enumerate(across, 1):
            axes = figure.add_subplot(high, wide, number)
            for at, name in enumerate(drawn):
                axes.plot(
                    [columns[heading][point] for point in points[name]],
                    [columns["loss, nats a letter"][point] for point in points[name]],
                    color=_COLOURS[at % len(_COLOURS)],
                    linestyle="-" if at < len(_COLOURS) else "--",
                    marker="o",
                    markersize=3,
                    label=name,
                )
            axes.set(xlabel=heading, ylabel="loss, nats a letter")
            axes.set_xlim(left=0)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure

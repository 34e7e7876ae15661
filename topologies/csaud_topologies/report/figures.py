"""Plots of a report as inline SVG. Colours follow the page; every axis has its unit."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from csaud_topologies.report.model import Report

matplotlib.use("svg")

_BLUE, _ORANGE, _GREEN, _RED, _GREY, _PURPLE = (
    "#3266ad",
    "#d9822b",
    "#3d9970",
    "#c23b4b",
    "#8a8f98",
    "#7b5ea7",
)
_STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "axes.axisbelow": True,
    "svg.hashsalt": "csaud",  # the same report gives the same file
    "svg.fonttype": "none",
}


def _figure(width: float = 6.2, height: float = 3.1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    return text.getvalue()[text.getvalue().index("<svg") :]


def accuracy(report: Report) -> str | None:
    """Accuracy and loss over steps, with the scenario's events."""
    training = report.training
    if training is None:
        return None
    figure, axes = _figure()
    steps = np.arange(1, training.steps + 1)
    axes.plot(steps, _floats(training.accuracy), color=_BLUE, label="test accuracy")
    axes.set(xlabel="step", ylabel="test accuracy", ylim=(0, 1.02))
    right = axes.twinx()
    right.plot(steps, _floats(training.loss), color=_ORANGE, linewidth=1, label="training loss")
    right.set_ylabel("loss")
    right.grid(False)
    for event in report.events:
        axes.axvline(event.step + 1, color=_RED, linewidth=0.8, linestyle="--")
        axes.annotate(event.what, (event.step + 1, 0.03), rotation=90, fontsize=7, color=_RED, ha="right")
    lines = [*axes.get_lines()[:1], *right.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], loc="center right", frameon=False)
    return _svg(figure)


def flow_times(report: Report) -> str | None:
    """Distribution of message completion times (cumulative, logarithmic time)."""
    if report.flows is None or not report.flows.sample_s:
        return None
    figure, axes = _figure()
    values = np.array(report.flows.sample_s) * 1e3
    axes.plot(values, np.arange(1, len(values) + 1) / len(values), color=_BLUE, drawstyle="steps-post")
    for name, value in (("p50", report.flows.p50_s), ("p99", report.flows.p99_s)):
        axes.axvline(value * 1e3, color=_GREY, linewidth=0.8, linestyle="--")
        axes.annotate(
            f"{name} {value * 1e3:.2f} ms", (value * 1e3, 0.05), rotation=90, fontsize=7, ha="right"
        )
    axes.set(xlabel="message completion time, ms", ylabel="share of messages", ylim=(0, 1.02))
    if values[0] > 0:
        axes.set_xscale("log")
    return _svg(figure)


def all_reduces(report: Report, times: Sequence[float]) -> str | None:
    """Time of each all-reduce over the run."""
    if not times:
        return None
    figure, axes = _figure()
    axes.plot(np.arange(1, len(times) + 1), np.array(times) * 1e3, color=_GREEN, marker=".", linewidth=1)
    for event in report.events:
        axes.axvline(event.step + 1, color=_RED, linewidth=0.8, linestyle="--")
    axes.set(xlabel="all-reduce", ylabel="time of the slowest rank, ms")
    axes.set_ylim(bottom=0)
    return _svg(figure)


def uplinks(report: Report) -> str | None:
    """Packets that left each port between switches."""
    ports = report.uplinks
    if not ports:
        return None
    figure, axes = _figure(width=max(6.2, 0.24 * len(ports)))
    names = [f"{port.switch}>{port.peer}" for port in ports]
    below = np.zeros(len(ports))
    kinds = (("data", _BLUE), ("control", _GREEN), ("loss", _ORANGE), ("other", _GREY))
    for kind, colour in kinds:
        values = np.array([getattr(port, kind) for port in ports], float)
        axes.bar(names, values, bottom=below, color=colour, label=kind)
        below += values
    axes.set_ylabel("packets out")
    axes.tick_params(axis="x", rotation=90, labelsize=7)
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return _svg(figure)


def paths(report: Report) -> str | None:
    """DATA packets by the sender's path bucket, over all uplinks."""
    rows = [port.by_path for port in report.uplinks if port.by_path]
    if not rows:
        return None
    figure, axes = _figure()
    totals = np.array(rows).sum(axis=0)
    axes.bar(np.arange(len(totals)), totals, color=_PURPLE)
    axes.set(xlabel="path bucket (path_id mod 16)", ylabel="DATA packets over ports between switches")
    axes.grid(axis="x", visible=False)
    return _svg(figure)


def losses(report: Report) -> str | None:
    """Left: what took the packets. Right: which detector found them."""
    line = next((line for line in report.books.job if line.name == "lost DATA copies"), None)
    if line is None:
        return None
    figure = Figure(figsize=(6.2, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, title, values, colour in (
        (left, "lost, by cause", line.terms, _RED),
        (right, "retransmitted, by detector", report.recovery.found_by, _BLUE),
    ):
        bars = axes.barh(list(values), list(values.values()), color=colour)
        axes.bar_label(bars, fontsize=8, padding=2)
        axes.margins(x=0.2)
        axes.invert_yaxis()
        axes.set(title=title, xlabel="DATA packets")
        axes.grid(axis="y", visible=False)
    return _svg(figure)


def _floats(values: Sequence[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values])


def all_figures(report: Report, all_reduce_times: Sequence[float]) -> dict[str, str]:
    """Figures by name; those that the run has no data for are left out."""
    with matplotlib.rc_context(_STYLE):
        drawn = {
            "accuracy": accuracy(report),
            "flow_times": flow_times(report),
            "all_reduces": all_reduces(report, all_reduce_times),
            "uplinks": uplinks(report),
            "paths": paths(report),
            "losses": losses(report),
        }
    return {name: svg for name, svg in drawn.items() if svg is not None}

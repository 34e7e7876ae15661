"""Figures of a report. Every axis has its unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from csaud_topologies.record.model import Report
from csaud_topologies.report.drawing import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    ORANGE,
    PURPLE,
    RED,
    STYLE,
    WIDTH,
    Column,
    Drawn,
    new_figure,
)
from csaud_topologies.report.link_figures import goodput, queues
from csaud_topologies.report.names import NAMES, PARTS_OF_TIME

_COLOURS = {"computing_s": GREEN, "beside_s": BLUE, "communicating_s": ORANGE, "waiting_s": GREY}


def accuracy(report: Report) -> Drawn | None:
    """Accuracy and loss over steps, with the scenario's events."""
    training = report.training
    if training is None:
        return None
    figure, axes = new_figure()
    steps = np.arange(1, training.steps + 1)
    axes.plot(steps, _floats(training.accuracy), color=BLUE, label="test accuracy")
    axes.set(xlabel="step", ylabel="test accuracy", ylim=(0, 1.02))
    right = axes.twinx()
    right.plot(steps, _floats(training.loss), color=ORANGE, linewidth=1, label="training loss")
    right.set_ylabel("loss")
    right.grid(False)
    for event in report.events:
        axes.axvline(event.step, color=RED, linewidth=0.8, linestyle="--")
        axes.annotate(event.what, (event.step, 0.03), rotation=90, color=RED, ha="right")
    lines = [*axes.get_lines()[:1], *right.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], loc="center right", frameon=False)
    return Drawn(figure, {"step": steps, "test accuracy": training.accuracy, "training loss": training.loss})


def flow_times(report: Report) -> Drawn | None:
    """Distribution of message completion times (cumulative, logarithmic time)."""
    if report.flows is None or not report.flows.sample_s:
        return None
    figure, axes = new_figure()
    values = np.array(report.flows.sample_s) * 1e3
    share = np.arange(1, len(values) + 1) / len(values)
    axes.plot(values, share, color=BLUE, drawstyle="steps-post")
    for name, value in (("p50", report.flows.p50_s), ("p99", report.flows.p99_s)):
        axes.axvline(value * 1e3, color=GREY, linewidth=0.8, linestyle="--")
        axes.annotate(f"{name} {value * 1e3:.2f} ms", (value * 1e3, 0.05), rotation=90, ha="right")
    axes.set(xlabel="message completion time, ms", ylabel="share of messages", ylim=(0, 1.02))
    if values[0] > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")  # powers would have exponents in a smaller font
        axes.xaxis.set_minor_formatter(NullFormatter())
    return Drawn(figure, {"message completion time, ms": values, "share of messages": share})


def all_reduces(report: Report, times: Sequence[float]) -> Drawn | None:
    """Time of each all-reduce over the run."""
    if not times:
        return None
    figure, axes = new_figure()
    order = np.arange(1, len(times) + 1)
    axes.plot(order, np.array(times) * 1e3, color=GREEN, marker=".", linewidth=1)
    for event in report.events:
        axes.axvline(event.step, color=RED, linewidth=0.8, linestyle="--")
    axes.set(xlabel="all-reduce", ylabel="time of the slowest rank, ms")
    axes.set_ylim(bottom=0)
    return Drawn(figure, {"all-reduce": order, "time of the slowest rank, ms": np.array(times) * 1e3})


def time_split(report: Report) -> Drawn | None:
    """Where each rank's time went."""
    ranks = report.time_split
    if not ranks:
        return None
    figure, axes = new_figure(height=max(HEIGHT, 0.2 * len(ranks)))
    names = [f"rank {each.rank}" for each in ranks]
    columns: dict[str, Column] = {"rank": [each.rank for each in ranks]}
    total = np.array([each.seconds for each in ranks])
    left = np.zeros(len(ranks))
    for part, label in PARTS_OF_TIME.items():
        seconds = np.array([getattr(each, part) for each in ranks])
        share = 100 * seconds / total
        axes.barh(names, share, left=left, color=_COLOURS[part], label=label)
        left += share
        columns[f"{label}, s"] = seconds
    axes.invert_yaxis()
    axes.set(xlabel="share of a rank's time, %", xlim=(0, 100))
    axes.grid(axis="y", visible=False)
    axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return Drawn(figure, columns)


def uplinks(report: Report) -> Drawn | None:
    """Packets that left each port between switches."""
    ports = report.uplinks
    if not ports:
        return None
    figure, axes = new_figure(width=max(WIDTH, 0.24 * len(ports)))
    names = [f"{port.switch}>{port.peer}" for port in ports]
    columns: dict[str, Column] = {"port": names}
    below = np.zeros(len(ports))
    kinds = (("data", BLUE), ("control", GREEN), ("loss", ORANGE), ("other", GREY))
    for kind, colour in kinds:
        values = np.array([getattr(port, kind) for port in ports], int)
        axes.bar(names, values, bottom=below, color=colour, label=kind)
        below += values
        columns[f"{kind}, packets"] = values
    axes.set_ylabel("packets out")
    axes.tick_params(axis="x", rotation=90)
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return Drawn(figure, columns)


def paths(report: Report) -> Drawn | None:
    """DATA packets by the sender's path bucket, over all uplinks."""
    rows = [port.by_path for port in report.uplinks if port.by_path]
    if not rows:
        return None
    figure, axes = new_figure()
    totals = np.array(rows).sum(axis=0)
    axes.bar(np.arange(len(totals)), totals, color=PURPLE)
    axes.set(xlabel="path bucket (path_id mod 16)", ylabel="DATA packets over ports between switches")
    axes.grid(axis="x", visible=False)
    return Drawn(figure, {"path bucket": np.arange(len(totals)), "DATA packets": totals})


def losses(report: Report) -> Drawn | None:
    """Left: what took the packets. Right: which detector found them."""
    line = next((line for line in report.books.job if line.name == "lost DATA copies"), None)
    if line is None:
        return None
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    halves = (
        (left, "lost, by cause", line.terms, RED),
        (right, "retransmitted, by detector", report.recovery.found_by, BLUE),
    )
    for axes, title, values, colour in halves:
        bars = axes.barh(list(values), list(values.values()), color=colour)
        axes.bar_label(bars, padding=2)
        axes.margins(x=0.2)
        axes.invert_yaxis()
        axes.set(title=title, xlabel="DATA packets")
        axes.grid(axis="y", visible=False)
    rows = [(title, name, packets) for _, title, values, _ in halves for name, packets in values.items()]
    what, names, packets = zip(*rows, strict=True)
    return Drawn(figure, {"what": what, "name": names, "DATA packets": packets})


def _floats(values: Sequence[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values])


def all_figures(report: Report, all_reduce_times: Sequence[float]) -> dict[str, Drawn]:
    """Figures by those of NAMES that the run has data for."""
    with matplotlib.rc_context(STYLE):
        drawn = (
            accuracy(report),
            flow_times(report),
            all_reduces(report, all_reduce_times),
            time_split(report),
            uplinks(report),
            paths(report),
            losses(report),
            goodput(report),
            queues(report),
        )
    return {name: figure for name, figure in zip(NAMES, drawn, strict=True) if figure is not None}

"""Goodput and queues by link over time: a row a port, time to the right, the value as a shade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from csaud_topologies.record.model import LinkSeries, Report
from csaud_topologies.report.drawing import RED, WIDTH, Column, Drawn, new_figure

_BINS = 60  # most columns of the picture; the CSV has every sample
_ROW_IN = 0.16


def goodput(report: Report) -> Drawn | None:
    """Payload that left each port between switches."""
    return _shades(report, "goodput, Mbit/s", lambda link: np.array(link.goodput_bps) / 1e6, np.mean)


def queues(report: Report) -> Drawn | None:
    """Packets that waited for each port; of several samples in one column the most."""
    return _shades(report, "packets in the queue", lambda link: link.queue_packets, np.max)


def _shades(
    report: Report, label: str, values: Callable[[LinkSeries], Any], gather: Callable[..., Any]
) -> Drawn | None:
    timeline = report.timeline
    links = [link for link in timeline.links if values(link) is not None] if timeline else []
    if timeline is None or not links:
        return None
    names = [f"{link.switch}>{link.peer}" for link in links]
    table = np.array([values(link) for link in links], float)
    bins = np.array_split(np.arange(table.shape[1]), min(_BINS, table.shape[1]))
    shown = np.stack([gather(table[:, members], axis=1) for members in bins], axis=1)
    edges = [0.0, *(timeline.at_s[members[-1]] for members in bins)]
    figure, axes = new_figure(WIDTH, 0.9 + _ROW_IN * len(links))
    mesh = axes.pcolormesh(edges, np.arange(len(links) + 1), shown, cmap="viridis", vmin=0)
    for event in report.events:
        axes.axvline(event.at_s, color=RED, linewidth=0.8, linestyle="--")
    axes.set(xlabel="time, s", xlim=(0, edges[-1]))
    axes.set_yticks(np.arange(len(links)) + 0.5, names)
    axes.invert_yaxis()
    axes.grid(visible=False)
    bar = figure.colorbar(mesh, ax=axes, label=label)
    assert bar.solids is not None
    bar.solids.set_rasterized(False)  # an image would be of one resolution
    bar.ax.spines["outline"].set_visible(False)
    columns: dict[str, Column] = {"time, s": timeline.at_s}
    for link, name, row in zip(links, names, table, strict=True):
        columns[f"{name} (port {link.port}), {label.rpartition(', ')[2]}"] = row
    return Drawn(figure, columns)

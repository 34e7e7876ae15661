"""What figures share: one font size, colours for both of a page's themes, and three files of each figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib
import numpy.typing as npt
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from csaud_topologies.report.font import pdf_font
from csaud_topologies.report.names import FORMATS

matplotlib.use("svg")

BLUE, ORANGE, GREEN, RED, GREY, PURPLE = (
    "#3266ad",
    "#d9822b",
    "#3d9970",
    "#c23b4b",
    "#8a8f98",
    "#7b5ea7",
)
WIDTH, HEIGHT = 6.2, 3.1
"""Inches; at this width a figure stands on a page of a paper without being scaled."""

_INK, _GRID = "#101112", "#e3e6e9"
_FONT_PT = 8
STYLE: Any = {
    "font.size": _FONT_PT,
    **{
        f"{what}size": _FONT_PT
        for what in ("axes.title", "axes.label", "xtick.label", "ytick.label", "legend.font")
    },
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": _GRID,
    "axes.axisbelow": True,
    "svg.hashsalt": "csaud",  # the same report gives the same file
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


Column = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True)
class Drawn:
    """A figure, and the numbers in it: columns of one length each, by a heading with its unit."""

    figure: Figure
    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        """Lays the figure out once: it takes longer than drawing it, and `savefig` does it for each file."""
        for patch in (self.figure.patch, *(axes.patch for axes in self.figure.axes)):
            patch.set(facecolor="none", edgecolor="none")
        engine = self.figure.get_layout_engine()
        with matplotlib.rc_context(STYLE):
            if engine is not None:
                engine.execute(self.figure)
        self.figure.set_layout_engine("none")

    def inline(self) -> str:
        """The SVG element for a page: ink and grid take the page's colours."""
        text = self._svg
        text = text[text.index("<svg") :]
        return text.replace(_INK, "currentColor").replace(_GRID, "var(--line)")

    def write(self, stem: Path) -> None:
        """STEM.svg, STEM.pdf and STEM.csv."""
        svg, pdf, table = (stem.with_name(f"{stem.name}.{ending}") for ending in FORMATS)
        svg.write_text(self._svg)
        pdf.write_bytes(self.pdf())
        with table.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(self.columns)
            rows.writerows(zip(*self.columns.values(), strict=True))

    def pdf(self) -> bytes:
        """The file."""
        # not into the file: what matplotlib raises where the disk is full is no OSError
        made = io.BytesIO()
        with matplotlib.rc_context(STYLE | pdf_font(_texts(self.figure))):
            FigureCanvasPdf(self.figure).print_pdf(made, metadata=_NO_DATE["pdf"])  # type: ignore[no-untyped-call]
        return made.getvalue()

    @cached_property
    def _svg(self) -> str:
        text = io.StringIO()
        with matplotlib.rc_context(STYLE):
            FigureCanvasSVG(self.figure).print_svg(text, metadata=_NO_DATE["svg"])  # type: ignore[no-untyped-call]
        return text.getvalue()


def new_figure(width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Any]:
    """A figure with one pair of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _texts(figure: Figure) -> str:
    return "".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))

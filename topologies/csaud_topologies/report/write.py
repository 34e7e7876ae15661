"""Writes report.json, report.html and the figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from csaud_topologies.base.say import say
from csaud_topologies.record.model import Report
from csaud_topologies.report.html import render_html
from csaud_topologies.report.names import FORMATS, NAMES

_FIGURES = "figures"


def clear_report(out: Path) -> None:
    """Remove what an earlier run wrote into `out`, and nothing else: a failed run has no report."""
    for old in ("report.json", "report.html"):
        (out / old).unlink(missing_ok=True)
    for name in NAMES:
        for ending in FORMATS:
            (out / _FIGURES / f"{name}.{ending}").unlink(missing_ok=True)


def write_report(report: Report, out: Path, all_reduce_times: Sequence[float]) -> Path:
    """All files into `out`; `all_reduce_times` in order, in seconds. Returns the page's path."""
    from csaud_topologies.report.figures import all_figures  # Matplotlib, for which a fabric does not wait

    (out / "report.json").write_text(report.model_dump_json(indent=1) + "\n")
    figures = all_figures(report, all_reduce_times)
    folder = out / _FIGURES
    folder.mkdir(exist_ok=True)
    for name, drawn in figures.items():
        drawn.write(folder / name)
    page = out / "report.html"
    page.write_text(render_html(report, figures))
    return page


def write_or_say_why_not(report: Report, out: Path, all_reduce_times: Sequence[float]) -> Path | None:
    """As `write_report`; None where there is no room for it, which costs no run its summary."""
    try:
        return write_report(report, out, all_reduce_times)
    except OSError as error:
        say(f"{out}: the report cannot be written: {error.strerror or error}")
        clear_report(out)  # a part would pass for the whole
        return None

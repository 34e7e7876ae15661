"""Writes report.json and report.html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from csaud_topologies.report.html import render_html
from csaud_topologies.report.model import Report


def write_report(report: Report, out: Path, all_reduce_times: Sequence[float]) -> Path:
    """Both files into `out`; the page's path."""
    (out / "report.json").write_text(report.model_dump_json(indent=1) + "\n")
    page = out / "report.html"
    page.write_text(render_html(report, all_reduce_times))
    return page

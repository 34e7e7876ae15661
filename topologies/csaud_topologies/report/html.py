"""report.html: one file, no script and nothing to load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from csaud_topologies.record.model import Report
from csaud_topologies.report.in_words import happened, over_time, policy_rows
from csaud_topologies.report.picture import fabric_picture

if TYPE_CHECKING:
    from csaud_topologies.report.drawing import Drawn

_TEMPLATE = Path(__file__).with_name("report.html.j2")
_STYLE = Path(__file__).with_name("page.css")


def page_environment() -> jinja2.Environment:
    """For pages in this style: `style` is the style sheet, the filter `count` writes whole numbers."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    no_break = "\u202f"  # a narrow space at which no line ends
    environment.filters["count"] = lambda value: f"{value:,}".replace(",", no_break)
    environment.globals["style"] = Markup(_STYLE.read_text())
    return environment


def render_html(report: Report, figures: Mapping[str, Drawn]) -> str:
    """The page for a report with its figures."""
    environment = page_environment()
    environment.filters["ms"] = lambda seconds: f"{seconds * 1e3:.2f} ms"
    template = environment.from_string(_TEMPLATE.read_text())
    inline = {name: Markup(drawn.inline()) for name, drawn in figures.items()}
    return template.render(
        r=report,
        figures=inline,
        picture=Markup(fabric_picture(report)),
        over_time=over_time(report),
        happened=happened(report),
        policy=policy_rows(report.in_force.policy),
    )

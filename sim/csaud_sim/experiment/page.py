"""A sweep as a section of a page: its tables, its verdicts, its distributions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from csaud_topologies.report.html import page_environment
from csaud_topologies.report.names import FORMATS
from markupsafe import Markup

from csaud_sim.experiment.baselines import BASELINES, marked
from csaud_sim.experiment.cases import has_cases
from csaud_sim.experiment.claim import LEAST, Verdict, by_case, over_all
from csaud_sim.experiment.comparison import (
    MEASURES,
    SHARES,
    Reduction,
    SettingFigures,
    measures_in,
    notes_of,
)
from csaud_sim.experiment.curves import curves
from csaud_sim.experiment.results import Run
from csaud_sim.experiment.statistics import LEAST_SEEDS, Estimate
from csaud_sim.experiment.sweep import CASE_MARK

SECTIONS = Path(__file__).parent
PACKETS = (
    *("unfinished", "DATA", "lost", "by switches", "by interval", "by probe or timeout"),
    *("by parity", "spurious"),
)
"""Headings of `packets_of`."""


@dataclass(frozen=True)
class Section:
    """What stands on a page of one experiment.

    Attributes:
        settings: of its first run (`Run.settings`).
        groups: by case, the settings in the experiment's order; one of no name where there are no cases.
        concludes: the claim stands or falls with these verdicts; they are told in words, too.
        curves: SVG by the name of its files; empty where there would be too many.
        notes: what the marks mean.
    """

    name: str
    settings: Mapping[str, Any]
    groups: Mapping[str, Sequence[SettingFigures]]
    reductions: Sequence[Reduction]
    verdicts: Sequence[Verdict]
    concludes: bool
    curves: Mapping[str, Markup]
    notes: Sequence[str]

    @property
    def measures(self) -> list[str]:
        """What was measured (`comparison.MEASURES`)."""
        return measures_in(each for those in self.groups.values() for each in those)


def section_of(
    out: Path,
    runs: Mapping[str, Sequence[Run]],
    figures: Sequence[SettingFigures],
    reductions: Sequence[Reduction] = (),
    found: Sequence[Verdict] = (),
    concludes: bool = True,
) -> Section:
    """Draws the distributions into `out`/figures, too: of cases only where there are verdicts, CSA-UD's
    and each baseline's strongest setting; of all settings on all cases nobody could read any."""
    first = min((those[0] for those in runs.values()), key=lambda run: run.position)
    by_setting = {each.setting: each for each in figures}
    folder = out / "figures"
    folder.mkdir(exist_ok=True)
    drawn = {}
    for case, chosen in _to_draw(runs, found).items():
        for measure, each in curves({setting: runs[setting] for setting in chosen}, by_setting).items():
            name = "-".join(filter(None, (measure, re.sub(r"[^\w.]+", "-", case))))
            each.write(folder / name)
            drawn[name] = Markup(each.inline())
    groups = by_case(runs) if has_cases(runs) else {"": list(runs)}
    return Section(
        first.experiment,
        first.settings,
        {case: [by_setting[each] for each in settings] for case, settings in groups.items()},
        reductions,
        found,
        concludes,
        drawn,
        notes_of(runs, figures),
    )


def _to_draw(runs: Mapping[str, Sequence[Run]], found: Sequence[Verdict]) -> dict[str, list[str]]:
    if not found:
        return {} if has_cases(runs) else {"": list(runs)}
    drawn: dict[str, list[str]] = {}
    for each in found:
        drawn.setdefault(each.case, [each.ours_setting]).append(each.setting)
    return drawn


def render(template: Path, **values: Any) -> str:
    """A page by a template, which may import those of this folder."""
    environment = page_environment()
    environment.loader = jinja2.FileSystemLoader([template.parent, SECTIONS])
    environment.filters |= {
        "texts": texts_of,
        "reduced": reduced,
        "packets": packets_of,
        "after_case": lambda label: label.rpartition(CASE_MARK)[2],
        "verdict": verdict_row,
        "in_words": in_words,
    }
    environment.globals |= {
        "shares": SHARES,
        "measures": MEASURES,
        "headings": PACKETS,
        "least": LEAST,
        "least_seeds": LEAST_SEEDS,
        "formats": FORMATS,
    }
    return environment.get_template(template.name).render(**values)


def text_of(estimate: Estimate, percent: bool = False) -> str:
    """The value and, in brackets, its interval."""

    def one(value: float) -> str:
        if math.isnan(value):
            return "-"
        return f"{value * 100:.1f} %" if percent else f"{value:.3g}" if value < 100 else f"{value:,.0f}"

    if not estimate.has_interval:
        return one(estimate.value)
    return f"{one(estimate.value)} [{one(estimate.low)}, {one(estimate.high)}]"


def texts_of(percentiles: Mapping[str, Sequence[Estimate]], measure: str, percent: bool = False) -> list[str]:
    """A text a share; dashes where it was not measured."""
    return [text_of(value, percent) for value in percentiles.get(measure, ())] or ["-"] * len(SHARES)


def reduced(reductions: Sequence[Reduction]) -> list[str]:
    """What any of them is of."""
    return list(dict.fromkeys(measure for each in reductions for measure in each.percentiles))


def verdict_row(each: Verdict) -> tuple[str, ...]:
    """Baseline, its strongest setting, p99 of both, reduction, seeds, and what it means for the claim."""
    setting = each.setting.rpartition(CASE_MARK)[2]
    if each.of > 1:
        setting += f" (of {each.of})"
    said = "reproduced" if each.reproduced else f"not reproduced: {each.why_not}"
    return (
        marked(each.baseline.number, each.doubt) + ("" if each.baseline.needed else " (not needed)"),
        setting,
        f"{each.ours:,.1f}",
        "-" if math.isnan(each.theirs) else f"{each.theirs:,.1f}",
        text_of(each.reduction, percent=True),
        str(each.seeds),
        said,
    )


def in_words(found: Sequence[Verdict]) -> list[str]:
    """A line a baseline over all cases, and one on the claim."""
    answer = over_all(found)
    cases = len({each.case for each in found})
    doubts = {each.baseline: each.doubt for each in found}
    lines = []
    for baseline, reproduced in answer.items():
        held = sum(each.reproduced for each in found if each.baseline == baseline)
        said = "reproduced" if reproduced else "not reproduced"
        of_cases = f" ({held} of {cases} cases)" if cases > 1 else ""
        lines.append(f"{marked(baseline.number, doubts[baseline])} {baseline.what}: {said}{of_cases}")
    needed = {baseline: reproduced for baseline, reproduced in answer.items() if baseline.needed}
    if failing := [baseline.number for baseline, reproduced in needed.items() if not reproduced]:
        lines.append(f"The claim is not reproduced: not against {', '.join(failing)}.")
    elif needed:
        against = ", ".join(each.number for each in needed)
        absent = [each.number for each in BASELINES.values() if each.needed and each not in needed]
        lines.append(
            f"The claim is not decided: reproduced against {against}, not run: {', '.join(absent)}."
            if absent
            else f"The claim is reproduced against {against}."
        )
    return lines


def packets_of(totals: Mapping[str, float]) -> tuple[str, ...]:
    """Flows and collectives unfinished; DATA sent, lost, and sent again by what found the loss (switches:
    their word, or a gap), or given back by parity; what of that was for nothing, where all is over. A dash
    for what a transport has not."""
    lost = _sum(totals, "lost")
    found = [
        _sum(totals, *names)
        for names in (
            ("rtx_loss", "rtx_gap"),
            ("rtx_interval",),
            ("rtx_probe", "rtx_timeout"),
            ("rx_by_parity",),
        )
    ]
    mended = sum(each for each in found if not math.isnan(each))
    unfinished = _sum(totals, "unfinished", "collectives_unfinished")
    spurious = math.nan if unfinished else mended - lost
    numbers = (unfinished, totals["tx_data"], lost, *found, spurious)
    return tuple("-" if math.isnan(each) else f"{each:,.0f}" for each in numbers)


def _sum(totals: Mapping[str, float], *names: str) -> float:
    """Of those that there are; nan: there is none."""
    known = [totals[name] for name in names if not math.isnan(totals.get(name, math.nan))]
    return sum(known) if known else math.nan

"""What `csaud sim report` makes of a sweep: tables on the terminal, files, figures, a page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from csaud_sim.experiment.cases import has_cases, tables
from csaud_sim.experiment.claim import Verdict
from csaud_sim.experiment.columns import LINKS, TOTALS
from csaud_sim.experiment.comparison import MEASURES, SHARES, Reduction, SettingFigures, measures_in
from csaud_sim.experiment.page import (
    PACKETS,
    SECTIONS,
    in_words,
    packets_of,
    reduced,
    render,
    section_of,
    texts_of,
    verdict_row,
)
from csaud_sim.experiment.results import Run
from csaud_sim.experiment.statistics import LEAST_SEEDS


def print_tables(
    figures: Sequence[SettingFigures], reductions: Sequence[Reduction], console: Console
) -> None:
    """Figures by setting; then what was compared."""
    for measure in measures_in(figures):
        table = Table(title=MEASURES[measure], title_justify="left")
        table.add_column("setting")
        for heading in ("seeds", *(f"p{share:g}" for share in SHARES)):
            table.add_column(heading, justify="right")
        for each in figures:
            table.add_row(each.label, str(len(each.seeds)), *texts_of(each.percentiles, measure))
        console.print(table)
    table = Table(title="packets, means over seeds", title_justify="left")
    table.add_column("setting")
    for heading in PACKETS:
        table.add_column(heading, justify="right")
    for each in figures:
        table.add_row(each.label, *packets_of(each.totals))
    console.print(table)
    for measure in reduced(reductions):
        title = f"{MEASURES[measure]}: reduction against {reductions[0].against}"
        table = Table(title=title, title_justify="left")
        table.add_column("setting")
        for share in SHARES:
            table.add_column(f"p{share:g}", justify="right")
        for red in reductions:
            table.add_row(red.setting, *texts_of(red.percentiles, measure, percent=True))
        console.print(table)
    if any(len(each.seeds) < LEAST_SEEDS for each in figures):
        console.print(f"no interval where there are fewer than {LEAST_SEEDS} seeds", style="dim")


def print_verdicts(found: Sequence[Verdict], console: Console) -> None:
    """A line a case and baseline; then what follows from all cases."""
    for case, those in groupby(found, lambda each: each.case):
        title = f"p99 of flow completion times{f': {case}' if case else ''}"
        table = Table(title=title, title_justify="left")
        for heading in ("", "strongest setting", "ours, us", "theirs, us", "reduction", "seeds", "claim"):
            table.add_column(heading, justify="right" if heading.endswith("us") else "left")
        for each in those:
            table.add_row(*verdict_row(each))
        console.print(table)
    for line in in_words(found):
        console.print(line, markup=False)


def write_sweep_report(
    out: Path,
    runs: Mapping[str, Sequence[Run]],
    figures: Sequence[SettingFigures],
    reductions: Sequence[Reduction],
    found: Sequence[Verdict] = (),
    anchors: Sequence[Sequence[str]] = (),
) -> Path:
    """report.html, figures.csv, links.csv, figures/, and of cases cases.md, into `out`; the page's path."""
    write_tables(out, runs, figures)
    section = section_of(out, runs, figures, reductions, found)
    page = out / "report.html"
    page.write_text(render(SECTIONS / "sweep.html.j2", section=section, anchors=anchors))
    return page


def write_tables(out: Path, runs: Mapping[str, Sequence[Run]], figures: Sequence[SettingFigures]) -> None:
    """figures.csv, links.csv, and of cases cases.md."""
    _write_csv(out / "figures.csv", figures)
    _write_links(out / "links.csv", runs)
    if has_cases(runs):
        (out / "cases.md").write_text(tables(runs, figures))


def _write_csv(path: Path, figures: Sequence[SettingFigures]) -> None:
    """A row a setting: every estimate with its interval, every total."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        measures = measures_in(figures)
        names = [f"{measure}_p{share:g}" for measure in measures for share in SHARES]
        columns = (f"{name}{part}" for name in names for part in ("", "_low", "_high"))
        rows.writerow(["setting", "seeds", "doubt", *columns, *TOTALS])
        for each in figures:
            values = [
                part
                for measure in measures
                for e in each.percentiles.get(measure, (None,) * len(SHARES))
                for part in ((e.value, e.low, e.high) if e else ("",) * 3)
            ]
            totals = (each.totals.get(name, "") for name in TOTALS)
            rows.writerow([each.setting, len(each.seeds), each.doubt, *values, *totals])


def _write_links(path: Path, runs: Mapping[str, Sequence[Run]]) -> None:
    """A row a port of each run."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["setting", "seed", *LINKS])
        for setting, those in runs.items():
            for run in those:
                columns = (run.links[name] for name in LINKS)
                rows.writerows([setting, run.seed, *values] for values in zip(*columns, strict=True))

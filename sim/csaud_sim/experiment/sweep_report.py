"""What `csaud sim report` makes of a sweep: tables, figures, a page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from csaud_topologies.report.drawing import BLUE, FORMATS, GREEN, GREY, ORANGE, PURPLE, RED, Drawn, new_figure
from csaud_topologies.report.html import page_environment
from markupsafe import Markup
from matplotlib.ticker import LogLocator, NullFormatter
from rich.console import Console
from rich.table import Table

from csaud_sim.experiment.cases import has_cases, tables
from csaud_sim.experiment.columns import LINKS, TOTALS
from csaud_sim.experiment.comparison import (
    MEASURES,
    SHARES,
    Reduction,
    SettingFigures,
    measures_of,
    values_of,
)
from csaud_sim.experiment.results import Run
from csaud_sim.experiment.statistics import LEAST_SEEDS, Estimate

_TEMPLATE = Path(__file__).with_name("sweep.html.j2")
_COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
_DASHES = ("-", "--", ":")
_POINTS = 1000  # of a curve


def text_of(estimate: Estimate, percent: bool = False) -> str:
    """The value and, in brackets, its interval."""

    def one(value: float) -> str:
        return f"{value * 100:.1f} %" if percent else f"{value:.3g}" if value < 100 else f"{value:,.0f}"

    if not estimate.has_interval:
        return one(estimate.value)
    return f"{one(estimate.value)} [{one(estimate.low)}, {one(estimate.high)}]"


def print_tables(
    figures: Sequence[SettingFigures], reductions: Sequence[Reduction], console: Console
) -> None:
    """Figures by setting; then what was compared."""
    for measure in figures[0].percentiles:
        table = Table(title=MEASURES[measure], title_justify="left")
        table.add_column("setting")
        for heading in ("seeds", *(f"p{share:g}" for share in SHARES)):
            table.add_column(heading, justify="right")
        for each in figures:
            table.add_row(each.setting, str(len(each.seeds)), *map(text_of, each.percentiles[measure]))
        console.print(table)
    table = Table(title="packets, means over seeds", title_justify="left")
    table.add_column("setting")
    for heading in (
        "unfinished",
        "DATA",
        "lost",
        "by switches",
        "by interval",
        "by probe or timeout",
        "spurious",
    ):
        table.add_column(heading, justify="right")
    for each in figures:
        table.add_row(each.setting, *(f"{value:,.0f}" for value in packets_of(each.totals)))
    console.print(table)
    for measure in reductions[0].percentiles if reductions else ():
        title = f"{MEASURES[measure]}: reduction against {reductions[0].against}"
        table = Table(title=title, title_justify="left")
        table.add_column("setting")
        for share in SHARES:
            table.add_column(f"p{share:g}", justify="right")
        for red in reductions:
            table.add_row(red.setting, *(text_of(value, True) for value in red.percentiles[measure]))
        console.print(table)
    if any(len(each.seeds) < LEAST_SEEDS for each in figures):
        console.print(f"no interval where there are fewer than {LEAST_SEEDS} seeds", style="dim")


def packets_of(totals: Mapping[str, float]) -> tuple[float, ...]:
    """Flows unfinished; DATA sent, lost, and sent again by what found the loss (switches: their word, or a
    gap); what was sent again for nothing."""
    lost = totals["tx_data"] - totals["rx_data"]
    by_switches = totals["rtx_loss"] + totals["rtx_gap"]
    by_sender = totals["rtx_probe"] + totals["rtx_timeout"]
    again = by_switches + totals["rtx_interval"] + by_sender
    return (
        *(totals["unfinished"], totals["tx_data"], lost),
        *(by_switches, totals["rtx_interval"], by_sender, again - lost),
    )


def curves(runs: Mapping[str, Sequence[Run]]) -> dict[str, Drawn]:
    """Share of flows, or collectives, that took longer; both axes logarithmic, all seeds of a setting."""
    drawn = {}
    for measure in measures_of(next(iter(runs.values()))[0]):
        label = MEASURES[measure]
        figure, axes = new_figure()
        columns: dict[str, Any] = {"share that took longer": _shares()}
        for number, (setting, those) in enumerate(runs.items()):
            values = np.concatenate([values_of(run, measure) for run in those])
            at = np.quantile(values, 1 - _shares())
            colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number // len(_COLOURS) % len(_DASHES)]
            axes.plot(at, _shares(), color=colour, linestyle=dash, label=setting)
            columns[f"{label}: {setting}"] = at
        axes.set(xlabel=label, ylabel="share that took longer", xscale="log", yscale="log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter("{x:g}")
        axes.legend(frameon=False)
        drawn[measure] = Drawn(figure, columns)
    return drawn


def _shares() -> Any:
    return np.geomspace(1, 1e-4, _POINTS)


def write_sweep_report(
    out: Path,
    runs: Mapping[str, Sequence[Run]],
    figures: Sequence[SettingFigures],
    reductions: Sequence[Reduction],
) -> Path:
    """report.html, figures.csv, links.csv, figures/, and of cases cases.md, into `out`; the page's path."""
    _write_csv(out / "figures.csv", figures)
    _write_links(out / "links.csv", runs)
    if has_cases(runs):
        (out / "cases.md").write_text(tables(runs, figures))
    folder = out / "figures"
    folder.mkdir(exist_ok=True)
    drawn = {} if has_cases(runs) else curves(runs)  # of all settings on all cases nobody could read any
    for name, each in drawn.items():
        each.write(folder / name)
    environment = page_environment()
    environment.filters["estimate"] = text_of
    first = next(iter(runs.values()))[0]
    page = out / "report.html"
    page.write_text(
        environment.from_string(_TEMPLATE.read_text()).render(
            experiment=first.experiment,
            settings=first.settings,
            shares=SHARES,
            measures=MEASURES,
            figures=figures,
            packets=[packets_of(each.totals) for each in figures],
            reductions=reductions,
            least_seeds=LEAST_SEEDS,
            curves={name: Markup(each.inline()) for name, each in drawn.items()},
            formats=FORMATS,
        )
    )
    return page


def _write_csv(path: Path, figures: Sequence[SettingFigures]) -> None:
    """A row a setting: every estimate with its interval, every total."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        names = [f"{measure}_p{share:g}" for measure in figures[0].percentiles for share in SHARES]
        rows.writerow(
            ["setting", "seeds", *(f"{n}{part}" for n in names for part in ("", "_low", "_high")), *TOTALS]
        )
        for each in figures:
            values = [
                part
                for estimates in each.percentiles.values()
                for e in estimates
                for part in (e.value, e.low, e.high)
            ]
            rows.writerow(
                [each.setting, len(each.seeds), *values, *(each.totals.get(name, "") for name in TOTALS)]
            )


def _write_links(path: Path, runs: Mapping[str, Sequence[Run]]) -> None:
    """A row a port of each run."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["setting", "seed", *LINKS])
        for setting, those in runs.items():
            for run in those:
                columns = (run.links[name] for name in LINKS)
                rows.writerows([setting, run.seed, *values] for values in zip(*columns, strict=True))

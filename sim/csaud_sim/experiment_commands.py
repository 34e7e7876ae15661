"""What the commands of `csaud sim` do with runs of experiments: report them, hold baselines to what was
published, reproduce the claim."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import typer
from csaud_runs.errors import RunError
from csaud_topologies.base.usage import UsageError
from rich.console import Console

from csaud_sim.anchors.run import chosen as chosen_anchors
from csaud_sim.anchors.run import measure_all, print_table, rows_of
from csaud_sim.anchors.standing import Held, doubts_of, write_standing
from csaud_sim.experiment.claim import verdicts
from csaud_sim.experiment.comparison import compare, figures_of, load_runs, measures_in, notes_of, told
from csaud_sim.experiment.sweep_report import print_tables, print_verdicts, write_sweep_report
from csaud_sim.experiment_run import elsewhere
from csaud_sim.folders import written_into
from csaud_sim.reproduction.run import Reproduction, chosen


def report_experiment(folder: Path, against: str, claim: bool, held: Sequence[Held], as_json: bool) -> None:
    """Tables and a page of the runs in a folder; `held`: baselines beside their anchors."""
    runs, doubts = load_runs(folder), doubts_of(held)
    if against and against not in runs:
        raise UsageError(f"--against {against}: no such setting; expected one of {', '.join(runs)}")
    figures = [figures_of(setting, those, doubts) for setting, those in runs.items()]
    if not measures_in(figures):
        raise RunError(f"{folder}: nothing is over that was to be measured: see its time limit and warm-up")
    base = next((each for each in figures if each.setting == against), None)
    reductions = [compare(each, base) for each in figures if base is not None and each is not base]
    found = verdicts(runs, doubts) if claim else []
    notes = notes_of(runs, figures)
    console = Console(highlight=False, stderr=as_json)
    print_tables(figures, reductions, console)
    for note in notes:
        console.print(note, style="dim", markup=False, soft_wrap=True)
    if found:
        print_verdicts(found, console)
    with written_into(folder):
        compared = {each.baseline.number for each in figures if each.baseline is not None}
        rows = rows_of([each for each in held if each.baseline in compared])
        page = write_sweep_report(folder, runs, figures, reductions, found, rows)
    console.print(f"report: {page}, figures.csv and figures/ beside it", markup=False, soft_wrap=True)
    if as_json:
        values: dict[str, Sequence[object]] = {"settings": figures, "reductions": reductions, "claim": found}
        typer.echo(
            json.dumps({name: [told(each) for each in those] for name, those in values.items()}, indent=1)
        )


def hold_to_anchors(everything: bool, baselines: list[str], jobs: int, out: Path, as_json: bool) -> bool:
    """True: all figures are within bounds."""
    console = Console(highlight=False, stderr=as_json)
    held, failed = measure_all(
        chosen_anchors(everything, baselines),
        out,
        jobs or os.cpu_count() or 1,
        lambda text: console.print(text, markup=False, soft_wrap=True),
    )
    print_table(held, console)
    for text in failed:
        typer.echo(f"csaud: {text}", err=True)
    written = write_standing(out, held, everything)
    console.print(f"written: {written}", markup=False, soft_wrap=True)
    if as_json:
        typer.echo(written.read_text())
    return not failed and all(each.within for each in held)


def reproduce_claim(
    quick: bool, only: list[str], jobs: int, dask: str, out: Path | None, held: Sequence[Held], as_json: bool
) -> bool:
    """True: all runs are there."""
    folder = out or Path("build/reproduce", "quick" if quick else "full")
    reproduction = Reproduction(chosen(only, quick), quick, folder)
    console = Console(highlight=False, stderr=as_json)
    with elsewhere(dask, jobs) as machines:
        failed = reproduction.run(
            jobs or os.cpu_count() or 1,
            lambda text: console.print(text, markup=False, soft_wrap=True),
            machines,
        )
    for text in failed:
        typer.echo(f"csaud: {text}", err=True)
    if failed:
        return False
    with written_into(folder):
        page, found = reproduction.write(doubts_of(held), rows_of(held))
    if found:
        print_verdicts(found, console)
    console.print(f"report: {page}", markup=False, soft_wrap=True)
    if as_json:
        typer.echo(json.dumps({"page": str(page), "verdicts": [each.told() for each in found]}, indent=1))
    return True

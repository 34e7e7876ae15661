"""Runs what anchors need, and prints the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from csaud_topologies.base.usage import UsageError
from rich.console import Console
from rich.table import Table

from csaud_sim.anchors.published import ANCHORS, Anchor
from csaud_sim.anchors.standing import Held, hold, standings
from csaud_sim.experiment.baselines import BASELINES
from csaud_sim.experiment.comparison import load_runs
from csaud_sim.experiment.model import EXPERIMENTS, load_experiment
from csaud_sim.experiment.sweep import Task, run_all, tasks_of

_LARGE_SEEDS = 1


def chosen(everything: bool, only: Sequence[str]) -> list[Anchor]:
    """Anchors that are to be measured; RunError names a baseline that there is not."""
    for name in only:
        if name not in BASELINES:
            raise UsageError(f"{name}: no such baseline; expected one of {', '.join(BASELINES)}")
        if why := _why_none(name):
            raise UsageError(f"{name}, {BASELINES[name].what}: {why}")
    return [
        anchor
        for anchor in ANCHORS
        if (everything or not anchor.large) and (not only or anchor.baseline in only)
    ]


def measure_all(
    anchors: Sequence[Anchor], out: Path, jobs: int, say: Callable[[str], None]
) -> tuple[list[Held], list[str]]:
    """Every anchor held beside runs below `out`, in a folder an experiment; what is there already is not run
    again. And what failed, in words."""
    held: dict[Anchor, Held] = {}
    failed: list[str] = []
    for experiment in dict.fromkeys(anchor.experiment for anchor in anchors):
        these = [anchor for anchor in anchors if anchor.experiment == experiment]
        say(f"{experiment}: {', '.join(dict.fromkeys(anchor.baseline for anchor in these))}")
        tasks = _tasks(experiment, these)
        broken = run_all(tasks, out / experiment, jobs, say)
        failed += broken
        if broken:
            continue
        wanted = {task.path(out / experiment) for task in tasks}
        runs = {
            setting: [run for run in those if run.path in wanted]
            for setting, those in load_runs(out / experiment).items()
        }
        held |= {anchor: hold(anchor, runs) for anchor in these}
    return [held[anchor] for anchor in anchors if anchor in held], failed


def _tasks(experiment: str, anchors: Sequence[Anchor]) -> list[Task]:
    large = {"sweep.seeds": str(_LARGE_SEEDS)} if any(anchor.large for anchor in anchors) else {}
    needed = {setting for anchor in anchors for setting in anchor.settings}
    tasks = tasks_of(load_experiment(EXPERIMENTS / f"{experiment}.yaml", large))
    return [task for task in tasks if task.setting in needed]


def rows_of(held: Sequence[Held]) -> list[tuple[str, ...]]:
    """Baseline, anchor, published, ours as the mean, the least and the most of so many seeds, and whether the
    mean is within bounds."""
    return [
        (
            each.baseline,
            each.what,
            f"{each.published} {each.unit}",
            *(f"{_number(value)} {each.unit}" for value in (each.ours, each.least, each.most)),
            str(each.seeds),
            "yes" if each.within else "NO",
        )
        for each in held
    ]


def print_table(held: Sequence[Held], console: Console) -> None:
    """Anchor, published, ours, within bounds; then how each baseline stands."""
    table = Table(title="anchors", title_justify="left")
    for heading in ("", "anchor"):
        table.add_column(heading)
    for heading in ("published", "ours", "least", "most", "seeds", "within bounds"):
        table.add_column(heading, justify="right")
    for row in rows_of(held):
        table.add_row(*row)
    console.print(table)
    for name, within in standings(held).items():
        if within is None:
            why = _why_none(name) or "not measured"
            console.print(f"{name}, {BASELINES[name].what}: {why}", style="dim", markup=False)


def _why_none(name: str) -> str:
    """Why a baseline is held to nothing; empty: there are anchors."""
    return "it is the host core itself" if BASELINES[name].own else BASELINES[name].unanchored


def _number(value: float) -> str:
    return f"{value:,.1f}"

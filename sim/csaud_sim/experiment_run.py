"""An experiment for `csaud sim run`. What reports its runs takes longer to import, and is not wanted here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import typer
from csaud_controller.base.yamlfile import FieldError
from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.plan import in_file
from rich.console import Console

from csaud_sim.experiment.model import load_experiment
from csaud_sim.experiment.sweep import Outcomes, run_all, tasks_of


def run_experiment(
    file: Path,
    overrides: Mapping[str, str],
    jobs: int,
    dask: str,
    out: Path | None,
    as_json: bool,
    engine: str | None = None,
) -> bool:
    """True: all runs are there. `engine`: a library of what keeps time."""
    if engine and dask:
        raise UsageError(f"--engine {engine} and --dask {dask}: it is on this machine")
    experiment = load_experiment(file, overrides)
    if "seed" in overrides and isinstance(experiment.sweep.seeds, list):
        raise UsageError(
            f"--seed {overrides['seed']}: sweep.seeds names every seed: expected --set sweep.seeds=[...]"
        )
    try:
        tasks = [replace(task, engine=engine) for task in tasks_of(experiment)]
    except FieldError as error:
        raise in_file(file, error) from None
    console = Console(highlight=False, stderr=as_json)
    target = out or Path("build/sim") / experiment.name

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    with elsewhere(dask, jobs) as machines:
        failed = run_all(tasks, target, jobs or os.cpu_count() or 1, say, machines)
    for text in failed:
        typer.echo(f"csaud: {text}", err=True)
    if not failed:
        console.print(
            f"all {len(tasks)} runs are in {target}: csaud sim report {target}", markup=False, soft_wrap=True
        )
    if as_json:
        typer.echo(json.dumps({"folder": str(target), "runs": len(tasks), "failed": failed}, indent=1))
    return not failed


def elsewhere(dask: str, jobs: int) -> AbstractContextManager[Outcomes | None]:
    """Where tasks are run, if not in processes of this machine."""
    if not dask:
        return nullcontext()
    if jobs:
        raise UsageError(f"--jobs {jobs} and --dask {dask}: how many run at once is the cluster's matter")
    from csaud_sim.experiment.machines import machines_at  # with the extra `dask` alone

    return machines_at(dask)

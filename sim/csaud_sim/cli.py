"""`csaud sim`: scenarios and experiments in virtual time."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from csaud_runs.errors import RunError
from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.options import RunOptions, pairs

if TYPE_CHECKING:
    from csaud_sim.experiment.sweep import Outcomes

_EXTRA = {"pyarrow": "sim", "matplotlib": "sim", "jinja2": "sim", "markupsafe": "sim", "distributed": "dask"}
"""What is in which extra."""
_NATIVE = "csaud_sim._core"
"""Every wheel has it; `make build` leaves it out."""
_ANCHORS = Path("build/sim/anchors")
Anchors = Annotated[
    Path | None,
    typer.Option(
        help="What `csaud sim anchors` found: baselines that missed theirs are marked. Default: "
        f"{_ANCHORS}, where it is there; without, all are.",
        show_default=False,
    ),
]

Dask = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of this Dask scheduler, such as tcp://host:8786 (csaud's extra `dask`).",
        show_default=False,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="JSON for programs on stdout; words for people go to stderr.")
]

app = typer.Typer(
    help="Simulation: the host core and the P4 switches in virtual time, without privileges.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def run(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|EXPERIMENT",
            help="A scenario's name or YAML file, as `csaud net run` takes; or an experiment's, whose file "
            "has `traffic` or `collectives`.",
        ),
    ],
    topo: Annotated[
        str, typer.Option(help="leaf-spine-LxS, leaf-spine-LxSxH, fat-tree-K or a YAML file.")
    ] = "",
    seed: Annotated[str, typer.Option(help="Seed of every random choice; of an experiment the first.")] = "",
    override: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any key of the file, dotted.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=0, help="Processes of an experiment; 0: one a processor.", show_default=False)
    ] = 0,
    dask: Dask = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of what comes out; default: build/sim, of experiments build/sim/NAME."),
    ] = None,
    as_json: AsJson = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
) -> None:
    """Simulate a scenario: exit status 0 when every check held. Or an experiment: 0 when every run is there;
    runs that its folder has already are not done again."""

    def work() -> bool:
        from csaud_controller.base.yamlfile import ConfigError
        from csaud_topologies.scenario.model import find_scenario

        from csaud_sim.experiment.model import EXPERIMENTS, find_experiment

        overrides = ({"seed": seed} if seed else {}) | pairs(override or [])
        if (file := find_experiment(what)) is not None:
            overrides = ({"fabric": topo} if topo else {}) | overrides
            return _experiment(file, overrides, jobs, dask, out, as_json)
        try:
            find_scenario(what)
        except ConfigError as error:
            shipped = ", ".join(sorted(path.stem for path in EXPERIMENTS.glob("*.yaml")))
            raise UsageError(f"{error}; or an experiment: {shipped}, or a YAML file") from None
        for option, value in (("jobs", jobs), ("dask", dask)):
            if value:
                raise UsageError(f"--{option} {value}: {what} is a scenario, which is one run")
        options = RunOptions(
            topo=topo or None,
            scenario=what,
            overrides=overrides,
            out=str((out or Path("build/sim")).absolute()),
            command=["csaud", "sim", *sys.argv[sys.argv.index("run") :]] if "run" in sys.argv else [],
        )
        return _scenario(options, as_json)

    _exit(work, debug)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment's runs (`--out` of `run`).")],
    against: Annotated[
        str, typer.Option(metavar="SETTING", help="Say by how much the others are below this setting.")
    ] = "",
    claim: Annotated[
        bool,
        typer.Option("--claim", help="Say against which baselines the claim is reproduced, by its rule."),
    ] = False,
    anchors: Anchors = None,
    as_json: AsJson = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
) -> None:
    """Tables with intervals, distributions, and a page: report.html, figures.csv and figures/ in FOLDER."""
    _exit(lambda: _report(folder, against, claim, anchors, as_json), debug)


@app.command()
def anchors(
    baselines: Annotated[
        list[str] | None, typer.Argument(metavar="[BASELINE]...", help="B1, B6, ...; default: every one.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Those that take 1,024 hosts and most of an hour, too.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: one a processor.", show_default=False)] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the runs, and of anchors.json.")] = _ANCHORS,
    as_json: AsJson = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
) -> None:
    """Run each baseline alone against figures that were published of it: exit status 0 when all of ours are
    within bounds. What is in the folder already is not run again."""

    def work() -> bool:
        from rich.console import Console

        from csaud_sim.anchors.run import chosen, measure_all, print_table
        from csaud_sim.anchors.standing import write_standing

        console = Console(highlight=False, stderr=as_json)
        held, failed = measure_all(
            chosen(everything, baselines or []),
            out,
            jobs or os.cpu_count() or 1,
            lambda text: console.print(text, markup=False),
        )
        print_table(held, console)
        for text in failed:
            typer.echo(f"csaud: {text}", err=True)
        written = write_standing(out, held, everything)
        console.print(f"written: {written}", markup=False)
        if as_json:
            typer.echo(written.read_text())
        return not failed and all(each.within for each in held)

    _exit(work, debug)


@app.command()
def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small fabrics, few seeds: 12 minutes of processor time.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Of its experiments this one alone (again for more)."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: one a processor.", show_default=False)] = 0,
    dask: Dask = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder; default: build/reproduce/full, or build/reproduce/quick.")
    ] = None,
    anchors: Anchors = None,
    as_json: AsJson = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
) -> None:
    """The claim: CSA-UD beside every baseline, what its parts are worth, one page with verdicts. Runs that
    are there are not done again. Exit status 0 when all runs are there, whatever the verdict."""
    _exit(lambda: _reproduce(quick, only or [], jobs, dask, out, anchors, as_json), debug)


def _exit(work: Callable[[], bool], debug: bool) -> None:
    from csaud_controller.base.yamlfile import ConfigError
    from csaud_topologies.commands.app import fail

    try:
        passed = work()
    except (RunError, ConfigError) as error:
        if debug:
            raise
        raise fail(error) from None
    except ImportError as error:
        if debug or not {error.name, str(error.name).partition(".")[0]} & {_NATIVE, *_EXTRA}:
            raise
        if error.name == _NATIVE:
            typer.echo("csaud: the simulator has not been compiled here: make sim does it", err=True)
            raise typer.Exit(1) from None
        extra = _EXTRA[str(error.name).partition(".")[0]]
        typer.echo(f"csaud: {error.name} is not installed: pip install 'csaud[{extra}]'", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(0 if passed else 1)


def _elsewhere(dask: str, jobs: int) -> AbstractContextManager[Outcomes | None]:
    """Where tasks are run, if not in processes of this machine."""
    if not dask:
        return nullcontext()
    if jobs:
        raise UsageError(f"--jobs {jobs} and --dask {dask}: how many run at once is the cluster's matter")
    from csaud_sim.experiment.machines import machines_at

    return machines_at(dask)


def _experiment(
    file: Path, overrides: Mapping[str, str], jobs: int, dask: str, out: Path | None, as_json: bool
) -> bool:
    from csaud_controller.base.yamlfile import FieldError
    from csaud_topologies.scenario.plan import in_file
    from rich.console import Console

    from csaud_sim.experiment.model import load_experiment
    from csaud_sim.experiment.sweep import run_all, tasks_of

    experiment = load_experiment(file, overrides)
    try:
        tasks = tasks_of(experiment)
    except FieldError as error:
        raise in_file(file, error) from None
    console = Console(highlight=False, stderr=as_json)
    target = out or Path("build/sim") / experiment.name

    def say(text: str) -> None:
        console.print(text, markup=False)

    with _elsewhere(dask, jobs) as elsewhere:
        failed = run_all(tasks, target, jobs or os.cpu_count() or 1, say, elsewhere)
    for text in failed:
        typer.echo(f"csaud: {text}", err=True)
    if not failed:
        console.print(f"all {len(tasks)} runs are in {target}: csaud sim report {target}", markup=False)
    if as_json:
        typer.echo(json.dumps({"folder": str(target), "runs": len(tasks), "failed": failed}, indent=1))
    return not failed


def _report(folder: Path, against: str, claim: bool, anchors: Path | None, as_json: bool) -> bool:
    from rich.console import Console

    from csaud_sim.experiment.claim import verdicts
    from csaud_sim.experiment.comparison import compare, figures_of, load_runs, notes_of, told
    from csaud_sim.experiment.sweep_report import print_tables, print_verdicts, write_sweep_report

    runs = load_runs(folder)
    if against and against not in runs:
        raise UsageError(f"--against {against}: no such setting; expected one of {', '.join(runs)}")
    doubts = _doubts(anchors)
    figures = [figures_of(setting, those, doubts) for setting, those in runs.items()]
    base = next((each for each in figures if each.setting == against), None)
    reductions = [compare(each, base) for each in figures if base is not None and each is not base]
    found = verdicts(runs, doubts) if claim else []
    notes = notes_of(runs, figures)
    console = Console(highlight=False, stderr=as_json)
    print_tables(figures, reductions, console)
    for note in notes:
        console.print(note, style="dim", markup=False)
    if found:
        print_verdicts(found, console)
    page = write_sweep_report(folder, runs, figures, reductions, found)
    console.print(f"report: {page}, figures.csv and figures/ beside it", markup=False)
    if as_json:
        values: dict[str, Sequence[object]] = {"settings": figures, "reductions": reductions, "claim": found}
        typer.echo(
            json.dumps({name: [told(each) for each in those] for name, those in values.items()}, indent=1)
        )
    return True


def _doubts(anchors: Path | None) -> Mapping[str, str]:
    """Of each baseline that was held to its anchors, before hours are spent on runs beside it."""
    from csaud_sim.anchors.standing import read_doubts
    from csaud_sim.experiment.baselines import NOT_HELD

    return read_doubts(anchors or _ANCHORS) if anchors or _ANCHORS.exists() else NOT_HELD


def _reproduce(
    quick: bool, only: list[str], jobs: int, dask: str, out: Path | None, anchors: Path | None, as_json: bool
) -> bool:
    from rich.console import Console

    from csaud_sim.experiment.sweep_report import print_verdicts
    from csaud_sim.reproduction.run import Reproduction, chosen

    doubts = _doubts(anchors)
    folder = out or Path("build/reproduce", "quick" if quick else "full")
    reproduction = Reproduction(chosen(only, quick), quick, folder)
    console = Console(highlight=False, stderr=as_json)
    with _elsewhere(dask, jobs) as elsewhere:
        failed = reproduction.run(
            jobs or os.cpu_count() or 1, lambda text: console.print(text, markup=False), elsewhere
        )
    for text in failed:
        typer.echo(f"csaud: {text}", err=True)
    if failed:
        return False
    page, found = reproduction.write(doubts)
    if found:
        print_verdicts(found, console)
    console.print(f"report: {page}", markup=False)
    if as_json:
        typer.echo(json.dumps({"page": str(page), "verdicts": [each.told() for each in found]}, indent=1))
    return True


def _scenario(options: RunOptions, as_json: bool) -> bool:
    from csaud_topologies.record.assemble import build_report
    from csaud_topologies.record.describe import describe_run
    from csaud_topologies.report.terminal import print_checks
    from csaud_topologies.report.write import clear_report, write_report
    from csaud_topologies.scenario.plan import make_plan
    from rich.console import Console

    from csaud_sim.folders import make_folder
    from csaud_sim.scenario_run import ScenarioRun, refuse_what_cannot_be_simulated
    from csaud_sim.summary import print_outcome

    begun, started = time.monotonic(), datetime.now(UTC)
    plan = make_plan(options)
    refuse_what_cannot_be_simulated(plan)
    make_folder(target := Path(options.out))
    console = Console(highlight=False, stderr=as_json)
    scenario, fabric = plan.scenario, plan.fabric
    console.print(
        f"{scenario.name} on {fabric.name}: {len(fabric.switches)} switches, {len(fabric.hosts)} hosts, "
        f"seed {scenario.seed}, virtual time"
    )
    with tempfile.TemporaryDirectory(prefix="csaud-sim-") as folder:
        outcome = ScenarioRun(plan, Path(folder)).run()
    run_part = describe_run(
        scenario,
        fabric,
        plan.hosts,
        options.command,
        target="sim",
        started=started.isoformat(timespec="seconds"),
        duration_s=time.monotonic() - begun,
        job_s=outcome.virtual_s,
        versions={"csaud": version("csaud"), "python": platform.python_version()},
    )
    report = build_report(outcome.collected, run_part)
    clear_report(target)
    page = write_report(report, target, [each["seconds"] for each in outcome.took])
    print_outcome(outcome, report, console)
    print_checks(report, page, console)
    if as_json:
        typer.echo(report.model_dump_json(indent=1))
    return report.passed

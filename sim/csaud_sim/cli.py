"""`csaud sim`: scenarios and experiments in virtual time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from csaud_runs.errors import RunError
from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.options import RunOptions, pairs

if TYPE_CHECKING:
    from csaud_sim.anchors.standing import Held

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
    engine: Annotated[
        Path | None,
        typer.Option(
            help="Library of what keeps time in place of the event heap, such as ns-3's, which "
            "`python -m csaud_sim.ns3` makes.",
            show_default=False,
        ),
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

        library = _checked(engine)
        overrides = ({"seed": seed} if seed else {}) | pairs(override or [])
        if (file := find_experiment(what)) is not None:
            overrides = ({"fabric": topo} if topo else {}) | overrides
            from csaud_sim.experiment_run import run_experiment

            return run_experiment(file, overrides, jobs, dask, out, as_json, library)
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
        from csaud_sim.scenario_command import simulate

        return simulate(options, as_json, library)

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

    def work() -> bool:
        from csaud_sim.experiment_commands import report_experiment

        report_experiment(folder, against, claim, _held(anchors), as_json)
        return True

    _exit(work, debug)


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
        from csaud_sim.experiment_commands import hold_to_anchors

        return hold_to_anchors(everything, baselines or [], jobs, out, as_json)

    _exit(work, debug)


@app.command()
def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small fabrics, few seeds: 6 minutes of processor time.")
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

    def work() -> bool:
        from csaud_sim.experiment_commands import reproduce_claim

        return reproduce_claim(quick, only or [], jobs, dask, out, _held(anchors), as_json)

    _exit(work, debug)


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


def _checked(engine: Path | None) -> str | None:
    """The engine's library, which can be used; UsageError where it cannot."""
    if engine is None:
        return None
    from csaud_sim._core import PlainSimulation

    path = str(engine.absolute())
    try:
        PlainSimulation("rc", {}, engine=path)
    except RuntimeError as error:
        raise UsageError(f"--engine {engine}: {error}") from None
    return path


def _held(anchors: Path | None) -> list[Held]:
    """Baselines beside their anchors, read before hours are spent on runs beside them."""
    from csaud_sim.anchors.standing import read_standing

    return read_standing(anchors or _ANCHORS) if anchors or _ANCHORS.exists() else []

"""`csaud net`: run a scenario on a fabric, enter a running one, clean up."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from csaud_runs.errors import RunError
from pydantic import ValidationError

from csaud_topologies.scenario.options import RunOptions, pairs

app = typer.Typer(
    help="Fabrics under Mininet: run a scenario, enter a running fabric, clean up.",
    no_args_is_help=True,
    add_completion=False,
)

_SPRAY = "ecmp, entropy, random, round-robin, weighted, least-queue, host or flowlet"


def _fail(error: Exception) -> typer.Exit:
    typer.echo(f"csaud: {error}", err=True)
    return typer.Exit(1)


@app.command()
def run(
    target: Annotated[
        str, typer.Option(help="P4 target: soft (embedded) or bmv2 (simple_switch_grpc).")
    ] = "soft",
    topo: Annotated[
        str, typer.Option(help="leaf-spine-LxS, leaf-spine-LxSxH, fat-tree-K or a YAML file.")
    ] = "",
    scenario: Annotated[str, typer.Option(help="A scenario's name or YAML file.")] = "first-light",
    spray: Annotated[str, typer.Option(help=f"Spray mode: {_SPRAY}.")] = "",
    signal: Annotated[
        str, typer.Option(help="What becomes of DATA without room: trim, bounce, both or drop.")
    ] = "",
    icrc: Annotated[str, typer.Option(help="true: a LOSS has an iCRC of its own (the second form).")] = "",
    ecn: Annotated[str, typer.Option(help="false: switches mark nothing.")] = "",
    loss: Annotated[str, typer.Option(help="Probability of the injected loss, such as 0.02.")] = "",
    seed: Annotated[str, typer.Option(help="Seed of every random choice.")] = "",
    steps: Annotated[str, typer.Option(help="Steps of the workload.")] = "",
    rate: Annotated[str, typer.Option(help="Rate of every link, such as 100Mbit.")] = "",
    override: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any key of the scenario, dotted.")
    ] = None,
    cli: Annotated[
        bool, typer.Option("--cli", help="Mininet's prompt in the fabric instead of the job.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of report.json, report.html and logs.")] = Path(
        "build/mininet"
    ),
    pps: Annotated[int, typer.Option(help="bmv2: packets/s of one switch, instead of calibrating.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
) -> None:
    """Bring up a fabric, run a scenario's job on it, and report; exit status 0 when every check held."""
    # The shorthands of the scenario's keys; empty (as from an unset variable of a Makefile) means: as the
    # scenario says.
    shorthands = {
        "policy.spray": spray,
        "policy.loss_signal": signal,
        "policy.trim_icrc": icrc,
        "policy.ecn": ecn,
        "loss": loss,
        "seed": seed,
        "workload.steps": steps,
        "link_rate": rate,
    }
    try:
        overrides = {key: value for key, value in shorthands.items() if value} | pairs(override or [])
        options = RunOptions(
            target=target,  # type: ignore[arg-type]
            topo=topo or None,
            scenario=scenario or "first-light",
            overrides=overrides,
            cli=cli,
            out=str(out.absolute()),
            directory=str(Path.cwd()),
            pps=pps or None,
            debug=debug,
            command=["csaud", "net", *sys.argv[sys.argv.index("run") :]] if "run" in sys.argv else [],
        )
    except ValidationError as error:
        detail = error.errors()[0]
        raise _fail(RunError(f"--{detail['loc'][0]} {detail['input']}: {detail['msg']}")) from None
    except RunError as error:
        raise _fail(error) from None
    raise typer.Exit(_run(options))


def _run(options: RunOptions) -> int:
    from csaud_controller.base.yamlfile import ConfigError

    from csaud_topologies.fabric.targets.check import check_target
    from csaud_topologies.isolation.supervisor import supervise
    from csaud_topologies.scenario.plan import make_plan

    try:
        make_plan(options)  # mistakes are told before anything is started
        check_target(options.target)
        return supervise(options)
    except (RunError, ConfigError) as error:
        if options.debug:
            raise
        raise _fail(error) from None


@app.command(name="exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec_command(
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.")],
    host: Annotated[str, typer.Option(help="On this host or switch; default: where the switches are.")] = "",
    run_dir: Annotated[
        Path | None, typer.Option("--run", help="Run directory; default: the live one of this directory.")
    ] = None,
) -> None:
    """Run a command inside a running fabric: `csaud net exec --host h1 -- ping -c 1 10.0.2.1`."""
    from csaud_runs.find import find_run

    from csaud_topologies.isolation.enter import enter

    try:
        enter(find_run(run_dir), host or None, command)
    except RunError as error:
        raise _fail(error) from None


@app.command(name="compare")
def compare_command(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A run's output folder or report.json.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The other one.")],
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Two finished runs side by side: what was set differently, and every figure with its ratio."""
    from rich.console import Console

    from csaud_topologies.report.compare import as_json, compare, load_report, print_comparison

    try:
        found = compare(load_report(first), load_report(second))
    except RunError as error:
        raise _fail(error) from None
    if json_:
        typer.echo(json.dumps(as_json(found), indent=2))
    else:
        print_comparison(found, (str(first), str(second)), Console(highlight=False))


@app.command()
def clean(
    run_dir: Annotated[
        Path | None, typer.Option("--run", help="Only this run directory; default: all of this directory.")
    ] = None,
    everybodys: Annotated[
        bool, typer.Option("--all", help="Runs of other directories and people, too.")
    ] = False,
) -> None:
    """End the runs that were started in this directory and remove what they left, and what is left of those
    that are over; nothing else is touched."""
    from csaud_runs.directory import RunDir
    from csaud_runs.find import all_runs

    from csaud_topologies.isolation.supervisor import end_run, is_over

    if everybodys and run_dir is not None:
        raise _fail(RunError("--all and --run: expected one of them"))
    runs = [RunDir(run_dir)] if run_dir is not None else all_runs()
    for each in runs:
        origin = each.started_in()
        if run_dir is None and not everybodys and not is_over(each) and origin != Path.cwd():
            known = f"a run of {origin}" if origin else "a run"
            typer.echo(f"{each.path}: {known}, left alone (--all or --run {each.path} ends it, too)")
            continue
        if run_dir is not None and not each.path.is_dir():
            raise _fail(RunError(f"--run {each.path}: no such directory"))
        if run_dir is not None and not each.was_made():  # it would be removed with all that is in it
            raise _fail(RunError(f"--run {each.path}: not the directory of a run (no pids.json in it)"))
        ended = end_run(each)
        typer.echo(f"{each.path}: {'ended and removed' if ended else 'removed (nothing of it was running)'}")
    if not runs:
        typer.echo("nothing to clean: no run is recorded under /run/csaud")


if __name__ == "__main__":
    app()

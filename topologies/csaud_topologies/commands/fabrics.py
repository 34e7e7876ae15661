"""`csaud net up`, `down`, `exec` and `clean`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from csaud_runs.errors import RunError

from csaud_topologies.base.usage import UsageError
from csaud_topologies.commands.app import (
    SIGNAL,
    SPRAY,
    AsJson,
    NamedRun,
    app,
    command_line,
    fail,
    make_options,
)

if TYPE_CHECKING:
    from csaud_runs.directory import RunDir


@app.command()
def up(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[TOPO|SCENARIO]",
            help="leaf-spine-LxS, leaf-spine-LxSxH, fat-tree-K, a scenario's name, or a YAML file of either.",
        ),
    ] = "plain",
    topo: Annotated[str, typer.Option(help="The fabric, where a scenario is named.")] = "",
    target: Annotated[
        str, typer.Option(help="P4 target: soft (embedded) or bmv2 (simple_switch_grpc).")
    ] = "soft",
    spray: Annotated[str, typer.Option(help=f"Spray mode: {SPRAY}.")] = "",
    signal: Annotated[str, typer.Option(help=SIGNAL)] = "",
    loss: Annotated[str, typer.Option(help="Probability of the injected loss, such as 0.02.")] = "",
    seed: Annotated[str, typer.Option(help="Seed of every random choice.")] = "",
    rate: Annotated[str, typer.Option(help="Rate of every link, such as 100Mbit.")] = "",
    override: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any key of the scenario, dotted.")
    ] = None,
    detach: Annotated[
        bool,
        typer.Option("--detach", help="Return when all switches hold their tables; it lives on."),
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of reports and logs.")] = Path("build/mininet"),
    pps: Annotated[int, typer.Option(help="bmv2: packets/s of one switch, instead of calibrating.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --detach: say as JSON where it is.")] = False,
) -> None:
    """Bring up a fabric, with a scenario's policy and faults, for one's own programs (`csaud net job`).

    It stays until Ctrl-C or `csaud net down`.
    """
    from csaud_controller.base.yamlfile import ConfigError

    from csaud_topologies.base.interrupt import Interrupted
    from csaud_topologies.fabric.targets.check import check_target
    from csaud_topologies.isolation.detached import supervise_detached
    from csaud_topologies.isolation.supervisor import supervise
    from csaud_topologies.scenario.plan import make_plan, topo_or_scenario

    shorthands = {
        "policy.spray": spray,
        "policy.loss_signal": signal,
        "loss": loss,
        "seed": seed,
        "link_rate": rate,
    }
    try:
        named, scenario = topo_or_scenario(what)
        if as_json and not detach:
            raise UsageError("--json says where a fabric is that is left running: it goes with --detach")
        if named and topo:
            raise UsageError(f"--topo {topo}: {what} is a fabric already")
        options = make_options(
            shorthands,
            override or [],
            target=target,
            topo=named or topo or None,
            scenario=scenario,
            waits=True,
            out=out,
            pps=pps or None,
            debug=debug,
            command=command_line("up"),
        )
        make_plan(options)  # mistakes are told before anything is started
        check_target(options.target)
        if not detach:
            raise typer.Exit(supervise(options))
        run = supervise_detached(options)
    except (RunError, ConfigError) as error:
        if debug:
            raise
        raise fail(error) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except Interrupted as error:
        raise typer.Exit(error.status) from None
    if as_json:
        typer.echo(json.dumps({"run": str(run.path)}))
        return
    typer.echo(f"{run.path}: up; `csaud net job -- CMD` runs a program in it, `csaud net down` ends it")


@app.command()
def down(run_dir: NamedRun = None, as_json: AsJson = False) -> None:
    """End the fabric of this directory (`csaud net up`), or the run that --run names."""
    from csaud_runs.find import find_run

    from csaud_topologies.isolation.privileges import check_privileges

    try:
        check_privileges()
        _tell([_end(find_run(run_dir))], as_json)
    except RunError as error:
        raise fail(error) from None


def _end(run: RunDir) -> dict[str, Any]:
    """As JSON values: what became of it."""
    from csaud_topologies.isolation.supervisor import end_run

    return {"run": str(run.path), "ran": end_run(run), "removed": True}


def _tell(runs: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"runs": runs}, indent=2))
        return
    for each in runs:
        if each["removed"]:
            done = "ended and removed" if each["ran"] else "removed (nothing of it was running)"
        else:
            known = f"a run of {each['of']}" if each["of"] else "a run"
            done = f"{known}, left alone (--all or --run {each['run']} ends it, too)"
        typer.echo(f"{each['run']}: {done}")


@app.command(name="exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec_command(
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.")],
    host: Annotated[str, typer.Option(help="On this host or switch; default: where the switches are.")] = "",
    shell: Annotated[
        bool, typer.Option("--shell", help="The command is text for a shell, as ssh takes it (for mpirun).")
    ] = False,
    run_dir: NamedRun = None,
) -> None:
    """Run a command inside a running fabric: `csaud net exec --host h1 -- ping -c 1 10.0.2.1`."""
    from csaud_runs.find import find_run

    from csaud_topologies.isolation.enter import enter

    try:
        enter(find_run(run_dir), host or None, ["sh", "-c", " ".join(command)] if shell else command)
    except RunError as error:
        raise fail(error) from None


@app.command()
def clean(
    run_dir: Annotated[
        Path | None, typer.Option("--run", help="Only this run directory; default: all of this directory.")
    ] = None,
    everybodys: Annotated[
        bool, typer.Option("--all", help="Runs of other directories and people, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """End the runs that were started in this directory and remove what they left, and what is left of those
    that are over; nothing else is touched."""
    from csaud_runs.directory import RunDir
    from csaud_runs.find import all_runs

    from csaud_topologies.isolation.privileges import check_privileges
    from csaud_topologies.isolation.supervisor import is_over

    try:
        check_privileges()
    except RunError as error:
        raise fail(error) from None
    if everybodys and run_dir is not None:
        raise fail(UsageError("--all and --run: expected one of them"))
    runs = [RunDir(run_dir)] if run_dir is not None else all_runs()
    told: list[dict[str, Any]] = []
    for each in runs:
        origin = each.started_in()
        if run_dir is None and not everybodys and not is_over(each) and origin != Path.cwd():
            of = str(origin) if origin else None
            told.append({"run": str(each.path), "ran": True, "removed": False, "of": of})
            continue
        if run_dir is not None and not each.path.is_dir():
            raise fail(UsageError(f"--run {each.path}: no such directory"))
        if run_dir is not None and not each.was_made():  # it would be removed with all that is in it
            raise fail(UsageError(f"--run {each.path}: not the directory of a run (no pids.json in it)"))
        told.append(_end(each))
    _tell(told, as_json)
    if not runs and not as_json:
        typer.echo("nothing to clean: no run is recorded under /run/csaud")

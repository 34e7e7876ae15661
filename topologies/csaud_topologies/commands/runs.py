"""`csaud net run` and `compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from csaud_runs.errors import RunError

from csaud_topologies.commands.app import SIGNAL, SPRAY, AsJson, app, command_line, fail, make_options
from csaud_topologies.scenario.options import RunOptions


@app.command()
def run(
    target: Annotated[
        str, typer.Option(help="P4 target: soft (embedded) or bmv2 (simple_switch_grpc).")
    ] = "soft",
    topo: Annotated[
        str, typer.Option(help="leaf-spine-LxS, leaf-spine-LxSxH, fat-tree-K or a YAML file.")
    ] = "",
    scenario: Annotated[str, typer.Option(help="A scenario's name or YAML file.")] = "first-light",
    spray: Annotated[str, typer.Option(help=f"Spray mode: {SPRAY}.")] = "",
    signal: Annotated[str, typer.Option(help=SIGNAL)] = "",
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
        options = make_options(
            shorthands,
            override or [],
            target=target,
            topo=topo or None,
            scenario=scenario or "first-light",
            cli=cli,
            out=out,
            pps=pps or None,
            debug=debug,
            command=command_line("run"),
        )
    except RunError as error:
        raise fail(error) from None
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
        raise fail(error) from None


@app.command(name="compare")
def compare_command(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A run's output folder or report.json.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="The other one.")],
    json_: AsJson = False,
) -> None:
    """Two finished runs side by side: what was set differently, and every figure with its ratio."""
    from rich.console import Console

    from csaud_topologies.report.compare import as_json, compare, load_report, print_comparison

    try:
        found = compare(load_report(first), load_report(second))
    except RunError as error:
        raise fail(error) from None
    if json_:
        typer.echo(json.dumps(as_json(found), indent=2))
    else:
        print_comparison(found, (str(first), str(second)), Console(highlight=False))

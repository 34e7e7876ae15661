"""`csaud sim`: scenarios and experiments in virtual time."""

from __future__ import annotations

import platform
import shlex
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from csaud_runs.errors import RunError
from csaud_topologies.scenario.options import RunOptions, pairs

app = typer.Typer(
    help="Simulation: the host core and the P4 switches in virtual time, without privileges.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def _sim() -> None:
    """A command with sub-commands, also while there is one."""


@app.command()
def run(
    scenario: Annotated[
        str, typer.Argument(help="A scenario's name or YAML file, as `csaud net run` takes.")
    ],
    topo: Annotated[
        str, typer.Option(help="leaf-spine-LxS, leaf-spine-LxSxH, fat-tree-K or a YAML file.")
    ] = "",
    seed: Annotated[str, typer.Option(help="Seed of every random choice.")] = "",
    override: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any key of the scenario, dotted.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of report.json, report.html and figures.")] = Path(
        "build/sim"
    ),
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks with errors.")] = False,
) -> None:
    """Simulate a scenario; exit status 0 when every check held."""
    from csaud_controller.base.yamlfile import ConfigError

    try:
        overrides = ({"seed": seed} if seed else {}) | pairs(override or [])
        options = RunOptions(
            topo=topo or None,
            scenario=scenario,
            overrides=overrides,
            out=str(out.absolute()),
            command=["csaud", "sim", *sys.argv[sys.argv.index("run") :]] if "run" in sys.argv else [],
        )
        passed = _scenario(options)
    except (RunError, ConfigError) as error:
        if debug:
            raise
        typer.echo(f"csaud: {error}", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(0 if passed else 1)


def _scenario(options: RunOptions) -> bool:
    from csaud_topologies.record import model
    from csaud_topologies.record.assemble import build_report
    from csaud_topologies.report.terminal import print_checks
    from csaud_topologies.report.write import clear_report, write_report
    from csaud_topologies.scenario.plan import make_plan
    from rich.console import Console

    from csaud_sim.scenario_run import ScenarioRun, refuse_what_cannot_be_simulated
    from csaud_sim.summary import print_outcome

    begun, started = time.monotonic(), datetime.now(UTC)
    plan = make_plan(options)
    refuse_what_cannot_be_simulated(plan)
    console = Console(highlight=False)
    scenario, fabric = plan.scenario, plan.fabric
    console.print(
        f"{scenario.name} on {fabric.name}: {len(fabric.switches)} switches, {len(fabric.hosts)} hosts, "
        f"seed {scenario.seed}, virtual time"
    )
    with tempfile.TemporaryDirectory(prefix="csaud-sim-") as folder:
        outcome = ScenarioRun(plan, Path(folder)).run()
    run_part = model.Run(
        scenario=scenario.name,
        about=scenario.about,
        target="sim",
        fabric=fabric.name,
        seed=scenario.seed,
        spray=scenario.policy.spray,
        loss_signal=scenario.policy.loss_signal,
        loss_icrc=scenario.policy.trim_icrc,
        ecn=scenario.policy.ecn is not False,
        injected_probability=max((rule.probability for rule in scenario.faults), default=0.0),
        workload=scenario.workload.model_dump(),
        ranks=plan.hosts,
        link_rate_bps=fabric.link.rate,
        command=shlex.join(options.command),
        started=started.isoformat(timespec="seconds"),
        duration_s=time.monotonic() - begun,
        job_s=outcome.virtual_s,
        versions={"csaud": version("csaud"), "python": platform.python_version()},
    )
    report = build_report(outcome.collected, run_part)
    target = Path(options.out)
    target.mkdir(parents=True, exist_ok=True)
    clear_report(target)
    page = write_report(report, target, [each["seconds"] for each in outcome.took])
    print_outcome(outcome, report, console)
    print_checks(report, page, console)
    return report.passed

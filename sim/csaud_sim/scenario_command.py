"""A scenario for `csaud sim run`: simulated, reported, its checks told."""

from __future__ import annotations

import platform
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import typer
from csaud_topologies.record.assemble import build_report
from csaud_topologies.record.describe import describe_run
from csaud_topologies.report.terminal import print_checks
from csaud_topologies.report.write import clear_report, write_report
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.plan import make_plan
from rich.console import Console

from csaud_sim.folders import make_folder, written_into
from csaud_sim.scenario_run import ScenarioRun, refuse_what_cannot_be_simulated
from csaud_sim.summary import print_outcome


def simulate(options: RunOptions, as_json: bool, engine: str | None = None) -> bool:
    """True: every check held. `engine`: a library of what keeps time."""
    begun, started = time.monotonic(), datetime.now(UTC)
    plan = make_plan(options, virtual=True)
    refuse_what_cannot_be_simulated(plan)
    make_folder(target := Path(options.out))
    console = Console(highlight=False, stderr=as_json)
    scenario, fabric = plan.scenario, plan.fabric
    console.print(
        f"{scenario.name} on {fabric.name}: {len(fabric.switches)} switches, {len(fabric.hosts)} hosts, "
        f"seed {scenario.seed}, virtual time"
    )
    with tempfile.TemporaryDirectory(prefix="csaud-sim-") as folder:
        outcome = ScenarioRun(plan, Path(folder), engine).run()
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
    print_outcome(outcome, report, console)
    with written_into(target):
        clear_report(target)
        page = write_report(report, target, [each["seconds"] for each in outcome.took])
    print_checks(report, page, console)
    if as_json:
        typer.echo(report.model_dump_json(indent=1))
    return report.passed

"""`csaud net job` and `report`: one's own program in a fabric that `csaud net up` has brought up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from csaud_runs.errors import RunError

from csaud_topologies.base.folder import check_name
from csaud_topologies.base.usage import UsageError
from csaud_topologies.commands.app import AsJson, NamedRun, app, command_line, fail


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def job(
    command: Annotated[
        list[str] | None, typer.Argument(help="The program and its arguments.", metavar="-- CMD...")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as the scenario says, else one a host.")
    ] = None,
    placement: Annotated[
        str, typer.Option(help="spread, block, or the hosts by rank: h1,h3; default: the scenario's.")
    ] = "",
    time_limit: Annotated[
        str, typer.Option(help="End the job after this time, such as 10min or 90s; default: none.")
    ] = "",
    deaths: Annotated[
        int,
        typer.Option(min=0, help="How many ranks may fail while the others go on, as with csaud.recover."),
    ] = 0,
    run_dir: NamedRun = None,
) -> None:
    """Run a program as one process a rank: `csaud net job -- python train.py`, with torchrun's variables.

    Its output comes with the rank in front. The exit status is that of the first rank that failed, unless
    it might (--deaths); 124 where the time limit has ended it.
    """
    from csaud_runs.find import find_run

    from csaud_topologies.isolation.enter import with_own_commands
    from csaud_topologies.isolation.inside import run_inside
    from csaud_topologies.isolation.supervisor import check_machine
    from csaud_topologies.job.own_plan import check_command, only_job, own_job

    try:
        if not command:
            raise UsageError("no program named: csaud net job -- python train.py")
        check_name(Path.cwd())
        check_machine()
        check_command(command, with_own_commands(os.environ.get("PATH", os.defpath)))
        run = find_run(run_dir)
        planned = own_job(run, ranks, placement, command, time_limit, deaths)

        def in_fabric() -> int:
            from csaud_topologies.run.own_program import run_program

            return run_program(planned, command_line("job"))

        with only_job(run, command):
            raise typer.Exit(run_inside(run, in_fabric))
    except RunError as error:
        raise fail(error) from None


@app.command()
def report(
    run_dir: NamedRun = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder; default: that of the fabric of this directory.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the last report again, and where its page lies."""
    from csaud_runs.find import find_run
    from rich.console import Console

    from csaud_topologies.report.compare import load_report
    from csaud_topologies.report.terminal import print_summary
    from csaud_topologies.scenario.options import RunOptions

    try:
        if out is None:
            options = RunOptions.model_validate_json(find_run(run_dir).options.read_text())
            out = Path(options.out)
        found = load_report(out)
    except RunError as error:
        raise fail(error) from None
    if as_json:
        typer.echo(found.model_dump_json(indent=1))
        return
    print_summary(found, out / "report.html", Console(highlight=False))

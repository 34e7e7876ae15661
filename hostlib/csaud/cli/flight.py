"""`csaud flight`: reads what the flight recorders of several ranks wrote."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from csaud.errors import CsaudError


def flight(
    folder: Annotated[Path, typer.Argument(help="Where the ranks wrote (setting flight_dir).")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    trace: Annotated[
        Path | None,
        typer.Option(help="Instead: put the ranks' traces in the folder (setting trace_dir) into this file."),
    ] = None,
) -> None:
    """Which rank lags, what each waits for, and where ranks called different collectives."""
    if trace is not None:
        from csaud.flight.trace import merge_traces

        try:
            ranks = merge_traces(folder, trace)
        except OSError as error:
            raise CsaudError(f"cannot write {trace}: {error.strerror}") from None
        typer.echo(f"{trace}: traces of {ranks} ranks, for ui.perfetto.dev")
        return
    from csaud.flight import report as flight_report

    dumps = flight_report.read(folder)
    found, absent = flight_report.findings(dumps), flight_report.missing(dumps)
    if as_json:
        records = [dataclasses.asdict(finding) for finding in found]
        typer.echo(json.dumps({"missing": absent, "findings": records}, indent=2))
        return
    first = dumps[0]
    typer.echo(f"epoch {first['epoch']}, records of {len(dumps)} of {first['world']} ranks")
    if absent:
        typer.echo(f"no record of rank {', '.join(str(rank) for rank in absent)}")
    for dump in dumps:
        typer.echo(f"rank {dump['rank']} on {dump['host']} (process {dump['pid']}): {dump['reason']}")
    for finding in found:
        typer.echo(f"communicator {finding.communicator}: {finding.text}")

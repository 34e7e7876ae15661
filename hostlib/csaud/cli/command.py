"""The `csaud` command. Packages add sub-commands through the entry-point group `csaud.commands`."""

import json
import os
import sys
from importlib import metadata
from typing import Annotated, Any

import typer
from csaud_runs.whole import is_full
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from csaud.cli import devices as device_commands
from csaud.cli import flight as flight_command
from csaud.cli import help_commands, statuses
from csaud.cli import workers as workers_command
from csaud.config import reading
from csaud.errors import ConfigError, CsaudError
from csaud.perf.command import app as perf_app

GROUP = "csaud.commands"


class EntryPointGroup(TyperGroup):
    """Loads a sub-command's package when it is asked for, so that one cannot slow down or break another."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted({*super().list_commands(ctx), *_entry_points()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry_point = _entry_points().get(cmd_name)
        if entry_point is None:
            return super().get_command(ctx, cmd_name)
        try:
            command = typer.main.get_command(entry_point.load())
        except ImportError as error:
            return _unavailable(cmd_name, error)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=EntryPointGroup,
    no_args_is_help=True,
    help="Collectives over unreliable datagrams, sprayed and recovered together with P4 switches.",
    epilog=statuses.in_words(),
)


app.add_typer(perf_app, name="perf")


app.add_typer(device_commands.device, name="device")
app.command()(device_commands.doctor)
app.command()(flight_command.flight)
app.command()(workers_command.recover)
app.command()(help_commands.completion)
app.add_typer(help_commands.manual, name="manual")


def _entry_points() -> dict[str, metadata.EntryPoint]:
    return {entry_point.name: entry_point for entry_point in metadata.entry_points(group=GROUP)}


def _unavailable(name: str, error: ImportError) -> Any:
    """A command that says why the real one cannot be loaded."""
    broken = typer.Typer(add_help_option=False)

    @broken.command(
        name=name,
        help=f"Not available: {error}.",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def explain() -> None:
        typer.echo(f"csaud {name} is not available: {error}", err=True)
        raise typer.Exit(1)

    return typer.main.get_command(broken)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"csaud {metadata.version('csaud')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Collectives over unreliable datagrams, sprayed and recovered together with P4 switches."""


@app.command()
def settings(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """The library's settings: values in force, where they come from, units and meaning."""
    rows = reading.sources(os.environ)
    if as_json:
        keys = ("name", "value", "source", "unit", "help")
        variables = [reading.variable(row[0]) for row in rows]
        records = [
            {**dict(zip(keys, row, strict=True)), "variable": variable}
            for row, variable in zip(rows, variables, strict=True)
        ]
        typer.echo(json.dumps(records, indent=2))
        return
    table = Table("setting", "value", "unit", "from", "meaning", title="csaud.init(name=...) or CSAUD_NAME")
    for name, value, source, unit, text in rows:
        table.add_row(name, str(value), unit, source, text)
    Console().print(table)


def main() -> None:
    """Entry point: the library's own errors, and a full disk, are one line on stderr and exit status 1, or 2
    where something was asked for that cannot be."""
    try:
        app()
    except CsaudError as error:
        typer.echo(f"csaud: {error}", err=True)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except OSError as error:
        if not is_full(error) or "--debug" in sys.argv:
            raise
        typer.echo(f"csaud: {f'{error.filename}: ' if error.filename else ''}{error.strerror}", err=True)
        sys.exit(1)

"""What the commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from csaud_topologies.base.folder import check_name, needed_folder
from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.options import RunOptions, pairs


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Those that need the folder in which they are started say so if it is gone."""
        try:
            with needed_folder():
                return super().invoke(ctx)
        except UsageError as error:
            raise fail(error) from None


app = typer.Typer(
    cls=_Commands,
    help="Fabrics under Mininet: run a scenario or one's own program, enter a running fabric, clean up.",
    no_args_is_help=True,
    add_completion=False,
)

SPRAY = "ecmp, entropy, random, round-robin, weighted, least-queue, host or flowlet"
SIGNAL = "What becomes of DATA without room: trim, bounce, both or drop."
NamedRun = Annotated[
    Path | None, typer.Option("--run", help="Run directory; default: the live one of this directory.")
]

AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


def fail(error: Exception) -> typer.Exit:
    """Say it in one line; raise what this returns: 2 is mistaken use."""
    from csaud_controller.base.yamlfile import (  # whoever makes no mistake needs no YAML
        ConfigError,
        SourceError,
    )

    typer.echo(f"csaud: {error}", err=True)
    mistaken = isinstance(error, UsageError | ConfigError) and not isinstance(error, SourceError)
    return typer.Exit(2 if mistaken else 1)


def command_line(name: str) -> list[str]:
    """How this command was called, for the report; empty where it was not from a shell."""
    return ["csaud", "net", *sys.argv[sys.argv.index(name) :]] if name in sys.argv else []


def make_options(shorthands: dict[str, str], sets: Sequence[str], *, out: Path, **values: Any) -> RunOptions:
    """Options of a run: shorthands of the scenario's keys (empty, as from an unset variable of a Makefile,
    means: as the scenario says), --set KEY=VALUE, and the rest by name. RunError names the wrong one."""
    overrides = {key: value for key, value in shorthands.items() if value} | pairs(sets)
    here, out = Path.cwd(), out.absolute()
    check_name(here)
    check_name(out)
    try:
        return RunOptions(overrides=overrides, directory=str(here), out=str(out), **values)
    except ValidationError as error:
        detail = error.errors()[0]
        raise UsageError(
            f"--{detail['loc'][0]} {detail['input']}: {detail['msg'].replace('Input should be', 'expected')}"
        ) from None

"""What all commands share: the options --run and --json, and errors as one line with exit status 1 (2 for
usage)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from csaud_controller.artifacts import ArtifactsError
from csaud_controller.control import ControlError, RefusedError, ask
from csaud_controller.counters import CountersError
from csaud_controller.rundir import ENVIRONMENT, RunDir, RunError, find_run
from csaud_controller.yamlfile import ConfigError, FieldError

RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run",
        envvar=ENVIRONMENT,
        metavar="DIR",
        help="Directory of the running fabric; default: the newest under /run/csaud.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

_KNOWN_ERRORS = (RunError, ControlError, CountersError, ConfigError, FieldError, ArtifactsError, OSError)

USAGE = 2
"""Exit status when an argument names something that does not exist."""


class UnknownName(Exception):
    """An argument names a host, switch, link or port that the fabric does not have."""


@contextmanager
def errors() -> Iterator[None]:
    """Turns the errors that a user can do something about into one line on stderr and an exit status."""
    try:
        yield
    except (UnknownName, RefusedError) as error:
        fail(str(error), USAGE)
    except _KNOWN_ERRORS as error:
        fail(str(error), 1)


def fail(message: str, status: int) -> None:
    """Print one line on stderr and exit."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        f"csaud: {message}", style="red", markup=False
    )
    raise typer.Exit(status)


def emit(value: object, as_json: bool, render: Callable[[Console], None]) -> None:
    """Print a result for a program or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        render(Console(highlight=False))


def table(title: str, *columns: str) -> Table:
    """A table in the one style that all commands have; columns after the first are right-aligned if they end
    in #."""
    made = Table(
        title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for column in columns:
        made.add_column(column.rstrip("#"), justify="right" if column.endswith("#") else "left")
    return made


def request(run: Path | None, op: str, **arguments: Any) -> tuple[RunDir, dict[str, Any]]:
    """Ask the controller of a run; ControlError when it is not there or refuses."""
    found = find_run(run)
    return found, ask(found.control_socket, op, **arguments)


def show_pending(console: Console, answer: dict[str, Any]) -> None:
    """Say whether a change is in force everywhere; exit status 1 when it is not."""
    if answer["pending"]:
        for name, reason in answer["pending"].items():
            console.print(f"[red]{name}[/red]: not applied yet: {reason}")
    else:
        console.print("applied on all switches")

"""csaud counter: what the switches counted."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live

from csaud_controller.cli.common import JsonOption, RunOption, emit, errors, known_switches
from csaud_controller.cli.counter_tables import CounterTables, Shown
from csaud_controller.cli.noun import Noun, controller_of
from csaud_controller.control.elsewhere import Elsewhere
from csaud_controller.control.here import Here
from csaud_controller.inventory import Fabric

app = Noun(
    help="What the switches counted, read from them directly.", no_args_is_help=True, add_completion=False
)


@app.callback()
def _group() -> None:
    """Keeps `show` a sub-command although it is the only one."""


@app.command()
def show(
    switch: Annotated[list[str] | None, typer.Argument(help="Only these switches; default: all.")] = None,
    named: Annotated[
        list[str] | None, typer.Option("--switch", metavar="SWITCH", help="The same as the argument.")
    ] = None,
    nonzero: Annotated[
        bool, typer.Option("--nonzero", help="Leave out switches and ports that counted nothing.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C, with rates.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between readings of --watch.")] = 1.0,
    paths: Annotated[
        bool, typer.Option("--paths", help="Also what happened to DATA by uplink and path bucket.")
    ] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Packets by switch, port and kind; with --json everything (one line a reading with --watch)."""
    with errors():
        found = controller_of(run)
        fabric = found.fabric()
        only = known_switches(fabric, [*(switch or ()), *(named or ())])
        shown = Shown(paths, nonzero)
        if not watch:
            reading = _read(found, fabric, only)
            emit(reading, as_json, lambda console: console.print(CounterTables(fabric, reading, shown)))
        else:
            with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
                readings = _readings(found, fabric, only, interval)
                _watch_json(readings) if as_json else _watch(fabric, readings, shown)


def _read(found: Here | Elsewhere, fabric: Fabric, only: list[str]) -> dict[str, Any]:
    return found.counters(fabric, switches=only, counters=None, unit="packets")


def _readings(
    found: Here | Elsewhere, fabric: Fabric, only: list[str], interval: float
) -> Iterator[dict[str, Any]]:
    due = time.monotonic()
    while True:
        yield _read(found, fabric, only)
        due += interval
        time.sleep(max(0.0, due - time.monotonic()))


def _watch_json(readings: Iterator[dict[str, Any]]) -> None:
    for reading in readings:
        sys.stdout.write(json.dumps({"time": time.time(), "switches": reading}) + "\n")
        sys.stdout.flush()


def _watch(fabric: Fabric, readings: Iterator[dict[str, Any]], shown: Shown) -> None:
    """On a terminal the tables stay in place; in a pipe or file one reading follows the other."""
    console = Console(highlight=False)
    before: dict[str, Any] | None = None
    read_at = 0.0
    with (
        Live(console=console, auto_refresh=False) if console.is_terminal else contextlib.nullcontext() as live
    ):
        for reading in readings:
            then, read_at = read_at, time.monotonic()
            height = console.height - 1 if live else None  # asked each time: windows are made larger
            tables = CounterTables(
                fabric, reading, shown, before=before, interval=read_at - then, height=height
            )
            if live is None:
                console.print(tables)
            else:
                live.update(tables, refresh=True)
            before = reading

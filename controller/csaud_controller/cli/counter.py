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
from csaud_controller.inventory import Fabric
from csaud_controller.run.directory import find_run
from csaud_controller.switches.counters import read_counters

app = typer.Typer(
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
        fabric = find_run(run).fabric()
        only = known_switches(fabric, [*(switch or ()), *(named or ())])
        shown = Shown(paths, nonzero)
        if not watch:
            reading = read_counters(fabric, switches=only)
            emit(reading, as_json, lambda console: console.print(CounterTables(fabric, reading, shown)))
        else:
            with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
                _watch_json(fabric, only, interval) if as_json else _watch(fabric, only, interval, shown)


def _readings(fabric: Fabric, only: list[str], interval: float) -> Iterator[dict[str, Any]]:
    due = time.monotonic()
    while True:
        yield read_counters(fabric, switches=only)
        due += interval
        time.sleep(max(0.0, due - time.monotonic()))


def _watch_json(fabric: Fabric, only: list[str], interval: float) -> None:
    for reading in _readings(fabric, only, interval):
        sys.stdout.write(json.dumps({"time": time.time(), "switches": reading}) + "\n")
        sys.stdout.flush()


def _watch(fabric: Fabric, only: list[str], interval: float, shown: Shown) -> None:
    """On a terminal the tables stay in place; in a pipe or file one reading follows the other."""
    console = Console(highlight=False)
    before: dict[str, Any] | None = None
    read_at = 0.0
    with (
        Live(console=console, auto_refresh=False) if console.is_terminal else contextlib.nullcontext() as live
    ):
        for reading in _readings(fabric, only, interval):
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

"""csaud counter: what the switches counted."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from csaud_controller.cli.common import JsonOption, RunOption, emit, errors, known_switches, table
from csaud_controller.counters import BY_PORT, PATH_BUCKETS, SAI_NAMES, read_counters
from csaud_controller.inventory import Fabric
from csaud_controller.packets import KINDS
from csaud_controller.rundir import find_run

_LOSSES = ("injected", "trimmed", "bounced", "congestion_dropped")
_BY_PATH = {
    "path_tx": "sent",
    "marked": "ECN",
    "path_trimmed": "trimmed",
    "path_bounced": "bounced",
    "path_injected": "lost by fault",
    "overflow": "overflow",
    "overflow_egress": "overflow (queue)",
}
"""Counters by path bucket, and how they are called here."""

app = typer.Typer(
    help="What the switches counted, read from them directly.", no_args_is_help=True, add_completion=False
)


@app.callback()
def _group() -> None:
    """Keeps `show` a sub-command although it is the only one."""


@app.command()
def show(
    switch: Annotated[list[str] | None, typer.Argument(help="Only these switches; default: all.")] = None,
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
        only = known_switches(fabric, switch)
        if not watch:
            reading = read_counters(fabric, switches=only)
            emit(reading, as_json, lambda console: console.print(_tables(fabric, reading, None, 0, paths)))
        else:
            with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
                _watch_json(fabric, only, interval) if as_json else _watch(fabric, only, interval, paths)


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


def _watch(fabric: Fabric, only: list[str], interval: float, paths: bool) -> None:
    """On a terminal the tables stay in place; in a pipe or file one reading follows the other."""
    console = Console(highlight=False)
    before: dict[str, Any] | None = None
    with (
        Live(console=console, auto_refresh=False) if console.is_terminal else contextlib.nullcontext() as live
    ):
        for reading in _readings(fabric, only, interval):
            shown = _tables(fabric, reading, before, interval, paths)
            if live is None:
                console.print(shown)
            else:
                live.update(shown, refresh=True)
            before = reading


def _tables(
    fabric: Fabric, reading: dict[str, Any], before: dict[str, Any] | None, interval: float, paths: bool
) -> Group:
    parts = [
        _port_table(fabric, reading, before, interval),
        _signal_table(fabric, reading),
        _loss_table(reading),
    ]
    if paths:
        parts.append(_path_table(fabric, reading))
    return Group(*parts)


def _port_table(
    fabric: Fabric, reading: dict[str, Any], before: dict[str, Any] | None, interval: float
) -> Table:
    columns = [f"{way}\n{kind}#" for way in ("in", "out") for kind in KINDS]
    columns += ["lost by\nfault#", "no room:\ntrimmed#", "\nbounced#", "\ndropped#"]
    rows = table("Packets by port", "\nport", "\nto", *columns, *(["out\n/s#"] if before else []))
    for name, counts in reading.items():
        for port, peer in fabric.peers[name].items():
            cells = [*counts["ingress_kind"][port].values(), *counts["egress_kind"][port].values()]
            losses = [sum(counts[name][port].values()) for name in _LOSSES]
            rate = []
            if before:
                sent = sum(counts["egress_kind"][port].values())
                rate = [f"{(sent - sum(before[name]['egress_kind'][port].values())) / interval:.0f}"]
            rows.add_row(f"{name}:{port}", peer.node, *map(str, (*cells, *losses)), *rate)
    return rows


def _loss_table(reading: dict[str, Any]) -> Table:
    columns = [
        *(f"no path\n{kind}#" for kind in KINDS),
        "bad\nchecksum#",
        "TTL\nexpired#",
        "no\nroute#",
        "cut\nshort#",
    ]
    rows = table("\nPackets that went no further", "\nswitch", *columns)
    for name, counts in reading.items():
        rows.add_row(name, *map(str, (*counts["no_path"].values(), *counts["discarded"].values())))
    return rows


def _signal_table(fabric: Fabric, reading: dict[str, Any]) -> Table:
    """LOSS that the switches made: by port, those that made any."""
    columns = [f"{name.replace('_', ' ')}\n{SAI_NAMES.get(name, '')}#" for name in BY_PORT]
    rows = table("\nLOSS made here, by the port whose queue took it or had no room", "\nport", *columns)
    for name, counts in reading.items():
        for port in fabric.peers[name]:
            cells = [counts[column][port] for column in BY_PORT]
            if any(cells):
                rows.add_row(f"{name}:{port}", *map(str, cells))
    return rows


def _path_table(fabric: Fabric, reading: dict[str, Any]) -> Table:
    """A row for each uplink and counter that is not zero; that of DATA sent always."""
    buckets = [f"{bucket}#" for bucket in range(PATH_BUCKETS)]
    rows = table("\nBy uplink and path bucket", "port", "what", *buckets, "SAI")
    for name, counts in reading.items():
        for port in fabric.uplinks(name):
            for counter, word in _BY_PATH.items():
                cells = counts[counter][port]
                if any(cells) or counter == "path_tx":
                    rows.add_row(f"{name}:{port}", word, *map(str, cells), SAI_NAMES.get(counter, ""))
    return rows

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

from csaud_controller.cli.common import JsonOption, RunOption, UnknownName, emit, errors, table
from csaud_controller.counters import read_counters
from csaud_controller.inventory import Fabric
from csaud_controller.policy import KINDS
from csaud_controller.rundir import find_run

app = typer.Typer(help="What the switches counted, read from them directly.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `show` a sub-command although it is the only one."""


@app.command()
def show(
    switch: Annotated[list[str] | None, typer.Argument(help="Only these switches; default: all.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C, with rates.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between readings of --watch.")] = 1.0,
    paths: Annotated[bool, typer.Option("--paths", help="Also DATA per path bucket of each uplink.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Packets by switch, port and kind; with --json everything (one line a reading with --watch)."""
    with errors():
        fabric = find_run(run).fabric()
        only = _chosen(fabric, switch or [])
        if not watch:
            reading = read_counters(fabric, switches=only)
            emit(reading, as_json, lambda console: console.print(_tables(fabric, reading, None, 0, paths)))
        else:
            with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
                _watch_json(fabric, only, interval) if as_json else _watch(fabric, only, interval, paths)


def _chosen(fabric: Fabric, names: list[str]) -> list[str]:
    for name in names:
        if name not in fabric.switches:
            raise UnknownName(f"unknown switch {name!r}; expected one of {', '.join(fabric.switches)}")
    return [name for name in fabric.switches if not names or name in names]


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
    parts = [_port_table(fabric, reading, before, interval), _loss_table(reading)]
    if paths:
        parts.append(_path_table(fabric, reading))
    return Group(*parts)


def _port_table(
    fabric: Fabric, reading: dict[str, Any], before: dict[str, Any] | None, interval: float
) -> Table:
    columns = [f"{way}\n{kind}#" for way in ("in", "out") for kind in KINDS]
    columns += ["lost by\nfault#", "\ntrimmed#", "\ndropped#"]
    rows = table("Packets by port", "\nport", "\nto", *columns, *(["out\n/s#"] if before else []))
    for name, counts in reading.items():
        for port, peer in fabric.peers[name].items():
            cells = [*counts["ingress_kind"][port].values(), *counts["egress_kind"][port].values()]
            losses = [sum(counts[c][port].values()) for c in ("injected", "trimmed", "congestion_dropped")]
            rate = []
            if before:
                sent = sum(counts["egress_kind"][port].values())
                rate = [f"{(sent - sum(before[name]['egress_kind'][port].values())) / interval:.0f}"]
            rows.add_row(f"{name}:{port}", peer.node, *map(str, (*cells, *losses)), *rate)
    return rows


def _loss_table(reading: dict[str, Any]) -> Table:
    columns = [*(f"no path\n{kind}#" for kind in KINDS), "bad\nchecksum#", "TTL\nexpired#", "no\nroute#"]
    rows = table("\nPackets that went no further", "\nswitch", *columns)
    for name, counts in reading.items():
        rows.add_row(name, *map(str, (*counts["no_path"].values(), *counts["discarded"].values())))
    return rows


def _path_table(fabric: Fabric, reading: dict[str, Any]) -> Table:
    rows = table("\nDATA by path bucket, uplinks", "port", *(f"{bucket}#" for bucket in range(16)))
    for name, counts in reading.items():
        for port in fabric.uplinks(name):
            rows.add_row(f"{name}:{port}", *map(str, counts["path_bucket"][port]))
    return rows

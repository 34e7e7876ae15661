"""csaud top: what the links carry now."""

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

from csaud_controller.cli.common import JsonOption, RunOption, emit, errors
from csaud_controller.cli.fitting import Narrowed
from csaud_controller.cli.noun import Noun, controller_of
from csaud_controller.control.elsewhere import Elsewhere
from csaud_controller.control.here import Here
from csaud_controller.inventory import End, Fabric

app = Noun(add_completion=False)

_BYTES, _PACKETS = ("egress_kind",), ("egress_kind", "marked", "trimmed", "bounced", "congestion_dropped")


@app.command()
def top(
    once: Annotated[bool, typer.Option("--once", help="One interval, and end.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between readings.")] = 1.0,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """What the links between switches carry: load, ECN marks, cut and dropped packets a second, and how far
    the fullest uplink of a switch is above their mean; the fullest first. Until Ctrl-C."""
    with errors(), contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        readings = _readings(controller_of(run), interval)
        if once:
            rows = next(readings)
            emit({"links": rows}, as_json, lambda console: console.print(_table(rows, None)))
        elif as_json:
            for rows in readings:
                sys.stdout.write(json.dumps({"time": time.time(), "links": rows}) + "\n")
                sys.stdout.flush()
        else:
            _watch(readings)


def _watch(readings: Iterator[list[dict[str, Any]]]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        for rows in readings:
            console.print(_table(rows, None))
        return
    with Live(console=console, auto_refresh=False, screen=True) as live:
        for rows in readings:
            live.update(_table(rows, console.height - 3), refresh=True)


def _readings(found: Here | Elsewhere, interval: float) -> Iterator[list[dict[str, Any]]]:
    fabric = found.fabric()
    before, then = _read(found, fabric), time.monotonic()
    while True:
        time.sleep(max(0.0, then + interval - time.monotonic()))
        now, after = time.monotonic(), _read(found, fabric)
        yield rates(fabric, before, after, now - then)
        before, then = after, now


def _read(found: Here | Elsewhere, fabric: Fabric) -> dict[End, dict[str, int]]:
    """What every port towards another switch has counted."""
    octets = found.counters(fabric, switches=None, counters=_BYTES, unit="bytes")
    packets = found.counters(fabric, switches=None, counters=_PACKETS, unit="packets")
    read: dict[End, dict[str, int]] = {}
    for name in fabric.switches:
        for port in fabric.uplinks(name):
            counted = packets[name]
            read[End(name, port)] = {
                "octets": sum(octets[name]["egress_kind"][port].values()),
                "packets": sum(counted["egress_kind"][port].values()),
                "marked": sum(counted["marked"][port]),
                "cut": sum(counted["trimmed"][port].values()) + sum(counted["bounced"][port].values()),
                "dropped": sum(counted["congestion_dropped"][port].values()),
            }
    return read


def rates(
    fabric: Fabric, before: dict[End, dict[str, int]], after: dict[End, dict[str, int]], seconds: float
) -> list[dict[str, Any]]:
    """A row a direction of each link, a second, the fullest first; `load` is of the link's rate, None where
    that is not limited; `imbalance` how far the port is above the mean of its switch's, 0 to some."""
    moved = {
        end: {key: (after[end][key] - before[end][key]) / seconds for key in after[end]} for end in after
    }
    rows = []
    for end, each in moved.items():
        beside = [moved[End(end.node, port)]["octets"] for port in fabric.uplinks(end.node)]
        mean, rate = sum(beside) / len(beside), fabric.rate_at[end]
        rows.append(
            {
                "from": str(end),
                "to": str(fabric.peers[end.node][end.port]),
                "bits": round(each["octets"] * 8),
                "load": round(each["octets"] * 8 / rate, 4) if rate else None,
                **{key: round(each[key], 1) for key in ("packets", "marked", "cut", "dropped")},
                "imbalance": round(each["octets"] / mean - 1, 3) if mean else 0.0,
            }
        )
    return sorted(rows, key=lambda row: (-(row["load"] or 0), -row["bits"]))


_COLUMNS = (
    "from", "to", "Mbit/s#", "load#", "packets/s#", "ECN/s#", "cut/s#", "dropped/s#", "imbalance#",
)  # fmt: skip
_LEAST = ("imbalance#", "packets/s#", "ECN/s#", "Mbit/s#", "cut/s#", "to", "dropped/s#")


def _table(rows: list[dict[str, Any]], height: int | None) -> Narrowed:
    shown = []
    for row in rows if height is None else rows[: max(1, height)]:
        load = row["load"]
        cells = (
            row["from"],
            row["to"],
            f"{row['bits'] / 1e6:,.1f}",
            "-" if load is None else f"{load:.0%}",
            *(f"{row[key]:,.0f}" for key in ("packets", "marked", "cut", "dropped")),
            f"{row['imbalance']:+.0%}",
        )
        shown.append((cells, "" if load is None or load < 0.8 else "yellow" if load < 0.95 else "red"))
    return Narrowed(_COLUMNS, shown, _LEAST)

"""csaud alarm: ports whose queues came near their ends."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.cli.common import JsonOption, RunOption, emit, errors, request, table
from csaud_controller.cli.noun import Noun

app = Noun(help="Ports whose queues came near their ends.", no_args_is_help=True, add_completion=False)

_WAIT_S = 10.0


@app.callback()
def _group() -> None:
    """Keeps `show` a sub-command although it is the only one."""


@app.command()
def show(
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C, with each new alarm.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """The alarms since the controller started: how many a port, and the latest; with --watch also those to
    come, with --json one line each.

    A switch tells of at most one a port and interval (`csaud limit set --alarm-interval`); the counter
    `overflow` has every packet (`csaud counter show --paths`).
    """
    with errors():
        _, answer = request(run, "alarms")
        if not (watch and as_json):
            result = {key: answer[key] for key in ("total", "by_port", "alarms")}
            emit(result, as_json, lambda console: _render(console, result))
        if watch:
            with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
                _watch(answer, run, as_json)


def _watch(answer: dict[str, Any], run: Any, as_json: bool) -> None:
    console = Console(highlight=False)
    seen = 0 if as_json else int(answer["total"])
    while True:
        for alarm in answer["alarms"]:
            if alarm["number"] <= seen:
                continue
            if as_json:
                sys.stdout.write(json.dumps(alarm) + "\n")
                sys.stdout.flush()
            else:
                console.print(_line(alarm), soft_wrap=True)
        seen = max(seen, int(answer["total"]))
        _, answer = request(run, "alarms", since=seen, timeout_s=_WAIT_S, wait=True)


def _line(alarm: dict[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(alarm["time"]))
    place = f"{alarm['switch']}:{alarm['port']}"
    return f"{clock} {place}: {alarm['depth']} packets waiting when a {alarm['kind']} packet came"


def _render(console: Console, result: dict[str, Any]) -> None:
    if not result["total"]:
        console.print("no alarms")
        return
    rows = table("Alarms by port", "port", "alarms#")
    for port, count in sorted(result["by_port"].items(), key=lambda item: -item[1]):
        rows.add_row(port, str(count))
    console.print(rows)
    console.print("\n[bold]Latest[/bold]")
    for alarm in result["alarms"][-10:]:
        console.print(_line(alarm), soft_wrap=True)

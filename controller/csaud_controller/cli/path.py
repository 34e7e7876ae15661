"""csaud path: the ways through the fabric."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.cli.common import JsonOption, RunOption, UnknownName, emit, errors, request
from csaud_controller.inventory import End, Fabric
from csaud_controller.live import live_view
from csaud_controller.paths import host_paths

app = typer.Typer(help="The ways through the fabric.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `show` a sub-command although it is the only one."""


@app.command()
def show(
    src: Annotated[str, typer.Argument(help="Sending host, such as h1.")],
    dst: Annotated[str, typer.Argument(help="Receiving host, such as h3.")],
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """All equal-cost paths between two hosts over live links, with the port that each switch sends out of."""
    with errors():
        found, answer = request(run, "status")
        fabric = found.fabric()
        for host in (src, dst):
            if host not in fabric.hosts:
                raise UnknownName(f"unknown host {host!r}; expected one of {', '.join(fabric.hosts)}")
        result = _paths(fabric, answer, src, dst)
        emit(result, as_json, lambda console: _render(console, result))


def _paths(fabric: Fabric, answer: dict[str, Any], src: str, dst: str) -> dict[str, Any]:
    paths = host_paths(fabric, src, dst, live_view(fabric, answer["status"]))
    return {
        "src": src,
        "dst": dst,
        "spray": answer["intent"]["policy"]["spray"],
        "paths": [[_hop(fabric, end) for end in path] for path in paths],
    }


def _hop(fabric: Fabric, end: End) -> dict[str, Any]:
    return {"switch": end.node, "port": end.port, "to": fabric.peers[end.node][end.port].node}


def _render(console: Console, result: dict[str, Any]) -> None:
    count = len(result["paths"])
    paths = "1 path" if count == 1 else f"{count} paths"
    console.print(f"[bold]{result['src']} -> {result['dst']}[/bold]: {paths}, spray {result['spray']}")
    for hops in result["paths"]:
        console.print(
            "  " + "  ".join(f"{hop['switch']}:{hop['port']} ->" for hop in hops) + f"  {result['dst']}"
        )
    if not count:
        console.print("  [red]unreachable[/red]")

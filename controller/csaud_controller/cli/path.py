"""csaud path: the ways through the fabric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from csaud_controller.cli.common import (
    JsonOption,
    RunOption,
    UnknownName,
    change_policy,
    emit,
    errors,
    policy_of,
    request,
    table,
)
from csaud_controller.host_paths import MAX_PATHS, change_denied
from csaud_controller.inventory import End, Fabric
from csaud_controller.live import live_view
from csaud_controller.paths import host_paths
from csaud_controller.policy import Policy

app = typer.Typer(help="The ways through the fabric.", no_args_is_help=True, add_completion=False)


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


PathsArgument = Annotated[
    list[int] | None, typer.Argument(metavar="[PATH]...", min=0, max=MAX_PATHS - 1, help="Path ids.")
]


@app.command()
def stats(
    host: Annotated[list[str] | None, typer.Argument(metavar="[HOST]...", help="Only these hosts.")] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Paths as hosts see them: DATA sent on each, sent again, told to be marked; of the hosts that report
    (setting `controller` of the host library)."""
    with errors():
        _, answer = request(run, "paths.stats")
        hosts = answer["hosts"]
        for name in host or ():
            if name not in hosts:
                raise UnknownName(f"{name} has not reported; those that have: {', '.join(hosts) or 'none'}")
        result = {
            "hosts": {name: paths for name, paths in hosts.items() if not host or name in host},
            "denied": answer["denied"],
        }
        emit(result, as_json, lambda console: _render_stats(console, result))


@app.command()
def deny(paths: PathsArgument = None, run: RunOption = None, as_json: JsonOption = False) -> None:
    """Have hosts send no DATA on these paths. Those that report hear of it with their next report."""
    _change_denied(paths, True, run, as_json)


@app.command()
def allow(
    paths: PathsArgument = None,
    everything: Annotated[bool, typer.Option("--all", help="All paths.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let hosts use these paths again."""
    with errors():
        if everything == bool(paths):
            raise UnknownName("expected PATH..., or --all")
        if everything:
            _, policy = policy_of(run)
            paths = list(policy.denied_paths)
    _change_denied(paths, False, run, as_json)


def _change_denied(paths: list[int] | None, deny: bool, run: Path | None, as_json: bool) -> None:
    with errors():
        if deny and not paths:
            raise UnknownName("expected PATH..., such as 3 7")
        _, policy = policy_of(run)
        denied = change_denied(policy.denied_paths, paths or (), deny)
        change_policy(run, {"denied_paths": denied}, as_json, _render_denied)


def _render_denied(console: Console, policy: Policy) -> None:
    console.print(f"denied: {', '.join(map(str, policy.denied_paths)) or 'none'}")


def _render_stats(console: Console, result: dict[str, Any]) -> None:
    rows = table("", "host", "path#", "DATA#", "again#", "%#", "marked#", "%#", "")
    for host, paths in result["hosts"].items():
        for path, found in paths.items():
            lost, ecn = (f"{100 * found[key] / found['tx']:.2f}" for key in ("lost", "ecn"))
            note = "denied" if int(path) in result["denied"] else ""
            cells = (path, found["tx"], found["lost"], lost, found["ecn"], ecn)
            rows.add_row(host, *(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells), note)
    console.print(rows)
    if not result["hosts"]:
        console.print("no host has reported")


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

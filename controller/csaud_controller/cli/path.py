"""csaud path: the ways through the fabric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from csaud_controller.cli.common import (
    JsonOption,
    Patch,
    RunOption,
    UnknownName,
    change_policy,
    emit,
    errors,
    known_at,
    request,
    status_of,
    table,
)
from csaud_controller.cli.noun import Noun
from csaud_controller.cli.path_why import measured_hops, paths_of, render_trace, render_why, why
from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.equal_cost import host_paths
from csaud_controller.paths.host_reports import MAX_PATHS, change_denied
from csaud_controller.paths.live import live_view
from csaud_controller.policy.model import Policy

app = Noun(help="The ways through the fabric.", no_args_is_help=True, add_completion=False)


@app.command()
def show(
    src: Annotated[str, typer.Argument(help="Sending host, such as h1.")],
    dst: Annotated[str, typer.Argument(help="Receiving host, such as h3.")],
    explain: Annotated[
        bool, typer.Option("--why", help="Also by which rule and weights, and why other ways are not taken.")
    ] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """All equal-cost paths between two hosts over live links, with the port that each switch sends out of."""
    with errors():
        found, answer = status_of(run)
        fabric = found.fabric()
        for host in (src, dst):
            if host not in fabric.hosts:
                raise UnknownName(f"unknown host {host!r}; expected one of {', '.join(fabric.hosts)}")
        result = _paths(fabric, answer, src, dst)
        if explain:
            result["why"] = why(fabric, answer, src, dst)
        emit(result, as_json, lambda console: _render(console, result))


@app.command()
def trace(
    src: Annotated[str, typer.Argument(help="Sending host, such as h1.")],
    dst: Annotated[str, typer.Argument(help="Receiving host, such as h3.")],
    packets: Annotated[int, typer.Option(min=1, max=10_000, help="Over each link.")] = 100,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send packets over every link of every path between two hosts, and say what each loses, and an upper
    bound of its delay: what a link probe took from the controller to the controller. Exits with 1 where
    packets were lost."""
    with errors():
        found, status = status_of(run)
        fabric = found.fabric()
        _, answer = request(run, "path.trace", src=src, dst=dst, packets=packets, timeout_s=60.0)
        paths = host_paths(fabric, src, dst, live_view(fabric, status["status"]))
        result: dict[str, Any] = {"src": src, "dst": dst}
        result["paths"] = measured_hops(fabric, paths, answer["hops"])
        emit(result, as_json, lambda console: render_trace(console, result))
        if any(hop["loss"] for path in result["paths"] for hop in path):
            raise typer.Exit(1)


@app.command()
def history(
    about: Annotated[
        str | None, typer.Argument(metavar="[LINK|SWITCH|HOST]", help="Only what concerns it; default: all.")
    ] = None,
    limit: Annotated[int, typer.Option("-n", min=1, max=1000, help="The last so many.")] = 20,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """What has become of paths, newest first: links and switches that went and came back since the controller
    started, and who drained what or changed weights and spray modes."""
    with errors():
        _, answer = request(run, "path.history", about=about, limit=limit)
        rows = answer["history"]
        emit(rows, as_json, lambda console: _render_history(console, rows))


def _render_history(console: Console, rows: list[dict[str, Any]]) -> None:
    if not rows:
        console.print("nothing has become of paths")
        return
    shown = table("", "when", "what", "who or why")
    for row in rows:
        told = (row["what"], row["who"] or row["why"])
        shown.add_row(known_at(row["time"]), *map(escape, told), style="red" if row["bad"] else "")
    console.print(shown)


PathsArgument = Annotated[
    list[int] | None, typer.Argument(metavar="[PATH]...", min=0, max=MAX_PATHS - 1, help="Path ids.")
]


@app.command()
def stats(
    host: Annotated[
        list[str] | None,
        typer.Argument(metavar="[HOST]...", help="Only these hosts, path by path; default: a row a host."),
    ] = None,
    nonzero: Annotated[bool, typer.Option("--nonzero", help="Leave out paths that sent nothing.")] = False,
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
        emit(result, as_json, lambda console: _render_stats(console, result, bool(host), nonzero))


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
            change_policy(run, {"denied_paths": []}, as_json, _render_denied)
            return
    _change_denied(paths, False, run, as_json)


def _change_denied(paths: list[int] | None, deny: bool, run: Path | None, as_json: bool) -> None:
    with errors():
        if deny and not paths:
            raise UnknownName("expected PATH..., such as 3 7")
        idle: list[int] = []

        def changed(policy: Policy) -> Patch:
            idle[:] = sorted({path for path in paths or () if (path in policy.denied_paths) == deny})
            return {"denied_paths": change_denied(policy.denied_paths, paths or (), deny)}

        def render(console: Console, policy: Policy) -> None:
            if idle:
                were = f"{'was' if len(idle) == 1 else 'were'} {'denied already' if deny else 'not denied'}"
                console.print(f"{', '.join(map(str, idle))} {were}")
            _render_denied(console, policy)

        change_policy(run, changed, as_json, render)


def _render_denied(console: Console, policy: Policy) -> None:
    console.print(f"denied: {', '.join(map(str, policy.denied_paths)) or 'none'}")


def _render_stats(console: Console, result: dict[str, Any], by_path: bool, nonzero: bool) -> None:
    if not result["hosts"]:
        console.print("no host has reported")
        return
    rows = table("", "host", "path#" if by_path else "paths#", "DATA#", "again#", "%#", "marked#", "%#", "")
    for host, paths in ((escape(name), those) for name, those in result["hosts"].items()):
        denied = [path for path in paths if int(path) in result["denied"]]
        if by_path:
            for path, found in paths.items():
                if found["tx"] or not nonzero:
                    rows.add_row(host, path, *_shares([found]), "denied" if path in denied else "")
        else:
            note = f"{len(denied)} denied" if denied else ""
            used = [found for found in paths.values() if found["tx"] or not nonzero]
            rows.add_row(host, str(len(used)), *_shares(used), note)
    if rows.row_count > 1:
        everything = [found for paths in result["hosts"].values() for found in paths.values()]
        rows.add_section()
        rows.add_row("all", "", *_shares(everything), style="bold")
    console.print(rows)


def _shares(paths: list[dict[str, int]]) -> list[str]:
    """Cells of these paths together: DATA, sent again, its share, marked, its share."""
    sent, again, marked = (sum(found[key] for found in paths) for key in ("tx", "lost", "ecn"))
    shares = (f"{100 * part / sent:.2f}" if sent else "-" for part in (again, marked))
    return [f"{sent:,}", f"{again:,}", next(shares), f"{marked:,}", next(shares)]


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
    console.print(
        f"[bold]{result['src']} -> {result['dst']}[/bold]: {paths_of(count)}, spray {result['spray']}"
    )
    for hops in result["paths"]:
        console.print(
            "  " + "  ".join(f"{hop['switch']}:{hop['port']} ->" for hop in hops) + f"  {result['dst']}"
        )
    if not count:
        console.print("  [red]unreachable[/red]")
    if "why" in result:
        render_why(console, result["src"], result["why"])

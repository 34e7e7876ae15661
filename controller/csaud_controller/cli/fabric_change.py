"""csaud fabric plan, apply: the running fabric becomes that of a file, while switches forward."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from csaud_controller.cli.common import JsonOption, RunOption, emit, errors, finish, table
from csaud_controller.cli.fabric_files import FileArgument
from csaud_controller.cli.noun import controller_of
from csaud_controller.inventory import load_fabric

EntriesOption = Annotated[bool, typer.Option("--entries", help="Each entry, not their numbers only.")]
RevisionOption = Annotated[
    int | None,
    typer.Option(
        "--revision",
        min=0,
        help="Only if this is still in force; `fabric plan --json` and `policy diff --json` tell which is.",
    ),
]


def plan(
    file: FileArgument, entries: EntriesOption = False, run: RunOption = None, as_json: JsonOption = False
) -> None:
    """What `apply` would change: switches, hosts and links, and the entries of each switch by table."""
    with errors():
        found = controller_of(run)
        answer = found.ask("fabric.plan", fabric=_wanted(file))
        result = {**answer["plan"], "revision": answer["revision"]}
        emit(result, as_json, lambda console: render_plan(console, result, entries))


def apply(
    file: FileArgument, revision: RevisionOption = None, run: RunOption = None, as_json: JsonOption = False
) -> None:
    """Make the running fabric that of the file: links and hosts come and go, and so do switches.

    A file with a mistake changes nothing. Switches that stay keep forwarding; a new link carries packets once
    a probe has passed it; a switch that goes keeps its tables. Returns when every switch holds the change.
    """
    with errors():
        found = controller_of(run)
        wanted = _wanted(file)
        before = found.ask("fabric.plan", fabric=wanted)
        based_on = before["revision"] if revision is None else revision
        answer = found.ask("fabric.apply", fabric=wanted, revision=based_on)
        result = {**before["plan"], "revision": answer["revision"]}
        finish(result, answer, as_json, lambda console: render_plan(console, result, False))


def _wanted(file: Path) -> dict[str, Any]:
    """The fabric of a file; the controller knows the addresses that it does not give."""
    return load_fabric(file).model_dump(mode="json", exclude_none=True)


def render_plan(console: Console, plan: dict[str, Any], entries: bool) -> None:
    """What is to change, for people."""
    told = False
    for key, those in plan.items():
        if isinstance(those, list) and those:
            told = True
            console.print(f"{key.replace('_', ' ')}: {', '.join(map(escape, those))}", soft_wrap=True)
    tables: dict[str, Any] = plan["tables"]
    if not tables:
        console.print("no switch would be written to" if told else "nothing would change")
        return
    rows = table("", "switch", "table", "insert#", "modify#", "delete#")
    for switch, changes in tables.items():
        names = sorted({name for verb in ("insert", "modify", "delete") for name in changes.get(verb, {})})
        for name in names:
            numbers = (str(changes.get(verb, {}).get(name, "")) for verb in ("insert", "modify", "delete"))
            rows.add_row(switch, name, *numbers)
    console.print(rows)
    if entries:
        for switch, changes in tables.items():
            for each in changes["entries"]:
                console.print(f"{switch}: {each}", markup=False, soft_wrap=True)

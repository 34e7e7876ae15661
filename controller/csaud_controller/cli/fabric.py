"""csaud fabric: the switches and links of a fabric, the running one and those in files."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from csaud_controller.cli import fabric_change, fabric_files, fabric_import
from csaud_controller.cli.common import JsonOption, RunOption, emit, errors, status_of, table
from csaud_controller.cli.noun import Noun

app = Noun(
    help="The switches and links of a fabric: the running one, and files.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(fabric_files.check)
app.command()(fabric_files.schema)
app.command()(fabric_change.plan)
app.command()(fabric_change.apply)
app.command(name="import")(fabric_import.import_)
app.command()(fabric_import.export)


@app.command()
def show(run: RunOption = None, as_json: JsonOption = False) -> None:
    """Switches, the pipeline they run, whether their tables are as they should be, and the state of every
    link."""
    with errors():
        _, answer = status_of(run)
        status = answer["status"]
        emit(status, as_json, lambda console: _render(console, status))


def _render(console: Console, status: dict[str, Any]) -> None:
    pipeline = status["pipeline"]
    console.print(
        f"[bold]{status['fabric']}[/bold] on {status['target']}, pipeline {pipeline['digest'][:16]}"
    )
    switches = table(
        "\nSwitches", "name", "session", "tables", "entries#", "repairs#", "programmed in#", "error"
    )
    for name, switch in status["switches"].items():
        session = "primary" if switch["primary"] else "backup" if switch["connected"] else "none"
        took = switch["programmed_s"]
        switches.add_row(
            name,
            session if session == "primary" else f"[red]{session}[/red]",
            "in sync" if switch["in_sync"] else "[yellow]not in sync[/yellow]",
            str(switch["held"]),
            str(switch["repairs"]),
            f"{took * 1000:.0f} ms" if took is not None else "",
            escape(switch["error"]),
        )
    console.print(switches)
    for name, switch in status["switches"].items():
        for told in switch["refused"]:
            console.print(f"[red]{name} refuses to[/red] {escape(told)}", soft_wrap=True)
        if (more := switch["refused_total"] - len(switch["refused"])) > 0:
            console.print(f"[red]{name} refuses {more} more[/red]")
    links = table("\nLinks", "from", "to", "state")
    for link in status["links"]:
        why = f"[yellow]{escape('; '.join(link['out']))}[/yellow]" if link["out"] else "up"
        links.add_row(link["a"], link["b"], why if link["up"] else "[red]down[/red]")
    console.print(links)
    for at, origin in status["miswired"].items():
        console.print(f"[red]{at} is wired to {escape(origin)}[/red], against the inventory")

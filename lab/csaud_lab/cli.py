"""csaud lab: from unpacked servers and switches to the first all-reduce (docs/lab.md)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from csaud_controller.cli.common import JsonOption, UnknownName, emit, errors, table
from rich.console import Console
from rich.markup import escape

from csaud_lab.checks.all import look
from csaud_lab.checks.finding import Finding, Level
from csaud_lab.inventory import inventory as make_inventory
from csaud_lab.rehearsal.kinds import DEVICES, TARGETS
from csaud_lab.site import Lab, load_site

if TYPE_CHECKING:
    from csaud_lab.acceptance import Acceptance

app = typer.Typer(
    help="From unpacked servers and switches to the first all-reduce.",
    no_args_is_help=True,
    add_completion=False,
)

FileOption = Annotated[Path, typer.Option("--lab", metavar="FILE", help="The lab's file.")]
_DEFAULT = Path("lab.yaml")
_STYLES: dict[Level, str] = {"ok": "green", "due": "yellow", "unknown": "yellow", "problem": "red"}


@app.command()
def check(
    lab: FileOption = _DEFAULT,
    everything: Annotated[bool, typer.Option("--all", help="What is as it should be, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look at files, hosts, switches and cables, and change nothing. Exit status 1 if there is a problem.

    What `csaud lab deploy` will do is `due`, and no problem; what cannot be seen yet is `unknown`.
    """
    with errors():
        found = look(load_site(lab))
        emit(
            {"findings": [asdict(each) for each in found]},
            as_json,
            lambda console: _print(console, found, everything),
        )
    if any(each.level == "problem" for each in found):
        raise typer.Exit(1)


def _print(console: Console, found: list[Finding], everything: bool) -> None:
    shown = table("", "where", "", "found")
    for each in found:
        if everything or each.level != "ok":
            style = _STYLES[each.level]
            shown.add_row(escape(each.where), f"[{style}]{each.level}[/{style}]", escape(each.what))
    if shown.row_count:
        shown.title = None
        console.print(shown)
    counts = Counter(each.level for each in found)
    console.print(", ".join(f"{counts[level]} {level}" for level in _STYLES))


@app.command()
def deploy(lab: FileOption = _DEFAULT, as_json: JsonOption = False) -> None:
    """Make hosts and switches what the files say: Ansible on hosts, the controller on switches.

    What is as it should be stays untouched, so it can be run again at any time, also after it was killed.
    Where something is wrong that it cannot mend, it changes nothing.
    """
    from csaud_lab.deployment import deploy as run  # Ansible's part is not what the other commands need

    with errors():
        counts = run(load_site(lab), (lambda line: None) if as_json else print)
        changed = sum(each["changed"] for each in counts.values())
        told = f"{len(counts)} machines, {changed or 'nothing'} changed"
        emit({"machines": counts}, as_json, lambda console: console.print(told))


OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the reports.")]
_OUT = Path("accept")


@app.command()
def accept(lab: FileOption = _DEFAULT, out: OutOption = _OUT, as_json: JsonOption = False) -> None:
    """Run all-reduces on all hosts, with losses on purpose, and account for every packet.

    Exit status 1 unless everything held. Policy and faults are as before afterwards.
    """
    from csaud_lab.acceptance import accept as run

    with errors():
        console = Console(highlight=False, stderr=as_json)
        found = run(load_site(lab), out, console)
        _tell_acceptance(found, out, as_json)


@app.command()
def report(out: OutOption = _OUT, as_json: JsonOption = False) -> None:
    """What the last acceptance found, again. Exit status 1 unless everything held."""
    from csaud_lab.acceptance import read, write

    with errors():
        found = read(out)
        write(found, out)
        _tell_acceptance(found, out, as_json)


def _tell_acceptance(found: Acceptance, out: Path, as_json: bool) -> None:
    def show(console: Console) -> None:
        shown = table("", "", "part", "sent#", "lost#", "sent again#", "all-reduce#", "checks")
        for part in found.parts:
            of = part.figures
            mark = "[green]ok[/green]" if part.passed else "[bold red]FAILED[/bold red]"
            held = f"not: {', '.join(part.failed)}" if part.failed else f"all {part.checks} held"
            counts = (f"{of[name]:,}" for name in ("sent", "lost", "retransmitted"))
            shown.add_row(mark, part.name, *counts, f"{of['all_reduce_p50_s'] * 1e3:.1f} ms", escape(held))
        console.print(shown)
        verdict = "[bold green]accepted[/bold green]" if found.passed else "[bold red]NOT ACCEPTED[/bold red]"
        where = f"{len(found.hosts)} hosts, device {found.device}, {found.started}"
        console.print(f"{verdict}: {escape(found.fabric)}, {where}", soft_wrap=True)
        console.print(f"report: {out / 'report.html'}", markup=False, soft_wrap=True)

    emit(found.model_dump(mode="json"), as_json, show)
    if not found.passed:
        raise typer.Exit(1)


@app.command()
def inventory(lab: FileOption = _DEFAULT) -> None:
    """Print Ansible's inventory of the lab (YAML), for playbooks of one's own."""
    with errors():
        sys.stdout.write(yaml.safe_dump(make_inventory(load_site(lab)), sort_keys=False))


@app.command()
def rehearse(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="Run this in the lab's folder instead, such as bash."),
    ] = None,
    topo: Annotated[
        str, typer.Option(help="Fabric by name or file; names of hosts and switches are its.")
    ] = "leaf-spine-2x2x1",
    target: Annotated[str, typer.Option(help="Switches: soft or bmv2 (simple_switch_grpc).")] = TARGETS[0],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The lab's folder; made anew.")] = Path(
        "build/lab-rehearsal"
    ),
    wheels: Annotated[Path, typer.Option(metavar="DIR", help="Wheels for hosts.")] = Path("build/lab-wheels"),
    device: Annotated[
        str,
        typer.Option(
            help="Of hosts: soft, or verbs, for which they are guests (qemu) with the kernel's Soft-RoCE."
        ),
    ] = DEVICES[0],
    guests: Annotated[Path, typer.Option(metavar="DIR", help="What guests are made of is kept here.")] = Path(
        "build/qemu"
    ),
    ipv6: Annotated[
        bool, typer.Option("--ipv6", help="Hosts have IPv6 addresses, too, and are accepted by those.")
    ] = False,
) -> None:
    """Go through it all inside this machine: the same commands and files, but for addresses. Needs root."""
    from csaud_lab.rehearsal.needs import in_namespaces

    with errors():
        for option, value, known in (("--target", target, TARGETS), ("--device", device, DEVICES)):
            if value not in known:
                raise UnknownName(f"{option}: expected {' or '.join(known)}, got {value}")
        words = ["--target", target, "--topo", topo, "--out", str(out), "--wheels", str(wheels)]
        words += ["--ipv6"] if ipv6 else []
        status = in_namespaces([*words, "--", *(command or [])], device, guests.absolute())
    if status != 0:
        raise typer.Exit(status)


@app.command()
def schema() -> None:
    """The JSON Schema of lab files, for editors: docs/lab.schema.json."""
    sys.stdout.write(lab_schema())


def lab_schema() -> str:
    """The JSON Schema of lab files."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps({"$schema": dialect, **Lab.model_json_schema()}, indent=2) + "\n"

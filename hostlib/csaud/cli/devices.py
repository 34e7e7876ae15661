"""`csaud device list` and `csaud doctor`; the modules that look are loaded only then."""

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from csaud.devices.interfaces import Interface

device = typer.Typer(no_args_is_help=True, help="The devices that carry packets.")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


@device.callback()
def _group() -> None:
    """Makes `list` a word of its own though it is the only command."""


@device.command("list")
def list_devices(as_json: AsJson = False) -> None:
    """Devices of each kind: state, path MTU, addresses (of RDMA devices: GIDs) and limits."""
    rows, problem = _rows()
    if as_json:
        typer.echo(json.dumps({"devices": rows, "verbs_problem": problem}, indent=2))
        return
    table = Table("kind", "device", "state", "path MTU", "addresses", "limits")
    for row in rows:
        gids = [f"{gid['address']} (GID {gid['index']})" for gid in row.get("gids", ()) if gid["usable"]]
        limits = ", ".join(f"{name} {value}" for name, value in row["limits"].items())
        where = "\n".join(gids or ([row["address"]] if row["address"] else []))
        table.add_row(row["kind"], row["name"], row["state"], str(row["mtu"] or "-"), where or "-", limits)
    console = Console()
    console.print(table)
    if problem:
        console.print(f"no verbs devices: {problem} (csaud doctor says what to do)", markup=False)


def doctor(as_json: AsJson = False) -> None:
    """What is there, what is missing and how to mend it; exit status 1 where no device works."""
    from csaud.config import reading
    from csaud.doctor.examine import examine, works

    findings = examine(reading.load({}, os.environ))
    if as_json:
        records = [dataclasses.asdict(finding) for finding in findings]
        typer.echo(json.dumps({"works": works(findings), "findings": records}, indent=2))
    else:
        for finding in findings:
            typer.echo(f"{finding.level:8}{finding.kind:6} {finding.what}: {finding.text}")
            if finding.mend:
                typer.echo(f"{'':15} -> {finding.mend}")
        if not works(findings):
            typer.echo("no device works", err=True)
    if not works(findings):
        raise typer.Exit(1)


def _modes(interface: "Interface") -> str:
    """The modes of the soft device that work at an interface, as the setting would be."""
    from csaud.devices.soft import xdp_refusal
    from csaud.doctor.soft import raw_refusal

    modes = ["udp"]
    if not raw_refusal():
        modes.append("raw")
    if interface.up and not interface.loopback and not xdp_refusal(interface.address):
        modes.append("xdp")
    return " ".join(modes)


def _rows() -> tuple[list[dict[str, Any]], str]:
    """Devices as records, and why there are no verbs devices among them ("": there are, or just none)."""
    from csaud.devices import rdma
    from csaud.devices.interfaces import find_interfaces
    from csaud.network.addresses import PACKET_OVERHEAD, largest_path_mtu

    rows: list[dict[str, Any]] = [
        {
            "kind": "soft",
            "name": found.name,
            "state": "up" if found.up else "down",
            "mtu": largest_path_mtu(found.mtu) if found.mtu >= 256 + PACKET_OVERHEAD else 0,
            "address": found.address,
            "limits": {"modes": _modes(found), "link MTU": found.mtu},
        }
        for found in find_interfaces()
    ]
    try:
        devices = rdma.find_devices()
    except rdma.NoVerbs as error:
        return rows, str(error)
    for one in devices:
        if one.error:
            record = {"name": one.name, "state": one.error, "mtu": 0, "address": "", "gids": [], "limits": {}}
            rows.append({"kind": "verbs", **record})
        for port in one.ports:
            gids = port.usable_gids
            rows.append(
                {
                    "kind": "verbs",
                    "name": f"{one.name}/{port.number}",
                    "state": "active" if port.active else "down",
                    "mtu": port.mtu,
                    "address": gids[0].address if gids else "",
                    "gids": [{**dataclasses.asdict(entry), "usable": entry.usable} for entry in port.gids],
                    "limits": one.limits,
                }
            )
    return rows, "" if devices else "this machine has none"

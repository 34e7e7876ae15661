"""`csaud switch shell NAME`: finds the switch, and opens p4runtime-shell on it as a backup controller."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from csaud_softswitch.fabric_file import FabricFileError, read_fabric_file
from csaud_softswitch.p4runtime.tls import ClientTls, TlsError
from csaud_softswitch.shell.environment import ShellError, ensure

RUNS = Path("/run/csaud")
"""Run directories lie here, one a running fabric."""

_PATIENCE_S = 10.0

RUN_ENVIRONMENT = "CSAUD_RUN"


@dataclass(frozen=True)
class Target:
    """A running switch, and how to reach it."""

    device_id: int
    address: str
    tls: ClientTls | None


def shell(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SWITCH",
            help="As the fabric names it, such as l1; or where one serves: host:port or unix:/path.",
        ),
    ],
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Directory of the running fabric; default: the one of this directory."),
    ] = None,
    execute: Annotated[
        str | None, typer.Option("-c", "--execute", help="Run this code instead of asking for input.")
    ] = None,
    device_id: Annotated[
        int | None, typer.Option(min=0, help="With an address: the switch's P4Runtime device id (default 0).")
    ] = None,
    tls_cacert: Annotated[
        Path | None, typer.Option(help="PEM file: who signed the switch's certificate.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM file: the certificate to show.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file: its key.")] = None,
    tls_server_name: Annotated[str | None, typer.Option(help="Name in the switch's certificate.")] = None,
) -> None:
    """Open p4runtime-shell on a running switch, to look at its tables, counters and groups.

    It is a backup controller without an election id, so the primary role stays with whoever has it, and what
    the shell writes is refused. On first use p4runtime-shell is installed into a virtual environment of its
    own ($CSAUD_SHELL_VENV, or in the user's cache folder).
    """
    given = ClientTls(tls_cacert, tls_cert, tls_key, tls_server_name or "")
    try:
        if ":" in name:
            target = at_address(name, run, device_id or 0)
        elif device_id is not None:
            raise ShellError(f"--device-id: the fabric has that of {name}; it goes with an address")
        else:
            target = find_target(name, run)
        tls = given if given != ClientTls() else target.tls
        if tls is not None:
            tls.check()
        python = ensure(lambda text: typer.echo(f"csaud switch shell: {text}", err=True))
    except (FabricFileError, ShellError, TlsError) as error:
        typer.echo(f"csaud switch shell: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(1) from None
    environment = dict(os.environ)
    if execute is not None:
        environment["CSAUD_SHELL_EXECUTE"] = execute
    if tls is not None and (tls.name or target.address.startswith("unix:")):
        environment["CSAUD_SHELL_TLS_NAME"] = tls.name or "localhost"
    command = [str(python), str(Path(__file__).with_name("inside.py")), *_arguments(target, tls)]
    raise typer.Exit(subprocess.run(command, env=environment, check=False).returncode)


def _arguments(target: Target, tls: ClientTls | None) -> list[str]:
    arguments = ["--grpc-addr", target.address, "--device-id", str(target.device_id)]
    if tls is not None:
        arguments.append("--ssl")
        for option, file in (("--cacert", tls.cacert), ("--cert", tls.cert), ("--private-key", tls.key)):
            if file is not None:
                arguments += [option, str(file)]
    return arguments


def at_address(address: str, run: Path | None, device_id: int) -> Target:
    """A switch that belongs to no run. ShellError: that is no address, or nobody listens there."""
    if run is not None:
        raise ShellError(f"--run: {address} is an address, which belongs to no run")
    host, _, port = address.rpartition(":")
    if not address.startswith("unix:") and not (host and port.isdecimal() and int(port) < 1 << 16):
        raise ShellError(f"{address}: expected host:port or unix:/path")
    if not (
        _listens(address.removeprefix("unix:")) if address.startswith("unix:") else _serves(host, int(port))
    ):
        raise ShellError(f"nobody listens at {address}")
    return Target(device_id, address, None)


def find_target(name: str, run: Path | None) -> Target:
    """The switch of a run. ShellError or FabricFileError says what there is instead."""
    directory = find_run(run)
    file = read_fabric_file(directory / "fabric.json")
    entry = file.switches.get(name)
    if entry is None:
        raise ShellError(f"{directory}: no switch {name!r}; there are {', '.join(sorted(file.switches))}")
    address = entry.address or f"unix:{directory / name}.sock"
    if address.startswith("unix:") and not _listens(address.removeprefix("unix:")):
        raise ShellError(f"switch {name} does not run: nobody listens at {address}")
    tls = (file.tls_client or ClientTls()) if entry.tls is not None else file.tls_client
    return Target(entry.device_id, address, tls)


def find_run(named: Path | None) -> Path:
    """The directory that was named, that of $CSAUD_RUN, or that of the fabric that runs and was started in
    this directory, or in the nearest one above it. ShellError: there are several, or only others."""
    if named is None and (text := os.environ.get(RUN_ENVIRONMENT)):
        named = Path(text)
    if named is not None:
        if not (named / "fabric.json").is_file():
            raise ShellError(f"{named} is not the directory of a run: it has no fabric.json")
        return named
    live = [
        file.parent
        for file in sorted(RUNS.glob("*/fabric.json"))
        if any(map(_listens, file.parent.glob("*.sock")))
    ]
    if not live:
        raise ShellError(f"no fabric runs: nothing live in {RUNS} (name the directory of a run by --run)")
    for directory in (Path.cwd(), *Path.cwd().parents):
        if here := [run for run in live if _started_in(run) == str(directory)]:
            break
    if len(here) == 1:
        return here[0]
    listed = ", ".join(f"{run} (of {_started_in(run) or 'no known directory'})" for run in here or live)
    said = f"{len(here)} fabrics of {directory} run" if here else f"no fabric of {Path.cwd()} runs"
    raise ShellError(f"{said}; there is {listed}; name one by --run")


def _started_in(run: Path) -> str:
    """The directory where `csaud net run` was called, as it has written it down; empty: by other means."""
    try:
        return str(json.loads((run / "options.json").read_text())["directory"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _serves(host: str, port: int) -> bool:
    try:
        socket.create_connection((host.strip("[]"), port), _PATIENCE_S).close()
    except OSError:
        return False
    return True


def _listens(path: str | Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True

"""`csaud switch shell NAME`: finds the switch, and opens p4runtime-shell on it as a backup controller."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from csaud_runs.directory import is_served
from csaud_runs.errors import RunError
from csaud_runs.find import find_run

from csaud_softswitch.fabric_file import FabricFileError, read_fabric_file
from csaud_softswitch.p4runtime.tls import ClientTls, TlsError
from csaud_softswitch.shell.environment import ShellError, ensure

_PATIENCE_S = 10.0


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
    except (FabricFileError, RunError, ShellError, TlsError) as error:
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
    path = Path(address.removeprefix("unix:"))
    if not (is_served(path) if address.startswith("unix:") else _serves(host, int(port))):
        raise ShellError(f"nobody listens at {address}")
    return Target(device_id, address, None)


def find_target(name: str, run: Path | None) -> Target:
    """The switch of a run. RunError, ShellError or FabricFileError says what there is instead."""
    found = find_run(run)
    directory, file = found.path, read_fabric_file(found.fabric_file)
    entry = file.switches.get(name)
    if entry is None:
        raise ShellError(f"{directory}: no switch {name!r}; there are {', '.join(sorted(file.switches))}")
    address = entry.address or f"unix:{found.switch_socket(name)}"
    if address.startswith("unix:") and not is_served(Path(address.removeprefix("unix:"))):
        raise ShellError(f"switch {name} does not run: nobody listens at {address}")
    tls = (file.tls_client or ClientTls()) if entry.tls is not None else file.tls_client
    return Target(entry.device_id, address, tls)


def _serves(host: str, port: int) -> bool:
    try:
        socket.create_connection((host.strip("[]"), port), _PATIENCE_S).close()
    except OSError:
        return False
    return True

"""`csaud switch`: run the embedded switch, one of it like simple_switch_grpc or a whole fabric in one
process.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from csaud_softswitch import _core
from csaud_softswitch.fabric_file import FabricFileError, LinkSpec, read_fabric_file
from csaud_softswitch.hosting import HostingError, SwitchHost, SwitchOptions, host_fabric
from csaud_softswitch.p4runtime.address import AddressError
from csaud_softswitch.p4runtime.personality import PERSONALITIES
from csaud_softswitch.p4runtime.tls import ServerTls, TlsError
from csaud_softswitch.process import run as run_process
from csaud_softswitch.process import set_up_logging
from csaud_softswitch.program_file import ProgramFileError, install
from csaud_softswitch.shell.command import shell

app = typer.Typer(help="The embedded P4 switch.", no_args_is_help=True, add_completion=False)

SWITCH_NAME = "switch"


class SimpleSwitchCommand(TyperCommand):
    """Takes simple_switch_grpc's habit of a `--` before the target's own options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [arg for arg in args if arg != "--"])


@dataclass(frozen=True)
class Interface:
    """PORT@IFNAME."""

    port: int
    name: str


def _interface(text: str) -> Interface:
    port, at, name = text.partition("@")
    if not at or not name or not port.isdecimal():
        raise typer.BadParameter(f"expected PORT@IFNAME such as 1@veth0, got {text!r}")
    return Interface(int(port), name)


@app.callback()
def _group() -> None:
    """The embedded P4 switch."""


@app.command(cls=SimpleSwitchCommand)
def run(
    program: Annotated[
        Path | None,
        typer.Argument(help="BMv2 JSON to start with; without it a controller brings the program."),
    ] = None,
    p4info: Annotated[
        Path | None, typer.Option(help="The P4Info of PROGRAM, so that P4Runtime works on it at once.")
    ] = None,
    no_p4: Annotated[bool, typer.Option("--no-p4", help="Start without a program.")] = False,
    device_id: Annotated[int, typer.Option(min=0, help="P4Runtime device id.")] = 0,
    interface: Annotated[
        list[Interface] | None,
        typer.Option(
            "-i", "--interface", parser=_interface, metavar="PORT@IFNAME", help="A port; repeat it."
        ),
    ] = None,
    grpc_server_addr: Annotated[
        str, typer.Option(help="Where P4Runtime listens: host:port or unix:/path.")
    ] = "127.0.0.1:9559",
    grpc_server_ssl: Annotated[
        bool, typer.Option("--grpc-server-ssl", help="Serve P4Runtime over TLS.")
    ] = False,
    grpc_server_cert: Annotated[Path | None, typer.Option(help="PEM file: the server's certificate.")] = None,
    grpc_server_key: Annotated[Path | None, typer.Option(help="PEM file: the certificate's key.")] = None,
    grpc_server_cacert: Annotated[
        Path | None, typer.Option(help="PEM file: who signed the clients' certificates.")
    ] = None,
    grpc_server_with_client_auth: Annotated[
        bool, typer.Option("--grpc-server-with-client-auth", help="Refuse clients without a certificate.")
    ] = False,
    cpu_port: Annotated[int, typer.Option(min=1, max=511, help="Port of packet-in and packet-out.")] = 510,
    drop_port: Annotated[int, typer.Option(min=1, max=511, help="Port that drops.")] = 511,
    priority_queues: Annotated[int, typer.Option(min=1, max=8, help="Queues of a port.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Of the programs' random numbers.")] = 0,
    personality: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Refuse what this server refuses: {', '.join(PERSONALITIES)}."),
    ] = None,
    fabric: Annotated[
        Path | None, typer.Option(help="Run all switches of this fabric.json instead of a single one.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="With --fabric: P4Runtime of each switch is on RUN_DIR/SWITCH.sock.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="Written when every server listens; removed at the end.")
    ] = None,
    figures_file: Annotated[
        Path | None, typer.Option(help="Counts of switches and ports: at the end and on SIGUSR1.")
    ] = None,
    log_file: Annotated[Path | None, typer.Option(help="Log here instead of to standard error.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Run one switch with arguments like simple_switch_grpc's, or a fabric of them in one process."""
    if log_level not in ("debug", "info", "warning", "error"):
        _fail(f"--log-level: expected debug, info, warning or error, got {log_level!r}")
    if no_p4 and program is not None:
        _fail(f"--no-p4 and the program {program} exclude each other")
    if p4info is not None and program is None:
        _fail("--p4info needs the program's JSON")
    if personality is not None and personality not in PERSONALITIES:
        _fail(f"--personality: expected {', '.join(PERSONALITIES)}, got {personality!r}")
    adopted = None if personality is None else PERSONALITIES[personality]
    options = SwitchOptions(cpu_port, drop_port, priority_queues, seed, adopted)
    try:
        set_up_logging(log_level, log_file)
        if fabric is not None:
            if interface or run_dir is None:
                _fail("--fabric needs --run-dir, and takes its interfaces from the file")
            if grpc_server_ssl:
                _fail("--grpc-server-ssl: with --fabric, the file's keys `tls` say so")
            host = host_fabric(read_fabric_file(fabric), run_dir, options)
            ready_file = ready_file or run_dir / "softswitch.ready"
            figures_file = figures_file or run_dir / "softswitch.figures.json"
        else:
            host = _single(device_id, interface or [], grpc_server_addr, options)
            if grpc_server_ssl:
                if grpc_server_cert is None or grpc_server_key is None:
                    _fail("--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key")
                host.tls[SWITCH_NAME] = ServerTls(
                    grpc_server_cert, grpc_server_key, grpc_server_cacert, grpc_server_with_client_auth
                )
            elif grpc_server_cert or grpc_server_key or grpc_server_cacert or grpc_server_with_client_auth:
                _fail("certificates are of no use without --grpc-server-ssl")
        for device in host.devices.values():
            if program is not None:
                install(device, program, p4info)
        run_process(host, ready_file=ready_file, figures_file=figures_file)
    except (FabricFileError, HostingError, AddressError, ProgramFileError, TlsError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'switch'}: {error.strerror}")


app.command()(shell)


def _single(device_id: int, interfaces: list[Interface], address: str, options: SwitchOptions) -> SwitchHost:
    host = SwitchHost(_core.Fabric(seed=options.seed))
    host.add_switch(SWITCH_NAME, device_id, options, [address])
    for item in interfaces:
        host.add_interface(SWITCH_NAME, item.port, item.name, LinkSpec())
    return host


def _fail(message: str) -> NoReturn:
    typer.echo(f"csaud switch: {' '.join(message.split())}", err=True)
    raise typer.Exit(1)

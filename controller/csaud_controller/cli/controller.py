"""csaud controller: the process that programs the switches."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import nullcontext
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any

import typer
from csaud_runs.directory import is_served
from csaud_runs.etcd import Etcd, TlsFiles, parse_place
from pydantic import ValidationError
from typer.core import TyperCommand

from csaud_controller.base.units import parse_duration
from csaud_controller.base.yamlfile import load_model
from csaud_controller.cli.common import (
    JsonOption,
    RunOption,
    TargetOption,
    UnknownName,
    emit,
    errors,
    given,
    named_target,
    request,
)
from csaud_controller.cli.first_fabric import kept, run_and_fabric
from csaud_controller.cli.logs import LogFormat, LogOption, start_log
from csaud_controller.cli.noun import Noun, controller_of
from csaud_controller.control.client import ControlError, ask, not_programmed, wait_programmed
from csaud_controller.control.here import Here
from csaud_controller.control.peers import UnknownGroupError, group_id
from csaud_controller.desired.shared import SharedStore
from csaud_controller.inventory import ClientTls, Fabric
from csaud_controller.policy.ending import begun
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.file import PolicyFile
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import SprayMode
from csaud_controller.run.directory import RunDir, find_run

app = Noun(help="The process that programs the switches.", no_args_is_help=True, add_completion=False)


def _interval(option: str, text: str) -> float:
    """Seconds."""
    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise UnknownName(f"{option}: {error}") from None


@app.command(cls=TyperCommand)
def run(
    run: RunOption = None,
    fabric: Annotated[
        Path | None, typer.Option(help="Inventory of a run that has none yet; else it has to be the run's.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="YAML file with the policy to begin with.")] = None,
    spray: Annotated[SprayMode | None, typer.Option(help="Spray mode to begin with.")] = None,
    loss: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Probability of loss at the uplinks to begin with.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Seed of policy and loss.")] = None,
    target: TargetOption = "soft",
    program: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The compiled program instead of the one that comes along."),
    ] = None,
    tls_cacert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who signed the switches' certificates.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for switches that ask for one.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")] = None,
    tls_server_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name in the switches' certificates.")
    ] = None,
    probe_interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Between link probes; 0s: links are taken to be up.")
    ] = "150ms",
    audit_interval: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Between readings of unchanged tables, or longer: a tenth of a processor at most.",
        ),
    ] = "3s",
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Take switches from a controller of another run directory."),
    ] = False,
    reports: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Take path reports of hosts here, beside controller.sock."),
    ] = None,
    reports_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NETWORK",
            help="Take them from there, too, such as 192.168.1.0/24; else: fabric's hosts only.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="etcd://HOST:PORT,...",
            help="What is asked for is kept there: of several controllers one is primary, others stand by.",
        ),
    ] = None,
    store_cacert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who signed the store's certificate; without: no TLS."),
    ] = None,
    store_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for a store that asks for one.")
    ] = None,
    store_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this controller among several; default: HOST:DIR.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its members may use controller.sock, beside its user and root."),
    ] = None,
    log_format: LogOption = LogFormat.TEXT,
) -> None:
    """Program the switches of a run, and keep them programmed until SIGTERM or `csaud controller stop`.

    Options that say what to begin with replace what an earlier controller of this run left in desired.json;
    those about TLS replace the fabric file's `tls_client`.
    """
    from csaud_controller.control.daemon import serve  # what the other commands need is a tenth of it

    start_log(log_format)
    with errors():
        found, inventory, is_new = run_and_fabric(run, fabric)
        tls = given(cacert=tls_cacert, cert=tls_cert, key=tls_key, server_name=tls_server_name)
        if tls:
            inventory = inventory.model_copy(update={"tls_client": _client_tls(tls)})
        chosen = named_target(target)
        serving = partial(
            serve,
            found,
            inventory,
            chosen,
            intent=_intent(policy, spray, loss, seed),
            program=program,
            probe_interval_s=_interval("--probe-interval", probe_interval),
            audit_s=_interval("--audit-interval", audit_interval),
            take_over=take_over,
            socket_group=_group(group),
            report_networks=tuple(map(_network, reports_from or ())),
            reports=None if reports is None else _endpoint(reports),
            shared=_store(found, inventory, store, (store_cacert, store_cert, store_key), name),
        )
        with kept(found, inventory) if is_new else nullcontext():
            asyncio.run(_serve(serving()))


def _store(
    run: RunDir,
    fabric: Fabric,
    place: str | None,
    tls: tuple[Path | None, Path | None, Path | None],
    name: str | None,
) -> SharedStore | None:
    cacert, cert, key = tls
    if (cert is None) != (key is None) or (cert is not None and cacert is None):
        raise UnknownName("--store-cert, --store-key and --store-cacert belong together: give all")
    if place is None:
        if cacert is not None or name is not None:
            raise UnknownName("--store-cacert and --name are of controllers with a --store")
        return None
    try:
        found = parse_place(place, f"csaud/{fabric.name}")
    except ValueError as error:
        raise UnknownName(f"--store: {error}") from None
    etcd = Etcd(found, None if cacert is None else TlsFiles(cacert, cert, key).context)
    return SharedStore(etcd, found.prefix, name or f"{socket.gethostname()}:{run.path}")


def _group(name: str | None) -> int | None:
    try:
        return None if name is None else group_id(name)
    except UnknownGroupError as error:
        raise UnknownName(f"--group: {error}") from None


def _network(text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise UnknownName(f"--reports-from: expected a network such as 192.168.1.0/24: {error}") from None


def _endpoint(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UnknownName(f"--reports: expected HOST:PORT such as 10.0.0.1:9600, got {text!r}")
    return host.strip("[]"), int(port)


def _client_tls(options: dict[str, Any]) -> ClientTls:
    try:
        return ClientTls(**options)
    except ValidationError:
        raise UnknownName("--tls-cert and --tls-key belong together: give both") from None


async def _serve(serving: Any) -> None:
    """Unwraps the one error that a task group was ended by.

    Not `except*`: Python before 3.11.4 wraps what is raised inside it into a group again.
    """
    try:
        await serving
    except ExceptionGroup as group:
        known, others = group.split((ControlError, OSError))
        if known is None or others is not None:
            raise
        raise _first(known) from None


def _first(group: ExceptionGroup[Exception]) -> Exception:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner


def _intent(policy: Path | None, spray: str | None, loss: float | None, seed: int | None) -> Intent | None:
    if policy is None and spray is None and loss is None and seed is None:
        return None
    file = load_model(policy, PolicyFile) if policy is not None else PolicyFile()
    now = time.time()
    chosen, until = file.policy, file.ends_at(now)
    changes = {key: value for key, value in (("spray", spray), ("seed", seed)) if value is not None}
    faults = Faults()
    if loss:
        faults = faults.with_rule(FaultRule(probability=loss, seed=chosen.seed if seed is None else seed))
    made = Policy.model_validate({**chosen.model_dump(), **changes})
    try:
        ending = None if until is None else begun(Policy(), None, until, now, lasts=file.lasts is not None)
    except ValueError as error:
        raise UnknownName(f"{policy}: {error}") from None
    return Intent(policy=made, faults=faults, ending=ending)


@app.command()
def status(run: RunOption = None, as_json: JsonOption = False) -> None:
    """Whether a controller runs, and whether it has every switch in hand."""
    with errors():
        found, answer = request(run, "status")
        if "status" not in answer:
            standing_by = {"run": found.where, "pid": answer["pid"], "primary": answer["primary"]}
            primary = answer["primary"] or "none"
            text = f"controller {answer['pid']} of {found.where} stands by; {primary} is primary"
            emit(standing_by, as_json, lambda console: console.print(text, soft_wrap=True, markup=False))
            return
        switches = answer["status"]["switches"]
        waiting = [name for name, switch in switches.items() if not switch["in_sync"]]
        refused = {name: switch["refused"] for name, switch in switches.items() if switch["refused"]}
        result = {
            "run": found.where,
            "pid": answer["pid"],
            "generation": answer["status"]["generation"],
            "switches": len(switches),
            "not_in_sync": waiting,
            "refused": refused,
        }
        text = "all tables in sync" if not waiting else f"not in sync: {', '.join(waiting)}"
        lines = [f"controller {answer['pid']} of {found.where}: {len(switches)} switches, {text}"]
        lines += [f"{name} refuses to {told}" for name, those in refused.items() for told in those]
        emit(result, as_json, lambda console: console.print("\n".join(lines), soft_wrap=True, markup=False))


@app.command()
def wait(
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="Give up after this long.")] = "30s",
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Wait until a controller runs and every switch holds its tables; with --json it says of which run."""
    with errors():
        found, seconds = controller_of(run), _interval("--timeout", timeout)
        if isinstance(found, Here):
            wait_programmed(found.run.control_socket, seconds)
        elif pending := found.ask("wait", timeout_s=seconds)["pending"]:
            raise not_programmed(pending, seconds)
        emit({"run": found.where, "in_sync": True}, as_json, lambda console: None)


@app.command(cls=TyperCommand)
def stop(run: RunOption = None, as_json: JsonOption = False) -> None:
    """End the controller; the switches keep their tables."""
    with errors():
        found = find_run(run)
        answer = ask(found.control_socket, "stop")
        deadline = time.monotonic() + 10
        while is_served(found.control_socket):
            if time.monotonic() > deadline:
                raise ControlError(f"controller {answer['pid']} still runs after 10 s")
            time.sleep(0.05)
        emit(
            {"pid": answer["pid"]},
            as_json,
            lambda console: console.print(f"controller {answer['pid']} stopped"),
        )

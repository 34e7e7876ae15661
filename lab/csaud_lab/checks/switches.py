"""Whether switches answer at their P4Runtime addresses, and whether a controller has them in hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from csaud_controller.control.client import ControlError, ask
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.errors import TlsError
from csaud_controller.switches.tls import in_words, open_channel
from csaud_runs.directory import is_served
from finsy.proto import p4r, p4r_grpc

from csaud_lab.checks.finding import Finding
from csaud_lab.site import Site

_WITHIN_S = 10.0


def answering(site: Site) -> list[Finding]:
    """One finding a switch: what its P4Runtime server says of itself."""
    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(lambda name: _answering(site, name), site.fabric.switches))


def _answering(site: Site, name: str) -> Finding:
    untyped: Any = grpc  # grpcio ships without annotations
    address = site.fabric.switches[name].p4runtime or ""
    try:
        with open_channel(site.fabric, name, address) as channel:
            stub = p4r_grpc.P4RuntimeStub(channel)
            told = stub.Capabilities(p4r.CapabilitiesRequest(), timeout=_WITHIN_S)
    except TlsError as error:
        return Finding("problem", name, str(error))
    except untyped.RpcError as error:
        why = in_words(site.fabric, name, _reason(error))
        return Finding("problem", name, f"P4Runtime at {address}: {why}")
    return Finding("ok", name, f"P4Runtime {told.p4runtime_api_version} at {address}")


def _reason(error: Any) -> str:
    code, details = error.code().name, (error.details() or "").strip().splitlines()
    return f"{code}: {details[0]}" if details else str(code)


def controller_status(site: Site) -> dict[str, Any] | None:
    """What the lab's controller says; None where none runs. ControlError: it does not answer."""
    socket = RunDir(site.run).control_socket
    if not is_served(socket):
        return None
    status: dict[str, Any] = ask(socket, "status")["status"]
    return status


def held(site: Site) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The controller's status, and whether every switch holds its tables."""
    try:
        status = controller_status(site)
    except ControlError as error:
        return None, [Finding("problem", "controller", str(error))]
    if status is None:
        return None, [Finding("due", "controller", f"none runs in {site.run}")]
    return status, list(_held(status))


def _held(status: Mapping[str, Any]) -> Iterator[Finding]:
    for name, switch in status["switches"].items():
        if switch["error"]:
            yield Finding("problem", name, f"controller: {switch['error']}")
        elif not switch["in_sync"]:
            yield Finding("problem", name, "does not hold its tables yet")
        elif switch["refused"]:
            yield Finding("problem", name, f"refuses to {switch['refused'][0]}")
        else:
            yield Finding("ok", name, "holds its tables")

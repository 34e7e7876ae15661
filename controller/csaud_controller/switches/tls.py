"""Channels to switches: plain, or TLS as the fabric file says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import finsy as fy
import grpc

from csaud_controller.inventory import ClientTls, Fabric
from csaud_controller.switches.errors import TlsError

_LOCAL = "localhost"
"""The name that gRPC itself asks for at a unix socket."""


def credentials(fabric: Fabric, switch: str) -> fy.GRPCCredentialsTLS | None:
    """How to reach a switch over TLS: with the fabric's `tls_client`; None for a switch without `tls`.

    TlsError when a file cannot be read, or is of no use.
    """
    spec = fabric.switches[switch]
    if spec.tls is None and fabric.tls is None and fabric.tls_client is None:
        return None
    client = fabric.tls_client or ClientTls()
    cacert, cert, key = (_read(each, getattr(client, each)) for each in ("cacert", "cert", "key"))
    _check(client, cacert, cert, key)
    return fy.GRPCCredentialsTLS(
        cacert=cacert,
        cert=cert,
        private_key=key,
        target_name_override=client.server_name or (_LOCAL if _is_unix(fabric, switch) else ""),
    )


def _is_unix(fabric: Fabric, switch: str) -> bool:
    return (fabric.switches[switch].p4runtime or "").startswith("unix:")


def open_channel(fabric: Fabric, switch: str, address: str) -> Any:
    """A gRPC channel (not asyncio's) to a switch; whoever opens it closes it."""
    untyped: Any = grpc  # grpcio ships without annotations
    found = credentials(fabric, switch)
    if found is None:
        return untyped.insecure_channel(address)
    options = [("grpc.ssl_target_name_override", found.target_name_override)]
    return untyped.secure_channel(
        address,
        found.to_client_credentials(),
        options=options if found.target_name_override else None,
    )


def in_words(fabric: Fabric, switch: str, said: str) -> str:
    """What gRPC says of a switch that cannot be reached; where that is for a certificate, which one."""
    spec = fabric.switches[switch]
    server, client = spec.tls or fabric.tls, fabric.tls_client or ClientTls()
    if server is None and fabric.tls_client is None:
        return said
    its = f"its certificate ({server.cert})" if server is not None else "its certificate"
    if found := _UNVERIFIED.search(said):
        if "expired" in found[1] or "not yet valid" in found[1]:
            return f"{its} is out of date: {found[1]}"
        by = f"tls_client.cacert: {client.cacert}" if client.cacert else "an authority that is known here"
        return f"{its} is not signed by {by}: {found[1]}"
    if "Hostname Verification" in said:
        name = client.server_name or (_LOCAL if _is_unix(fabric, switch) else "the host of its address")
        return f"{its} is not that of {name} (tls_client.server_name)"
    if "WRONG_VERSION_NUMBER" in said:
        return "it does not speak TLS, as the fabric says that it does"
    if _CLOSED.search(said):
        return f"it closed the connection, {_likely(client)}"
    return said


def _likely(client: ClientTls) -> str:
    """Why a switch did not go on with a client: it tells nobody."""
    from csaud_controller.switches.certificates import certificate_mistake, out_of_date

    if client.cert is None:
        return "as one does that asks for a certificate: there is no tls_client.cert"
    shown = f"tls_client.cert: {client.cert}"
    try:
        pem = _read("cert", client.cert) or b""
    except TlsError as error:
        return f"and {error}"
    old = "" if certificate_mistake(pem) else out_of_date(pem)
    return f"and {shown} {old}" if old else f"as one does that does not trust who signed {shown}"


_UNVERIFIED = re.compile(r"CERTIFICATE_VERIFY_FAILED: (.+?)(?:: OK)?\s*$")
_CLOSED = re.compile(r"Socket closed|Broken pipe|Connection reset|CERTIFICATE_REQUIRED|_ALERT_")


def _check(client: ClientTls, cacert: bytes | None, cert: bytes | None, key: bytes | None) -> None:
    from csaud_controller.switches.certificates import mistakes

    for name, mistake in mistakes(cacert, cert, key):
        of = f" {client.cert}" if mistake.endswith("of the certificate") else ""
        raise TlsError(f"tls_client.{name}: {getattr(client, name)} {mistake}{of}")


def _read(key: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"tls_client.{key}: {path}: {error.strerror}") from None

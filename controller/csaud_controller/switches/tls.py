"""Channels to switches: plain, or TLS as the fabric file says."""

from __future__ import annotations

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

    TlsError when a file cannot be read.
    """
    spec = fabric.switches[switch]
    if spec.tls is None and fabric.tls is None and fabric.tls_client is None:
        return None
    client = fabric.tls_client or ClientTls()
    is_unix = (spec.p4runtime or "").startswith("unix:")
    return fy.GRPCCredentialsTLS(
        cacert=_read("cacert", client.cacert),
        cert=_read("cert", client.cert),
        private_key=_read("key", client.key),
        target_name_override=client.server_name or (_LOCAL if is_unix else ""),
    )


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


def _read(key: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"tls_client.{key}: {path}: {error.strerror}") from None

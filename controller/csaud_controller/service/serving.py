"""Serves the application with uvicorn; over TLS where there is a certificate, which may be replaced."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from csaud_controller.base.why import why
from csaud_controller.service.gate import CERTIFICATE

LOG = logging.getLogger("csaud.service")
_LOOK_S = 1.0
_LAST_ANSWERS_S = 2
"""An open event stream would keep the server from ending."""


class ListenError(RuntimeError):
    """The service cannot listen as it was told to; the text says why."""


@dataclass(frozen=True)
class Tls:
    """Files of PEM: certificate and key of the server; `client_ca`: clients need a certificate that one of
    these authorities signed."""

    cert: Path
    key: Path
    client_ca: Path | None = None

    def load_into(self, context: ssl.SSLContext) -> None:
        """What is there by now; ListenError."""
        try:
            context.load_cert_chain(self.cert, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            raise ListenError(f"{self.cert}, {self.key}: {why(error)}") from None

    def context(self) -> ssl.SSLContext:
        """ListenError: a file cannot be used."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        self.load_into(made)
        if self.client_ca is not None:
            try:
                made.load_verify_locations(self.client_ca)
            except (OSError, ssl.SSLError) as error:
                raise ListenError(f"{self.client_ca}: {why(error)}") from None
            made.verify_mode = ssl.CERT_REQUIRED
        return made

    def version(self) -> tuple[int, ...]:
        """Differs when a file was replaced; of one that is away meanwhile, too."""
        found = []
        for path in (self.cert, self.key):
            with contextlib.suppress(OSError):
                found.append(path.stat().st_mtime_ns)
        return tuple(found)


def _no_password() -> str:
    """Rather an error than a prompt, at which everybody would wait when files are replaced."""
    raise ValueError("the key has a password")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it; ListenError: no address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        raise ListenError(
            f"--listen: expected an address and a port such as 127.0.0.1:8443, got {host!r}"
        ) from None


async def serve(app: ASGIApp, host: str, port: int, tls: Tls | None) -> None:
    """Until SIGTERM or SIGINT; ListenError."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
        http=_Connection,
    )
    config.load()
    if tls is not None:
        config.ssl = tls.context()
    server = _Server(config)
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends by them, then raises them once more
        signal.signal(number, lambda *_: None)
    renewing = asyncio.create_task(_renew(config.ssl, tls)) if tls is not None and config.ssl else None
    try:
        await server.serve()
    except SystemExit:  # uvicorn's way to say that it cannot listen; it has logged why
        raise ListenError(f"--listen: cannot listen at {host}:{port}: see above") from None
    finally:
        if renewing is not None:
            renewing.cancel()


class _Connection(H11Protocol):
    """Of a client with a certificate, its requests have the common name, too (`gate.CERTIFICATE`)."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        found = transport.get_extra_info("ssl_object")
        if found is None or not (name := _common_name(found.getpeercert() or {})):
            return
        app = self.app

        async def named(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, CERTIFICATE: name}, receive, send)

        self.app = named


def _common_name(certificate: dict[str, Any]) -> str:
    """Of the certificate's subject; empty: it has none."""
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return names[0] if names else ""


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in self.servers:
            for sock in each.sockets:
                host, port = sock.getsockname()[:2]
                name = f"[{host}]" if ":" in host else host
            LOG.info("listening at %s://%s:%d", "https" if self.config.ssl else "http", name, port)


async def _renew(context: ssl.SSLContext, tls: Tls) -> None:
    """Take new files as they come; connections that are open keep what they have."""
    taken = told = tls.version()
    while True:
        await asyncio.sleep(_LOOK_S)
        if (there := tls.version()) != taken:
            try:
                tls.context()  # what does not fit must not reach the one in use
                tls.load_into(context)
            except ListenError as error:
                if there != told:
                    LOG.warning("the certificate stays as it was: %s", error)  # until both files fit
                told = there
                continue
            taken = there
            LOG.info("%s: taken", tls.cert)

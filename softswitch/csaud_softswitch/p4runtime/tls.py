"""TLS for a P4Runtime port: the files, with the names that simple_switch_grpc gives their options."""

from __future__ import annotations

import contextlib
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

_Contents = tuple[bytes, bytes, bytes | None]
"""Key, certificate, authorities."""


class TlsError(Exception):
    """A certificate or key cannot be used; the message names the file and the reason."""


@dataclass(frozen=True)
class ServerTls:
    """PEM files. cacert: what clients' certificates are checked against; client_auth: they must have one."""

    cert: Path
    key: Path
    cacert: Path | None = None
    client_auth: bool = False

    def credentials(self) -> grpc.ServerCredentials:
        """TlsError when a file is missing or does not fit the others.

        Files are read again at each handshake: what replaces them is used from then on. While they do not fit
        together, as when one of two files is new, what was there before is used.
        """
        if self.client_auth and self.cacert is None:
            raise TlsError("TLS with client certificates needs the CA certificate that they are checked with")
        check_files(self.cert, self.key, self.cacert)
        untyped: Any = grpc  # grpcio ships without annotations
        held = self._contents()

        def configuration(contents: _Contents) -> Any:
            key, cert, cacert = contents
            return untyped.ssl_server_certificate_configuration([(key, cert)], root_certificates=cacert)

        def newest() -> Any:
            nonlocal held
            with contextlib.suppress(OSError, TlsError):
                if (found := self._contents()) != held:
                    check_files(self.cert, self.key, self.cacert)
                    held = found
                    return configuration(found)
            return None

        made: grpc.ServerCredentials = untyped.dynamic_ssl_server_credentials(
            configuration(held), newest, require_client_authentication=self.client_auth
        )
        return made

    def _contents(self) -> _Contents:
        return (
            self.key.read_bytes(),
            self.cert.read_bytes(),
            None if self.cacert is None else self.cacert.read_bytes(),
        )


@dataclass(frozen=True)
class ClientTls:
    """PEM files of a client; without cacert, the system's certificates are trusted. name: what the server's
    certificate is issued to, where that is not its address.
    """

    cacert: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    name: str = ""

    def check(self) -> None:
        """TlsError when a file is missing or does not fit the others."""
        if (self.cert is None) != (self.key is None):
            raise TlsError("a client's certificate and its key go together: one of them is missing")
        check_files(self.cert, self.key, self.cacert)


def check_files(cert: Path | None, key: Path | None, cacert: Path | None) -> None:
    """gRPC itself says of a bad file no more than that the handshake failed."""
    for path in (cert, key, cacert):
        try:
            if path is not None:
                path.read_bytes()
        except OSError as error:
            raise TlsError(f"{path}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if cert is not None and key is not None:
        try:
            context.load_cert_chain(cert, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise TlsError(f"{cert}, {key}: not a certificate and its key in PEM format: {error}") from error
    if cacert is not None:
        try:
            context.load_verify_locations(cacert)
        except ssl.SSLError as error:
            raise TlsError(f"{cacert}: not a certificate in PEM format: {error}") from error


def _no_password() -> str:
    """Rather an error than a prompt that nobody answers."""
    raise ValueError("the key has a password")

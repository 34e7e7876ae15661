"""TLS for a P4Runtime port: the files, with the names that simple_switch_grpc gives their options."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator
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
        untyped: Any = grpc  # grpcio ships without annotations
        held = self._contents()
        self._check(held)

        def configuration(contents: _Contents) -> Any:
            key, cert, cacert = contents
            return untyped.ssl_server_certificate_configuration([(key, cert)], root_certificates=cacert)

        def newest() -> Any:
            nonlocal held
            with contextlib.suppress(TlsError):
                if (found := self._contents()) != held:
                    self._check(found)
                    held = found
                    return configuration(found)
            return None

        made: grpc.ServerCredentials = untyped.dynamic_ssl_server_credentials(
            configuration(held), newest, require_client_authentication=self.client_auth
        )
        return made

    def _contents(self) -> _Contents:
        return _read(self.key), _read(self.cert), None if self.cacert is None else _read(self.cacert)

    def _check(self, contents: _Contents) -> None:
        """What was read, not what the files hold by now."""
        key, cert, cacert = contents
        _check_pair((self.cert, cert), (self.key, key))
        if self.cacert is not None and cacert is not None:
            _check_authorities(self.cacert, cacert)


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
        if self.cert is not None and self.key is not None:
            _check_pair((self.cert, _read(self.cert)), (self.key, _read(self.key)))
        if self.cacert is not None:
            _check_authorities(self.cacert, _read(self.cacert))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"{path}: {error.strerror}") from error


# gRPC itself says of a bad file no more than that the handshake failed.


def _check_pair(cert: tuple[Path, bytes], key: tuple[Path, bytes]) -> None:
    """Files and what was read from them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        with _as_file(cert[1]) as cert_file, _as_file(key[1]) as key_file:
            context.load_cert_chain(cert_file, key_file, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(
            f"{cert[0]}, {key[0]}: not a certificate and its key in PEM format: {error}"
        ) from error


def _check_authorities(path: Path, content: bytes) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        with _as_file(content) as file:
            context.load_verify_locations(file)
    except ssl.SSLError as error:
        raise TlsError(f"{path}: not a certificate in PEM format: {error}") from error


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """The ssl module takes files alone; this one is on no disk, where a key should not be once more."""
    descriptor = os.memfd_create("csaud-tls", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(content)
        yield f"/proc/self/fd/{descriptor}"


def _no_password() -> str:
    """Rather an error than a prompt that nobody answers."""
    raise ValueError("the key has a password")

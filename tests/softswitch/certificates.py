"""Certificates for tests, made by the openssl command: an authority, a server's and a client's."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

DAYS = "2"


@dataclass(frozen=True)
class Certificates:
    cacert: Path
    cert: Path
    key: Path
    client_cert: Path
    client_key: Path


def make(folder: Path) -> Certificates:
    """The server's is issued to localhost and 127.0.0.1."""
    ca, ca_key = folder / "ca.pem", folder / "ca.key"
    _openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", DAYS,
        "-subj", "/CN=test authority", "-keyout", ca_key, "-out", ca,
    )  # fmt: skip
    made = Certificates(
        ca, folder / "server.pem", folder / "server.key", folder / "client.pem", folder / "client.key"
    )
    _issue(folder, ca, ca_key, made.cert, made.key, "subjectAltName=DNS:localhost,IP:127.0.0.1")
    _issue(folder, ca, ca_key, made.client_cert, made.client_key, "subjectAltName=DNS:controller")
    return made


def _issue(folder: Path, ca: Path, ca_key: Path, cert: Path, key: Path, extension: str) -> None:
    request, extensions = folder / "request.pem", folder / "extensions.txt"
    extensions.write_text(extension + "\n")
    _openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={cert.stem}",
        "-keyout", key, "-out", request,
    )  # fmt: skip
    _openssl(
        "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", DAYS,
        "-extfile", extensions, "-out", cert,
    )  # fmt: skip


def _openssl(*arguments: object) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""The job's secret, and what ranks make of it to know each other by."""

import dataclasses
import functools
import hashlib
import logging
import os
import ssl
import stat
from pathlib import Path

from csaud.config.settings import Settings
from csaud.errors import ConfigError

log = logging.getLogger(__name__)

_LEAST = 16  # characters; who reaches rank 0 can try guesses at leisure, see docs/security.md
_SALT = b"csaud job secret, 1"


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """TLS contexts for either end of a connection: each shows, and asks for, the one certificate whose key
    follows from the secret."""

    client: ssl.SSLContext
    server: ssl.SSLContext


def credentials(settings: Settings) -> Credentials | None:
    """Those of the job, None where it has no secret.

    Raises:
        ConfigError: the secret is too short, given twice, or its file cannot be read.
    """
    if settings.secret and settings.secret_file:
        raise ConfigError("secret and secret_file are both set: one of them is enough")
    source = "secret_file" if settings.secret_file else "secret"
    secret = _read(settings.secret_file) if settings.secret_file else settings.secret
    if not secret and source == "secret":
        return None
    if len(secret) < _LEAST:
        raise ConfigError(
            f"{source}: a secret of {len(secret)} characters; expected {_LEAST} or more, "
            "for example what `openssl rand -hex 32` prints"
        )
    return of_secret(secret)


@functools.lru_cache(maxsize=8)
def of_secret(secret: str) -> Credentials:
    """What follows from a secret; takes 50 ms."""
    pem = _certificate(hashlib.scrypt(secret.encode(), salt=_SALT, n=1 << 14, r=8, p=1, dklen=32))
    return Credentials(_context(ssl.PROTOCOL_TLS_CLIENT, pem), _context(ssl.PROTOCOL_TLS_SERVER, pem))


def _read(name: str) -> str:
    path = Path(name)
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            log.warning("secret_file: others than its owner may read %s", path)
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise ConfigError(f"secret_file: cannot read {path}: {reason}") from None


def _certificate(seed: bytes) -> bytes:
    """An Ed25519 key and a certificate that it signed itself, as PEM; the same bytes for the same seed."""
    # Imported here: of use only to jobs with a secret.
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(seed)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "csaud job")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        # Clocks have no say: a job's secret is good for as long as it is used.
        .not_valid_before(datetime.datetime(2000, 1, 1))
        .not_valid_after(datetime.datetime(9999, 12, 31))
        .sign(key, None)
    )
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + certificate.public_bytes(serialization.Encoding.PEM)


def _context(protocol: int, pem: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the certificate is the job's, wherever its ranks run
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=pem[pem.index(b"-----BEGIN CERTIFICATE") :].decode())
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    # The key is in memory alone; ssl reads it from a file, which this is.
    fd = os.memfd_create("csaud", os.MFD_CLOEXEC)
    try:
        os.write(fd, pem)
        context.load_cert_chain(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
    return context

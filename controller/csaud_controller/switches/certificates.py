"""Certificates and keys, looked at before gRPC has them: of one that it cannot use it says no more than that
there was no handshake, and one that is empty, as a file is while it is copied, ends the whole process.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

_SPKI = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def certificate_mistake(pem: bytes) -> str:
    """Why this is no certificate, nor several; empty: it is."""
    try:
        x509.load_pem_x509_certificates(pem)
    except ValueError:
        return "is empty" if not pem.strip() else "is no certificate in PEM format"
    return ""


def key_mistake(pem: bytes, certificate: bytes) -> str:
    """Why this is not the key of a certificate, which is one; empty: it is."""
    if not pem.strip():
        return "is empty"
    try:
        key = load_pem_private_key(pem, None)
    except TypeError:
        return "has a password"
    except (ValueError, UnsupportedAlgorithm):
        return "is no private key in PEM format"
    own = x509.load_pem_x509_certificates(certificate)[0].public_key()
    is_its = key.public_key().public_bytes(*_SPKI) == own.public_bytes(*_SPKI)
    return "" if is_its else "is not the key of the certificate"


def mistakes(cacert: bytes | None, cert: bytes | None, key: bytes | None) -> Iterator[tuple[str, str]]:
    """Which of these is of no use, and why; None: there is none."""
    for name, pem in (("cacert", cacert), ("cert", cert)):
        if pem is not None and (mistake := certificate_mistake(pem)):
            yield name, mistake
    if cert is None or key is None or certificate_mistake(cert):
        return
    if mistake := key_mistake(key, cert):
        yield "key", mistake


def out_of_date(pem: bytes, now: datetime | None = None) -> str:
    """Why a certificate is not valid at this time; empty: it is."""
    now = now or datetime.now(UTC)
    found = x509.load_pem_x509_certificates(pem)[0]
    if found.not_valid_after_utc < now:
        return f"has expired ({found.not_valid_after_utc:%Y-%m-%d %H:%M:%S} UTC)"
    if found.not_valid_before_utc > now:
        return f"is not valid before {found.not_valid_before_utc:%Y-%m-%d %H:%M:%S} UTC"
    return ""

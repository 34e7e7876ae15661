"""What is said of servers that are asked over HTTP, and to whom a token may be told without TLS."""

from __future__ import annotations

import ssl
from ipaddress import ip_address

from csaud_controller.base.why import why


def is_loopback(host: str) -> bool:
    """Whether what is sent to `host`, a name or an address, stays on this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def reason(error: Exception) -> str:
    """Why a connection failed, for a user who can give `--cacert`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); --cacert names who has signed it"
    return why(error)

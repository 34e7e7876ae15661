"""What is said of servers that are asked over HTTP, and to whom a token may be told without TLS."""

from __future__ import annotations

import http.client
import ssl
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from csaud_controller.base.why import why

UNREACHABLE = (OSError, http.client.HTTPException, UnicodeError)
"""What a connection fails with; UnicodeError: names that can be nobody's, such as a..b."""


def split_url(url: str) -> tuple[SplitResult, int | None]:
    """A URL's parts, and its port: None where it names none. No parts, and port 0, where it cannot be a
    URL."""
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:
        return SplitResult("", "", "", "", ""), 0


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
    if isinstance(error, UnicodeError):
        return "no machine can have this name"
    return why(error)

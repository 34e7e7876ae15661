"""Addresses that a server listens on, checked before gRPC takes them.

gRPC itself removes whatever file is at a Unix socket's path, even the socket of a process that is alive,
and lets two processes share a TCP port. Here a live owner is an error, and only what a killed process left
is replaced.
"""

from __future__ import annotations

import socket
import stat
from pathlib import Path

_UNIX_PATH_MAX = 107
"""Bytes of a Unix socket's path on Linux, without the terminating zero."""


class AddressError(Exception):
    """The address cannot be listened on; the message says why."""


def claim(address: str) -> None:
    """Make way for a server on "unix:/path" or "host:port"; AddressError when that is not possible."""
    if address.startswith("unix:"):
        _claim_unix(Path(address.removeprefix("unix:")))
    else:
        _check_tcp(address)


def release(address: str) -> None:
    """Remove the file of a Unix socket that this process was listening on."""
    if address.startswith("unix:"):
        Path(address.removeprefix("unix:")).unlink(missing_ok=True)


def _claim_unix(path: Path) -> None:
    if len(str(path).encode()) > _UNIX_PATH_MAX:
        raise AddressError(f"unix:{path}: the path is longer than {_UNIX_PATH_MAX} bytes")
    if not path.parent.is_dir():
        raise AddressError(f"unix:{path}: there is no directory {path.parent}")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise AddressError(f"unix:{path}: the file is there and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise AddressError(f"unix:{path}: {error.strerror}") from error
    raise AddressError(f"unix:{path}: address in use, another process listens there")


def _check_tcp(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        raise AddressError(f"{address}: expected unix:/path or host:port")
    host = host.strip("[]")
    try:
        found = socket.getaddrinfo(host or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise AddressError(f"{address}: {error.strerror}") from error
    family, kind, protocol, _, target = found[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(target)
        except OSError as error:
            raise AddressError(f"{address}: {error.strerror}") from error

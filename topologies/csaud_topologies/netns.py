"""Enter another network namespace for a moment (a socket stays in the namespace where it was made)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x40000000


def _setns(path: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            raise OSError(error, f"setns: {os.strerror(error)}", path)
    finally:
        os.close(handle)


@contextmanager
def inside_netns(pid: int) -> Iterator[None]:
    """Run the body, in this thread, in the network namespace of process `pid`."""
    with inside_netns_at(Path(f"/proc/{pid}/ns/net")):
        yield


@contextmanager
def inside_netns_at(path: Path) -> Iterator[None]:
    """Run the body, in this thread, in the network namespace that this file stands for."""
    own = f"/proc/self/fd/{(here := os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC))}"
    try:
        _setns(str(path))
        try:
            yield
        finally:
            _setns(own)
    finally:
        os.close(here)

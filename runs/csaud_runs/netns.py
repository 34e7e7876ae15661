"""Enter another network namespace for a moment (a socket stays in the namespace where it was made)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000


def setns(handle: int, kind: int) -> None:
    """This thread joins the namespace that a file descriptor stands for."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(handle, kind) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


@contextmanager
def inside_netns(pid: int) -> Iterator[None]:
    """Run the body, in this thread, in the network namespace of process `pid`."""
    with inside_netns_at(Path(f"/proc/{pid}/ns/net")):
        yield


@contextmanager
def inside_netns_at(path: Path) -> Iterator[None]:
    """Run the body, in this thread, in the network namespace that this file stands for."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(there, CLONE_NEWNET)
        finally:
            os.close(there)
        try:
            yield
        finally:
            setns(here, CLONE_NEWNET)
    finally:
        os.close(here)

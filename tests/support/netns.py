"""Network namespaces without names: they last as long as somebody has one open, and leave nothing behind."""

import ctypes
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_runs.netns import CLONE_NEWNET, inside_netns_at

_libc = ctypes.CDLL(None, use_errno=True)


class NetworkNamespace:
    """A new network namespace, its loopback up. Needs CAP_SYS_ADMIN; raises OSError without."""

    def __init__(self) -> None:
        self._descriptor = _new()
        try:
            self.ip("link set lo up")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Sockets, threads and processes that this thread makes inside the block belong to the namespace."""
        with inside_netns_at(Path(f"/proc/self/fd/{self._descriptor}")):
            yield

    def ip(self, command: str) -> str:
        """Run `ip COMMAND` in the namespace; returns its output."""
        with self.entered():
            done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"ip {command}: {done.stderr.strip()}")
        return done.stdout

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> "NetworkNamespace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _new() -> int:
    """A descriptor of a new namespace; a thread that ends with the call makes it, so the caller stays put."""
    made: list[int] = []
    failed: list[OSError] = []

    def make() -> None:
        try:
            _check(_libc.unshare(CLONE_NEWNET), "unshare")
            made.append(_current())
        except OSError as error:
            failed.append(error)

    maker = threading.Thread(target=make)
    maker.start()
    maker.join()
    if failed:
        raise failed[0]
    return made[0]


def _current() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _check(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")

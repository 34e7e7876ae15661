"""The wire to a guest: a tap device in a network namespace of its own.

The namespace has no name and no process of its own. It lives as long as the descriptors that this process and
the guest hold, so however they end nothing is left on the machine.
"""

import ctypes
import fcntl
import os
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import GuestError

CLONE_NEWNET = 0x40000000
# linux/if_tun.h
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Station:
    """One end of the wire."""

    interface: str
    mac: str
    ipv4: str


class TapNetwork:
    """A link between `host`, an interface in the namespace, and `guest`; neither needs ARP for the other."""

    def __init__(self, host: Station, guest: Station, *, prefix: int = 24, mtu: int = 4200) -> None:
        self.host = host
        self.guest = guest
        self.prefix = prefix
        self.mtu = mtu
        self._namespace = _new_namespace()
        try:
            with self.entered():
                self.tap = _open_tap(host.interface)
                self._configure()
        except BaseException:
            os.close(self._namespace)
            raise

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Sockets, threads and processes that this thread makes inside the block belong to the namespace."""
        before = _this_namespace()
        try:
            _check(_libc.setns(self._namespace, CLONE_NEWNET), "setns")
            try:
                yield
            finally:
                _check(_libc.setns(before, CLONE_NEWNET), "setns")
        finally:
            os.close(before)

    def close(self) -> None:
        os.close(self.tap)
        os.close(self._namespace)

    def _configure(self) -> None:
        interface = self.host.interface
        for command in (
            "link set lo up",
            f"link set {interface} address {self.host.mac} mtu {self.mtu} addrgenmode none up",
            f"address add {self.host.ipv4}/{self.prefix} dev {interface}",
            f"neighbour add {self.guest.ipv4} lladdr {self.guest.mac} dev {interface} nud permanent",
        ):
            done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise GuestError(f"ip {command}: {done.stderr.strip()}")


def _new_namespace() -> int:
    """A descriptor of a new network namespace, made by a thread that ends with the call."""
    made: list[int | GuestError] = []

    def make() -> None:
        try:
            _check(_libc.unshare(CLONE_NEWNET), "unshare")
            made.append(_this_namespace())
        except GuestError as error:
            made.append(error)

    maker = threading.Thread(target=make)
    maker.start()
    maker.join()
    result = made[0]
    if isinstance(result, GuestError):
        raise result
    return result


def _this_namespace() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _open_tap(interface: str) -> int:
    device = Path("/dev/net/tun")
    try:
        tap = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise GuestError(f"cannot open {device}: {error.strerror}") from error
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", interface.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def _check(result: int, call: str) -> None:
    if result != 0:
        raise GuestError(f"{call}: {os.strerror(ctypes.get_errno())}")

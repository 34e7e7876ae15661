"""Two hosts and a wire: network namespaces joined by a veth pair."""

import os
import socket
import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from tests.support.netns import NetworkNamespace

PREFIX = 24


class Wire:
    """Namespaces that own 10.0.1.1 and 10.0.1.2 on the ends of a veth pair of MTU `mtu` bytes, and
    fd00:1::1 and fd00:1::2 where it is for IPv6."""

    addresses = ("10.0.1.1", "10.0.1.2")
    ipv6_addresses = ("fd00:1::1", "fd00:1::2")

    def __init__(self, mtu: int, ipv6: bool = False) -> None:
        self.ends = [NetworkNamespace(), NetworkNamespace()]
        with self.ends[1].entered():
            other = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            peer = f"peer name eth0 mtu {mtu} netns /proc/{os.getpid()}/fd/{other}"
            self.ends[0].ip(f"link add eth0 mtu {mtu} type veth {peer}")
            for end, address in zip(self.ends, self.addresses, strict=True):
                end.ip(f"address add {address}/{PREFIX} dev eth0")
                end.ip("link set eth0 up")
            for end, address in zip(self.ends, self.ipv6_addresses if ipv6 else (), strict=False):
                end.ip(f"address add {address}/64 dev eth0 nodad")  # usable at once
        except BaseException:
            self.close()
            raise
        finally:
            os.close(other)

    def host_of(self, rank: int) -> AbstractContextManager[None]:
        """Processes started inside the block are on the host of `rank`: even ranks on the first."""
        return self.ends[rank % 2].entered()

    def close(self) -> None:
        for end in self.ends:
            end.close()

    def forge_until_believed(
        self, packet: bytes, family: socket.AddressFamily, here: str, there: str, mtu: int
    ) -> None:
        """Send what a stranger says of a path's MTU from the second host to the first one, `here`, until its
        kernel believes that of the way to `there`."""
        with self.ends[1].entered():
            stranger = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
        with stranger:
            for _ in range(500):
                stranger.sendto(packet, (here, 0))
                if f"mtu {mtu}" in self.ends[0].ip(f"route get {there}"):
                    return
                threading.Event().wait(0.01)
        raise AssertionError("the kernel never believed it")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

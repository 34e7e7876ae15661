"""Something between two hosts that look as if they were on one link: it carries frames as it is told."""

import os
import select
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.netns import NetworkNamespace

ETH_P_ALL = 3  # linux/if_ether.h
SO_RCVBUFFORCE = 33  # asm-generic/socket.h
LONGEST = 1 << 17
STEP_S = 0.1  # to look whether the end has come
_ROOM = 1 << 22  # bytes: a port holds what ranks send at once
_ETHERNET, _TTL = 14, 22


def ttl_of(frame: bytes) -> int:
    """Of an IPv4 packet; others: 255."""
    return frame[_TTL] if frame[12:_ETHERNET] == b"\x08\x00" else 255


class Forwarder:
    """Two hosts, `ends`, at 10.0.1.1 and 10.0.1.2; frames between them pass a process.

    Attributes:
        drops: which frames it does not carry.
        carried: lengths of those that it did.
    """

    addresses = ("10.0.1.1", "10.0.1.2")

    def __init__(self, ends: list[NetworkNamespace], sockets: list[socket.socket]) -> None:
        self.ends = ends
        self.drops: Callable[[bytes], bool] = lambda frame: False
        self.carried: list[int] = []
        self._sockets = sockets
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        other = dict(zip(self._sockets, reversed(self._sockets), strict=True))
        while not self._ended.is_set():
            for one in select.select(self._sockets, [], [], STEP_S)[0]:
                frame, where = one.recvfrom(LONGEST)
                if where[2] == socket.PACKET_OUTGOING or self.drops(frame):
                    continue
                try:
                    other[one].send(frame)
                except OSError:  # longer than its interface takes
                    continue
                self.carried.append(len(frame))

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


@contextmanager
def forwarder(mtu: int) -> Iterator[Forwarder]:
    """One with links of MTU `mtu`. Frames leave cut and with their checksums, as the process makes none."""
    with NetworkNamespace() as middle, NetworkNamespace() as left, NetworkNamespace() as right:
        sockets = []
        for number, end in enumerate((left, right)):
            with end.entered():
                there = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            try:
                peer = f"peer name eth0 mtu {mtu} netns /proc/{os.getpid()}/fd/{there}"
                middle.ip(f"link add p{number} mtu {mtu} type veth {peer}")
            finally:
                os.close(there)
            middle.ip(f"link set p{number} up")
            end.ip(f"address add {Forwarder.addresses[number]}/24 dev eth0")
            end.ip("link set eth0 up")
            with end.entered():
                subprocess.run(["ethtool", "-K", "eth0", "tx", "off"], check=True, capture_output=True)
            with middle.entered():
                port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            port.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _ROOM)
            port.bind((f"p{number}", ETH_P_ALL))
            sockets.append(port)
        made = Forwarder([left, right], sockets)
        try:
            yield made
        finally:
            made.close()
            for port in sockets:
                port.close()

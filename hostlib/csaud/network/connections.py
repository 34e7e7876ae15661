"""TCP connections between ranks: the only place where they are made."""

import errno
import os
import socket
import time
import weakref

from csaud.errors import ConfigError, RendezvousError
from csaud.network.addresses import family_of, with_port

_FIRST_RETRY = 0.02  # s; rank 0 is often a moment later than the others
_LAST_RETRY = 0.5  # s
_listening: weakref.WeakSet[socket.socket] = weakref.WeakSet()
_KEEPALIVE = (socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3)  # s, s, times


def listen(address: str, port: int, backlog: int, name: str = "MASTER_PORT") -> socket.socket:
    """A listening socket. Port 0: any; `name`: where the port comes from, for messages.

    Raises:
        ConfigError: the address is not of this machine, or the port is taken.
    """
    sock = socket.socket(family_of(address), socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sock.family == socket.AF_INET6:  # not IPv4 as well, whose addresses would look like IPv6's
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(backlog)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(f"port {port} at {address} is taken: choose another {name}") from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ConfigError(
                f"MASTER_ADDR={address} is not an address of this machine, where rank 0 runs"
            ) from None
        raise ConfigError(
            f"this rank cannot listen on {with_port(address, port)}: {error.strerror}"
        ) from None
    _listening.add(sock)
    return sock


def _leave_ports_to_parent() -> None:
    """In a forked process, which would keep them from a rank that is started again."""
    for sock in list(_listening):
        sock.close()


os.register_at_fork(after_in_child=_leave_ports_to_parent)


def keep_alive(sock: socket.socket) -> None:
    """Have a connection end, some ten seconds later, when the machine at its other end is gone without a
    word: who waits for what comes next would never know."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, number in _KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, option, number)


def connect(address: str, port: int, timeout: float) -> socket.socket:
    """A connection to rank 0, tried again until `timeout` seconds are over.

    Raises:
        RendezvousError: nobody listened there in that time; `missing` is rank 0.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_RETRY
    while True:
        try:
            left = max(0.05, deadline - time.monotonic())
            sock = socket.create_connection((address, port), timeout=left)
            keep_alive(sock)
            return sock
        except OSError as error:
            # Refused or unreachable: rank 0 may not have started yet.
            if time.monotonic() + pause >= deadline:
                text = f"rank 0 was not at {with_port(address, port)} within {timeout:g} s ({error})"
                raise RendezvousError(text, (0,)) from None
        time.sleep(pause)
        pause = min(2 * pause, _LAST_RETRY)


def begin_connecting(address: str, port: int) -> socket.socket:
    """A connection that is under way: writable when it is made or has failed; non-blocking.

    Raises:
        OSError: it failed at once.
    """
    sock = socket.socket(family_of(address), socket.SOCK_STREAM)
    sock.setblocking(False)
    number = sock.connect_ex((address, port))
    if number not in (0, errno.EINPROGRESS):
        sock.close()
        raise OSError(number, "cannot connect")
    return sock


def receive(sock: socket.socket, deadline: float) -> bytes:
    """What comes next, at least a byte.

    Args:
        deadline: by time.monotonic(), s.

    Raises:
        TimeoutError: nothing came until then.
        OSError: the connection is closed or broken.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)
    data = sock.recv(1 << 20)
    if not data:
        raise ConnectionResetError("it closed the connection")
    return data

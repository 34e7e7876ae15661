"""Connections that somebody made to this rank and that have not said whose they are."""

import contextlib
import errno
import logging
import os
import socket
from collections.abc import Callable
from typing import Generic, TypeVar

from csaud.network.addresses import with_port

log = logging.getLogger(__name__)

Connection = TypeVar("Connection")

_NO_ROOM = errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM


class Strangers(Generic[Connection]):
    """Accepts connections, and keeps those that are to say who they are, the oldest first.

    Who says nothing keeps nobody out: where there are more than `most`, or the process has no descriptor for
    another one, the oldest goes. Where there is none to go, who came is turned away: else it would be there
    to be accepted for ever, and the process busy with that.

    Args:
        listener: accepted from, closed by its owner.
        drop: ends a connection; it calls `forget`.
    """

    def __init__(self, listener: socket.socket, most: int, drop: Callable[[Connection], None]) -> None:
        self._listener = listener
        listener.setblocking(False)  # who came may have gone before it is accepted
        self._most = most
        self._drop = drop
        self._waiting: dict[Connection, None] = {}
        self._spare: int | None = None
        self._keep_spare()

    def __len__(self) -> int:
        return len(self._waiting)

    def accept(self) -> tuple[socket.socket, str] | None:
        """Who came, and its "address:port"; None where it has gone again or cannot be let in."""
        try:
            sock, peer = self._listener.accept()
        except BlockingIOError:  # it has gone again
            return None
        except OSError as error:
            log.warning("cannot accept a connection: %s", error)
            if error.errno in _NO_ROOM:
                if self._waiting:
                    self._make_room(0)
                else:
                    self._turn_away()
            return None
        return sock, with_port(*peer[:2])

    def keep(self, connection: Connection) -> None:
        """It is to say who it is."""
        self._waiting[connection] = None
        self._make_room(self._most)

    def forget(self, connection: Connection) -> None:
        """It has said so, or has ended."""
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Accept nobody any more."""
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    def _turn_away(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self._listener.accept()[0].close()
        self._keep_spare()

    def _keep_spare(self) -> None:
        with contextlib.suppress(OSError):  # there is none, or somebody else had use for it
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _make_room(self, most: int) -> None:
        if len(self._waiting) > most:
            self._drop(next(iter(self._waiting)))

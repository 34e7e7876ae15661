"""Connections that somebody made to this rank and that have not said whose they are."""

import logging
import socket
from collections.abc import Callable
from typing import Generic, TypeVar

from csaud.network.addresses import with_port

log = logging.getLogger(__name__)

Connection = TypeVar("Connection")


class Strangers(Generic[Connection]):
    """Accepts connections, and keeps those that are to say who they are, the oldest first.

    Who says nothing keeps nobody out: where there are more than `most`, or the process has no descriptor for
    another one, the oldest goes.

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

    def __len__(self) -> int:
        return len(self._waiting)

    def accept(self) -> tuple[socket.socket, str] | None:
        """Who came, and its "address:port"; None where it has gone again or cannot be let in."""
        try:
            sock, peer = self._listener.accept()
        except OSError as error:
            log.warning("cannot accept a connection: %s", error)
            self._make_room(0)
            return None
        return sock, with_port(*peer[:2])

    def keep(self, connection: Connection) -> None:
        """It is to say who it is."""
        self._waiting[connection] = None
        self._make_room(self._most)

    def forget(self, connection: Connection) -> None:
        """It has said so, or has ended."""
        self._waiting.pop(connection, None)

    def _make_room(self, most: int) -> None:
        if len(self._waiting) > most:
            self._drop(next(iter(self._waiting)))

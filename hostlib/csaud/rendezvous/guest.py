"""The other ranks' side of the rendezvous: connect to rank 0, hand in the card, get the table."""

import contextlib
import dataclasses
import socket
import time
from collections.abc import Mapping
from typing import Any

from csaud.errors import ConfigError, RendezvousError
from csaud.network.channels import NotAuthenticated, open_channel
from csaud.network.connections import receive
from csaud.network.frames import BadFrame, Message
from csaud.network.job_secret import Credentials
from csaud.rendezvous.table import PROTOCOL, Card, Table, table_from_json


class Guest:
    """`connection` comes from `csaud.network.connections.connect`; `join` gets the table."""

    def __init__(self, connection: socket.socket, credentials: Credentials | None = None) -> None:
        self._sock = connection
        self._channel = open_channel(credentials, listening=False)
        self._ready: list[Message] = []
        self.table: Table

    @property
    def local_address(self) -> str:
        """This machine's address on the way to rank 0."""
        return str(self._sock.getsockname()[0])

    def join(self, card: Card, world: int, timeout: float, agreed: Mapping[str, Any] | None = None) -> Table:
        """Hand in the card and wait for the table.

        Raises:
            RendezvousError: rank 0 refused us (its reason is the message), went away, or was silent too long.
            ConfigError: settings that must be the same at every rank (`agreed`) are not, or the job's secret.
        """
        hello = {
            "type": "join",
            "protocol": PROTOCOL,
            "world": world,
            "card": dataclasses.asdict(card),
            "agreed": dict(agreed or {}),
        }
        # Rank 0 itself gives up after its own timeout and says who is missing; wait a little longer than
        # that.
        self.table = table_from_json(self._ask(hello, "table", timeout + 2.0))
        if len(self.table.cards) != world:
            raise RendezvousError(f"rank 0 sent a table of {len(self.table.cards)} ranks, expected {world}")
        return self.table

    def close(self) -> None:
        self._sock.close()

    def _ask(self, message: Message, expected: str, timeout: float) -> Message:
        deadline = time.monotonic() + timeout
        try:
            self._sock.settimeout(max(0.05, timeout))
            self._channel.send(message)
            self._sock.sendall(self._channel.outgoing())
            reply = self._next(deadline)
        except NotAuthenticated as error:
            raise ConfigError(f"rank 0 is not of this job: {error}") from None
        except TimeoutError:
            raise RendezvousError(f"rank 0 did not answer within {timeout:g} s", (0,)) from None
        except (OSError, BadFrame) as error:
            raise RendezvousError(f"lost rank 0 at the rendezvous: {error}", (0,)) from None
        if reply.get("type") == "refused" and reply.get("kind") == "settings":
            raise ConfigError(str(reply.get("reason")))
        if reply.get("type") == "refused":
            missing = reply.get("missing")
            ranks = tuple(rank for rank in missing if type(rank) is int) if isinstance(missing, list) else ()
            raise RendezvousError(str(reply.get("reason")), ranks)
        if reply.get("type") != expected:
            raise RendezvousError(f"rank 0 sent {reply.get('type')!r}, expected {expected!r}")
        return reply

    def _next(self, deadline: float) -> Message:
        while not self._ready:
            data = receive(self._sock, deadline)
            try:
                self._ready += self._channel.feed(data)
            finally:
                with contextlib.suppress(OSError):  # then there is nothing to receive either
                    self._sock.sendall(self._channel.outgoing())
        return self._ready.pop(0)

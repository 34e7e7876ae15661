"""A process that wants to become a member: it waits at a member's door for the job's next epoch."""

import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from csaud.errors import ConfigError, RendezvousError
from csaud.membership.messages import (
    BadMessage,
    Current,
    Envelope,
    Join,
    Look,
    Looked,
    Refused,
    Waiting,
    from_json,
    to_json,
)
from csaud.network.addresses import split_port, with_port
from csaud.network.channels import NotAuthenticated, open_channel
from csaud.network.connections import connect, receive
from csaud.network.frames import BadFrame, Message
from csaud.network.job_secret import Credentials
from csaud.rendezvous.table import Card, Table

log = logging.getLogger(__name__)

_EACH, _LEAST = 2.0, 0.05  # s that one door is tried for before the next one, at most and at least
_PAUSE = 0.1  # s before the next one: a door that shuts at once would be tried thousands of times a second


class Newcomer:
    """One attempt to join; `connect` finds a member, `wait` is let in.

    Args:
        doors: (address, port) of members, tried in turn.
        credentials: of the job's secret, where it has one.
    """

    def __init__(
        self, doors: Sequence[tuple[str, int]], timeout: float, credentials: Credentials | None = None
    ) -> None:
        self._doors = doors
        self._credentials = credentials
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._turn = 0
        self._sock = self._connect()

    @property
    def local_address(self) -> str:
        """This machine's address on the way to the member."""
        return str(self._sock.getsockname()[0])

    def wait(self, card: Card, agreed: Mapping[str, Any], obstacle: Callable[[Card], str]) -> Table:
        """The first table that this process is in.

        Args:
            obstacle: why this process could not go on with a member; empty where it can.

        Raises:
            RendezvousError: no epoch of the job began with this process in time, or all doors are shut.
            ConfigError: settings that must be the same, or the job's secret, are not, or a member and this
                process cannot go on with each other.
        """
        self._obstacle = obstacle
        hello = to_json(Envelope("", -1, card.uid, Join(card, dict(agreed))))
        while True:
            try:
                return self._ask(hello, card.uid)
            except TimeoutError:
                text = f"no epoch began within {self._timeout:g} s that this process could join"
                raise RendezvousError(text) from None
            except NotAuthenticated as error:
                raise ConfigError(f"the member is not of this job: {error}") from None
            except (OSError, BadFrame, BadMessage) as error:
                log.info("lost a member, will try another one: %s", error)
                self._sock.close()
                time.sleep(_PAUSE)
                self._sock = self._connect()

    def close(self) -> None:
        """Wait no longer."""
        self._sock.close()

    def _connect(self) -> socket.socket:
        """A connection to the first door in turn that opens; all are tried, however little time there is."""
        while True:
            others = self._turn % len(self._doors)
            address, port = self._doors[others]
            self._turn += 1
            share = (self._deadline - time.monotonic()) / (len(self._doors) - others)
            try:
                return connect(address, port, max(_LEAST, min(_EACH, share)))
            except RendezvousError:
                over = self._deadline - time.monotonic() <= _LEAST
                if over and self._turn >= len(self._doors):
                    tried = ", ".join(with_port(address, port) for address, port in self._doors)
                    raise RendezvousError(
                        f"no member of a job was at {tried} within {self._timeout:g} s"
                    ) from None

    def _ask(self, hello: Message, uid: str) -> Table:
        channel = open_channel(self._credentials, listening=False)
        channel.send(hello)
        self._sock.settimeout(max(0.05, self._deadline - time.monotonic()))
        while True:
            self._sock.sendall(channel.outgoing())
            for message in channel.feed(receive(self._sock, self._deadline)):
                envelope = from_json(message)
                match envelope.body:
                    case Refused(reason):
                        raise ConfigError(reason)
                    case Current(table):
                        if any(card.uid == uid for card in table.cards):
                            return table
                    case Look(card):
                        looked = Looked(card.uid, self._obstacle(card))
                        channel.send(to_json(Envelope(envelope.job, -1, uid, looked)))
                    case Waiting():
                        pass
                    case body:
                        raise BadMessage(f"a {type(body).__name__} to a newcomer")


def read_doors(text: str, resolve: Callable[[str], str]) -> list[tuple[str, int]]:
    """ "host:port,host:port" as addresses and ports.

    Raises:
        ConfigError: it is not that.
    """
    doors = []
    for door in text.split(","):
        host, port = split_port(door.strip())
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ConfigError(f"join: {door.strip()!r}: expected address:port of a member (its comm.door)")
        doors.append((resolve(host), int(port)))
    return doors

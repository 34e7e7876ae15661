"""Rank 0's side of the rendezvous: a listening socket, served only while rank 0 itself waits (no thread)."""

import contextlib
import dataclasses
import logging
import selectors
import socket
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from csaud.config.settings import differing
from csaud.errors import ConfigError, RendezvousError
from csaud.network.channels import Channel, NotAuthenticated, open_channel
from csaud.network.connections import keep_alive, listen
from csaud.network.delivery import deliver
from csaud.network.descriptors import make_room
from csaud.network.frames import BadFrame, Message, encode
from csaud.network.job_secret import Credentials
from csaud.network.strangers import Strangers
from csaud.rendezvous.table import (
    PROTOCOL,
    Card,
    Table,
    card_from_json,
    make_table,
    name_ranks,
    table_to_json,
)

log = logging.getLogger(__name__)

_CARD = 65536  # bytes of a frame that a guest may send
_SPARE = 64  # connections, beyond one a rank, that may be open without having said who they are
_OWN = 8  # files of this rank's, such as its listener's, its selector's and its device's
_PATIENCE = 10.0  # s that a guest may read hardly anything of what it is sent
_NAMED = 4  # connections that were refused, in a message


@dataclasses.dataclass(slots=True, eq=False)
class _Guest:
    """One connection. `rank` is -1 until its card has come."""

    sock: socket.socket
    name: str
    channel: Channel
    rank: int = -1


class Host:
    """Listens from construction on; `gather` makes the table.

    Args:
        agreed: this rank's settings that must be the same at every rank.
        credentials: of the job's secret, where it has one: who lacks it is refused, and named at the end.

    Raises:
        ConfigError: the address is not of this machine, or the port is taken, or so many connections are more
            than this process may have.
    """

    def __init__(
        self,
        address: str,
        port: int,
        world: int,
        agreed: Mapping[str, Any] | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self._world = world
        self._credentials = credentials
        self._refused: deque[str] = deque(maxlen=_NAMED)  # who was refused last for its secret, and why
        self._agreed: dict[int, Mapping[str, Any]] = {0: agreed or {}}
        self._guests: dict[int, _Guest] = {}  # by rank
        self._cards: dict[int, Card] = {}
        make_room(world + _OWN, _SPARE, f"rank 0 of {world}, which each other rank connects to,")
        self._listener = listen(address, port, backlog=min(world + 16, 4096))
        self._selector = selectors.DefaultSelector()
        self._strangers = Strangers[_Guest](self._listener, world + _SPARE, self._drop)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self.port: int = self._listener.getsockname()[1]  # the one in use, where 0 was asked for
        self.table: Table

    def reached_at(self, timeout: float) -> str:
        """This machine's address at which the first of the other ranks that came has reached it: what a host
        that listens at all addresses is to be known by.

        Raises:
            RendezvousError: none came within `timeout` seconds; `missing` are all of them.
        """
        deadline = time.monotonic() + timeout
        while not self._guests:
            if not self._serve(deadline):
                raise self._nobody_else(timeout)
        return str(next(iter(self._guests.values())).sock.getsockname()[0])

    def gather(self, card: Card, epoch: int, timeout: float) -> Table:
        """Wait for all ranks' cards, then send everyone the table.

        Raises:
            RendezvousError: the ranks in `missing` did not come within `timeout` seconds, or cards clash.
            ConfigError: settings that must be the same are not; every rank gets it.
        """
        self._cards[card.rank] = card
        deadline = time.monotonic() + timeout
        while len(self._cards) < self._world:
            if not self._serve(deadline):
                raise self._nobody_else(timeout)
        try:
            self._compare_settings()
            self.table = make_table(list(self._cards.values()), epoch)
        except (RendezvousError, ConfigError) as error:
            kind = "settings" if isinstance(error, ConfigError) else ""
            self._tell_all({"type": "refused", "kind": kind, "reason": str(error)}, timeout)
            raise
        # Complete: whoever comes now belongs to another job, and is better refused than left waiting.
        self._selector.unregister(self._listener)
        self._listener.close()
        self._tell_all(table_to_json(self.table), timeout)
        return self.table

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._strangers.close()

    def _nobody_else(self, timeout: float) -> RendezvousError:
        """Those who have not come, told to those who have."""
        missing = [rank for rank in range(self._world) if rank != 0 and rank not in self._cards]
        text = f"{name_ranks(missing, self._world)} did not come to the rendezvous within {timeout:g} s"
        if self._refused:
            text += "; refused: " + "; ".join(self._refused)
        self._tell_all({"type": "refused", "reason": text, "missing": missing}, timeout)
        return RendezvousError(text, tuple(missing))

    def _compare_settings(self) -> None:
        if words := differing({f"rank {rank}": self._agreed[rank] for rank in sorted(self._agreed)}):
            raise ConfigError(words)

    def _serve(self, deadline: float) -> bool:
        """Handle what comes next; False when the time is over."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        for key, _ in self._selector.select(left):
            if key.data is None:
                self._accept()
            elif key.data.sock.fileno() >= 0:  # not dropped meanwhile
                self._read(key.data)
        return True

    def _accept(self) -> None:
        if (came := self._strangers.accept()) is None:
            return
        sock, name = came
        sock.settimeout(_PATIENCE)
        keep_alive(sock)  # or its rank stays taken
        guest = _Guest(sock, name, open_channel(self._credentials, listening=True, limit=_CARD))
        self._selector.register(sock, selectors.EVENT_READ, guest)
        self._strangers.keep(guest)

    def _read(self, guest: _Guest) -> None:
        try:
            data = guest.sock.recv(65536)
            messages = guest.channel.feed(data)
            guest.sock.sendall(guest.channel.outgoing())
        except (OSError, BadFrame) as error:
            log.warning("rendezvous: dropped the connection from %s: %s", guest.name, error)
            if isinstance(error, NotAuthenticated):
                self._refused.append(f"{guest.name}: {error}")
                self._last_words(guest)
            self._drop(guest)
            return
        if not data:
            self._drop(guest)
            return
        for message in messages:
            self._handle(guest, message)

    def _handle(self, guest: _Guest, message: Message) -> None:
        match message.get("type"):
            case "join" if guest.rank < 0:
                if reason := self._admit(guest, message):
                    log.warning("rendezvous: refused %s: %s", guest.name, reason)
                    self._tell(guest, {"type": "refused", "reason": reason})
                    self._drop(guest)
            case kind:
                log.warning("rendezvous: dropped %s: unexpected message %.40r", guest.name, kind)
                self._drop(guest)

    def _admit(self, guest: _Guest, message: Message) -> str:
        """Why this guest cannot join, or nothing."""
        if message.get("protocol") != PROTOCOL:
            return f"it speaks protocol {message.get('protocol')!r:.40}, rank 0 speaks {PROTOCOL}"
        if message.get("world") != self._world:
            return (
                f"it counts {message.get('world')!r:.40} ranks, rank 0 counts {self._world}: "
                "another job's port?"
            )
        try:
            card = card_from_json(message["card"])
            agreed = dict(message["agreed"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            return f"its card cannot be read: {error!r}"
        if not 0 < card.rank < self._world:
            return f"rank {card.rank} is not one of the others, 1 to {self._world - 1}"
        if card.rank in self._guests:
            return f"rank {card.rank} has joined already: another job on the same port?"
        guest.rank = card.rank
        self._guests[card.rank] = guest
        self._strangers.forget(guest)
        self._cards[card.rank] = card
        self._agreed[card.rank] = agreed
        return ""

    def _drop(self, guest: _Guest) -> None:
        self._selector.unregister(guest.sock)
        guest.sock.close()
        self._strangers.forget(guest)
        if self._guests.get(guest.rank) is guest:  # it may be started again while the others are still coming
            del self._guests[guest.rank], self._cards[guest.rank], self._agreed[guest.rank]

    def _last_words(self, guest: _Guest) -> None:
        """Why it was refused, as far as it can be told."""
        with contextlib.suppress(OSError):
            guest.sock.sendall(guest.channel.outgoing())

    def _tell_all(self, message: Message, timeout: float) -> None:
        """Encoded once: a table has a card of each rank, and goes to each. After `timeout` seconds and some
        more, from when they came, they wait for it no longer."""
        frame = encode(message)
        for guest, error in deliver(frame, list(self._guests.values()), _PATIENCE, timeout + _PATIENCE):
            # The transport will find it gone; here it must not stop the others.
            log.warning("rendezvous: cannot reach %s: %s", guest.name, error)

    def _tell(self, guest: _Guest, message: Message) -> None:
        try:
            guest.channel.send(message)
            guest.sock.sendall(guest.channel.outgoing())
        except OSError as error:
            # The transport will find it gone; here it must not stop the others.
            log.warning("rendezvous: cannot reach %s: %s", guest.name, error)

"""Connections between members: frames in and out of sockets that never block; one thread uses them."""

import contextlib
import dataclasses
import logging
import selectors
import socket
from collections.abc import Callable, Iterator

from csaud.membership.messages import BadMessage
from csaud.network.addresses import split_port
from csaud.network.channels import Channel, NotAuthenticated, open_channel
from csaud.network.connections import begin_connecting, keep_alive
from csaud.network.frames import MAX_FRAME, BadFrame, Message
from csaud.network.job_secret import Credentials
from csaud.network.strangers import Strangers

log = logging.getLogger(__name__)

_USER_TIMEOUT = 10_000  # ms that what was sent may stay unacknowledged
_MOST_UNKNOWN = 256  # connections of which nothing has come
_MOST_WAITING = 64 << 20  # bytes to one peer
# Bytes of a frame of somebody who has not said which member it is. The longest that a member begins with is
# the table.
_FIRST, _FIRST_PER_MEMBER = 1 << 20, 256


@dataclasses.dataclass(slots=True, eq=False)
class Link:
    """One connection. `uid` is who is at its other end (`Envelope.peer`), "" until that is known."""

    sock: socket.socket
    name: str
    channel: Channel
    uid: str = ""
    connecting: bool = False
    waiting: bytearray = dataclasses.field(default_factory=bytearray)


class Links:
    """All connections of one rank.

    Args:
        listener: accepted from until `close`, which closes it.
        address_of: "address:port" of a uid, "" where it is not known.
        lost: called with the uid whose connection has ended, or could not be made, and whether nobody
            listens at its address.
        credentials: of the job's secret, where it has one.

    Attributes:
        members: of the job, at present.
    """

    def __init__(
        self,
        listener: socket.socket,
        address_of: Callable[[str], str],
        lost: Callable[[str, bool], None],
        credentials: Credentials | None = None,
    ) -> None:
        self._credentials = credentials
        self._address_of, self._lost = address_of, lost
        self._listener = listener
        self.members = 1
        self._by_uid: dict[str, Link] = {}
        self._strangers = Strangers[Link](listener, _MOST_UNKNOWN, self._drop_silent)
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._bell, self._rope = socket.socketpair()
        for end in (self._bell, self._rope):
            end.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)

    def ring(self) -> None:
        """End `poll` in the other thread."""
        with contextlib.suppress(OSError):  # full: it will end anyway; closed: nobody polls
            self._rope.send(b"!")

    def poll(self, timeout: float | None) -> Iterator[tuple[Link, Message]]:
        """Wait for something to happen; the messages that came."""
        for key, events in self._selector.select(timeout):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._bell:
                with contextlib.suppress(BlockingIOError):
                    self._bell.recv(4096)
            elif key.data.sock.fileno() >= 0:  # not dropped meanwhile
                if events & selectors.EVENT_WRITE:
                    self._write(key.data)
                if events & selectors.EVENT_READ and key.data.sock.fileno() >= 0:
                    yield from ((key.data, message) for message in self._read(key.data))

    def belongs_to(self, link: Link, uid: str, member: bool) -> None:
        """What comes over this link is from `uid`, and so goes what is sent to it.

        Args:
            member: it is of the job, and may send whatever members send.

        Raises:
            BadMessage: another process was at its other end so far.
        """
        if link.uid not in ("", uid):
            raise BadMessage(f"two processes over one connection, {link.uid!r:.40} and {uid!r:.40}")
        link.uid = uid
        self._by_uid[uid] = link
        if member:
            link.channel.reader.limit = MAX_FRAME
        self._strangers.forget(link)

    def send(self, uid: str, frame: bytes) -> None:
        """Send an encoded message, over the connection that there is, or a new one."""
        link = self._by_uid.get(uid) or self._connect(uid)
        if link is None:
            return
        link.channel.send_frame(frame)
        link.waiting += link.channel.outgoing()
        if len(link.waiting) > _MOST_WAITING:
            self.drop(link, "it does not read what is sent")
        elif not link.connecting:
            self._write(link)

    def drop(self, link: Link, reason: str, refused: bool = False) -> None:
        """End a connection, which may have been `refused` when it was to be made."""
        log.debug("membership: connection with %s ended: %s", link.name, reason)
        if link.sock.fileno() >= 0:
            self._selector.unregister(link.sock)
            link.sock.close()
        self._strangers.forget(link)
        if link.uid and self._by_uid.get(link.uid) is link:
            del self._by_uid[link.uid]
            self._lost(link.uid, refused)

    @property
    def strangers(self) -> int:
        """Connections of which nothing has come."""
        return len(self._strangers)

    @property
    def idle(self) -> bool:
        """Whether everything has been handed to the kernel."""
        return not any(link.waiting or not link.channel.idle for link in self._by_uid.values())

    def close(self) -> None:
        """End all connections, without a word to `lost`."""
        self._by_uid.clear()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._strangers.close()
        self._rope.close()

    def _accept(self) -> None:
        if (came := self._strangers.accept()) is None:
            return
        sock, name = came
        limit = min(MAX_FRAME, _FIRST + _FIRST_PER_MEMBER * self.members)
        link = Link(sock, name, open_channel(self._credentials, listening=True, limit=limit))
        self._add(link, selectors.EVENT_READ)
        self._strangers.keep(link)

    def _drop_silent(self, link: Link) -> None:
        self.drop(link, "too many that do not say who they are")

    def _connect(self, uid: str) -> Link | None:
        where = self._address_of(uid)
        address, port = split_port(where)
        try:
            channel = open_channel(self._credentials, listening=False)
            link = Link(begin_connecting(address, int(port)), where, channel, uid, connecting=True)
        except (OSError, ValueError, OverflowError) as error:
            log.debug("membership: cannot connect to %r: %s", where, error)
            self._lost(uid, isinstance(error, ConnectionRefusedError))
            return None
        self._add(link, selectors.EVENT_READ | selectors.EVENT_WRITE)
        self._by_uid[uid] = link
        return link

    def _add(self, link: Link, events: int) -> None:
        link.sock.setblocking(False)
        link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT)
        keep_alive(link.sock)  # a newcomer whose machine is gone must not be taken for one that waits
        self._selector.register(link.sock, events, link)

    def _read(self, link: Link) -> list[Message]:
        try:
            data = link.sock.recv(1 << 16)
            if data:
                try:
                    return link.channel.feed(data)
                finally:
                    self._answer(link)
            self.drop(link, "closed")
        except BlockingIOError:
            pass
        except (OSError, BadFrame) as error:
            if isinstance(error, NotAuthenticated):
                log.warning("membership: refused %s: %s", link.name, error)
            self.drop(link, str(error), isinstance(error, ConnectionRefusedError))
        return []

    def _answer(self, link: Link) -> None:
        """What the channel itself has to say: its side of a handshake, or why it refuses the other end."""
        if out := link.channel.outgoing():
            link.waiting += out
            self._write(link)

    def _write(self, link: Link) -> None:
        link.connecting = False
        try:
            while link.waiting:
                del link.waiting[: link.sock.send(link.waiting)]
        except BlockingIOError:
            pass
        except OSError as error:
            self.drop(link, str(error), isinstance(error, ConnectionRefusedError))
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.waiting else 0)
        self._selector.modify(link.sock, events, link)

"""What goes over one TCP connection between ranks: frames, as they are or, in a job with a secret, under TLS.

Sans I/O: bytes in, messages out, and the other way round. With a secret both ends prove that they have it,
and nobody else can read or change what they say (TLS 1.3; docs/security.md).
"""

import ssl
from typing import Protocol

from csaud.network.frames import MAX_FRAME, BadFrame, FrameReader, Message, encode
from csaud.network.job_secret import Credentials

_TLS_FIRST_BYTES = b"\x14\x15\x16\x17"  # types of TLS records; a frame of ours begins with 0 or 1
_NO_SECRET = "refused-without-secret"

WITHOUT = "it has no job secret, and this rank has one (CSAUD_SECRET or CSAUD_SECRET_FILE)"
WITH = "it has a job secret, and this rank has none (CSAUD_SECRET or CSAUD_SECRET_FILE)"
ANOTHER = "it has another job secret than this rank (CSAUD_SECRET or CSAUD_SECRET_FILE)"


class NotAuthenticated(BadFrame):
    """The other end has no secret, or another one, or has one where this rank has none."""


class Channel(Protocol):
    """One end of a connection. After `send`, after `feed`, also after it raised, and at the beginning,
    `outgoing` may have bytes for the wire.

    Attributes:
        reader: of the frames that come.
    """

    reader: FrameReader

    def send(self, message: Message) -> None:
        """Have a message sent, as soon as the other end is known for what it should be."""

    def send_frame(self, frame: bytes) -> None:
        """The same of a message that is encoded already, as one that goes to many is once."""

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data`, which came over the wire, completes, in order.

        Raises:
            NotAuthenticated: the other end is not of this job; the message says what is wrong.
            BadFrame: what came is no frame, or too long a one.
        """

    def outgoing(self) -> bytes:
        """What is to be written to the wire now."""

    @property
    def idle(self) -> bool:
        """Whether nothing waits for the other end to be known."""


def open_channel(credentials: Credentials | None, *, listening: bool, limit: int = MAX_FRAME) -> Channel:
    """One end of a new connection; `listening`: that of who accepted it. `limit`: bytes of a frame."""
    if credentials is None:
        return _Plain(limit)
    return _Secured(credentials, listening, limit)


class _Plain:
    def __init__(self, limit: int) -> None:
        self.reader = FrameReader(limit)
        self._outgoing = bytearray()
        self._begun = False

    def send(self, message: Message) -> None:
        self.send_frame(encode(message))

    def send_frame(self, frame: bytes) -> None:
        self._outgoing += frame

    def feed(self, data: bytes) -> list[Message]:
        if not self._begun and data:
            self._begun = True
            if data[0] in _TLS_FIRST_BYTES:
                self._outgoing += encode({"type": _NO_SECRET})  # no TLS record begins like that
                raise NotAuthenticated(WITH)
        messages = self.reader.feed(data)
        if any(message.get("type") == _NO_SECRET for message in messages):
            raise NotAuthenticated(WITH)
        return messages

    def outgoing(self) -> bytes:
        return _taken(self._outgoing)

    @property
    def idle(self) -> bool:
        return True


class _Secured:
    def __init__(self, credentials: Credentials, listening: bool, limit: int) -> None:
        self.reader = FrameReader(limit)
        self._received, self._sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = credentials.server if listening else credentials.client
        self._tls = context.wrap_bio(self._received, self._sent, server_side=listening)
        self._waiting = bytearray()  # plain, until the handshake is done
        self._refusal = bytearray()
        self._begun = self._known = False
        if not listening:
            self._shake_hands()

    def send(self, message: Message) -> None:
        self.send_frame(encode(message))

    def send_frame(self, frame: bytes) -> None:
        self._waiting += frame
        self._write()

    def feed(self, data: bytes) -> list[Message]:
        if not self._begun and data:
            self._begun = True
            if data[0] not in _TLS_FIRST_BYTES:
                self._refusal += encode({"type": _NO_SECRET})
                raise NotAuthenticated(WITHOUT)
        self._received.write(data)
        try:
            if not self._known:
                self._shake_hands()
            self._write()
            plain = self._read()
        except ssl.SSLError as error:
            raise NotAuthenticated(f"{ANOTHER}: {error.reason or error}") from None
        return self.reader.feed(plain)

    def outgoing(self) -> bytes:
        return self._sent.read() + _taken(self._refusal)

    @property
    def idle(self) -> bool:
        return not self._waiting

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
            self._known = True
        except ssl.SSLWantReadError:
            pass

    def _write(self) -> None:
        if self._known and self._waiting:
            self._tls.write(_taken(self._waiting))

    def _read(self) -> bytes:
        plain = bytearray()
        try:
            while self._known and (data := self._tls.read(1 << 16)):
                plain += data
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return bytes(plain)


def _taken(buffer: bytearray) -> bytes:
    data = bytes(buffer)
    buffer.clear()
    return data

"""Length-prefixed JSON frames for the rendezvous: 4 bytes of length (big-endian), then UTF-8 JSON, one
object."""

import json
import struct
from typing import Any

_LENGTH = struct.Struct(">I")
MAX_FRAME = 16 << 20  # bytes; the table of 65,536 ranks takes 6 MB

Message = dict[str, Any]


class BadFrame(ValueError):
    """What came is not a frame of ours; the connection cannot be used any more."""


def encode(message: Message) -> bytes:
    """The bytes of one frame."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Bytes in, in any pieces; whole messages out."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes, in order.

        Raises:
            BadFrame: a frame is too long, or is not a JSON object.
        """
        self._pending += data
        messages: list[Message] = []
        while len(self._pending) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._pending)
            if length > self._limit:
                raise BadFrame(f"a frame of {length} bytes was announced, {self._limit} are allowed")
            end = _LENGTH.size + length
            if len(self._pending) < end:
                break
            messages.append(_decode(bytes(self._pending[_LENGTH.size : end])))
            del self._pending[:end]
        return messages


def _decode(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:  # RecursionError: nested as deep as nobody means it
        raise BadFrame(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadFrame("not a JSON object")
    return message

"""Length-prefixed JSON frames for the rendezvous: 4 bytes of length (big-endian), then UTF-8 JSON, one
object. Of long ones the length's top bit is set, and what follows is that JSON, deflated (zlib)."""

import json
import struct
import zlib
from typing import Any

_LENGTH = struct.Struct(">I")
_PACKED = 1 << 31
_LONG = 4096  # bytes that are not worth the work
_FAST = 1  # zlib's level: 6 takes twice as long for a tenth less
MAX_FRAME = 16 << 20  # bytes, packed or not; the table of 65,535 ranks takes 9 MB, packed 2

Message = dict[str, Any]


class BadFrame(ValueError):
    """What came is not a frame of ours; the connection cannot be used any more."""


def encode(message: Message) -> bytes:
    """The bytes of one frame."""
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) <= _LONG:
        return _LENGTH.pack(len(body)) + body
    packed = zlib.compress(body, _FAST)
    return _LENGTH.pack(len(packed) | _PACKED) + packed


class FrameReader:
    """Bytes in, in any pieces; whole messages out.

    Attributes:
        limit: bytes of a frame, packed or not; may be changed between frames.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.limit = limit
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes, in order.

        Raises:
            BadFrame: a frame is too long, or is not a JSON object.
        """
        self._pending += data
        messages: list[Message] = []
        while len(self._pending) >= _LENGTH.size:
            (announced,) = _LENGTH.unpack_from(self._pending)
            length = announced & ~_PACKED
            if length > self.limit:
                raise BadFrame(f"a frame of {length} bytes was announced, {self.limit} are allowed")
            end = _LENGTH.size + length
            if len(self._pending) < end:
                break
            body = bytes(self._pending[_LENGTH.size : end])
            messages.append(_decode(self._unpacked(body) if announced & _PACKED else body))
            del self._pending[:end]
        return messages

    def _unpacked(self, body: bytes) -> bytes:
        """No longer than a frame may be, however little was sent."""
        unpacker = zlib.decompressobj()
        try:
            unpacked = unpacker.decompress(body, self.limit)
        except zlib.error as error:
            raise BadFrame(f"not packed as announced: {error}") from None
        if not unpacker.eof:
            raise BadFrame(f"a packed frame is cut off, or has more than the {self.limit} bytes allowed")
        return unpacked


def _decode(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:  # RecursionError: nested as deep as nobody means it
        raise BadFrame(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadFrame("not a JSON object")
    return message

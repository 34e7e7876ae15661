"""Writes pcapng (draft-ietf-opsawg-pcapng): section header, interfaces, packets with their direction.

Little-endian, time stamps in nanoseconds since 1970.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Direction = Literal["in", "out"]
"""As the port's owner sees it: in is what the switch received."""

_SECTION, _INTERFACE, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 5, 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_UNKNOWN_LENGTH = 0xFFFF_FFFF_FFFF_FFFF
_LINKTYPE_ETHERNET = 1

_END, _COMMENT = 0, 1
_SHB_APPLICATION = 4
_IF_NAME, _IF_DESCRIPTION, _IF_SPEED, _IF_TSRESOL, _IF_FILTER = 2, 3, 8, 9, 11
_EPB_FLAGS = 2
_ISB_STARTTIME, _ISB_ENDTIME, _ISB_IFRECV, _ISB_IFDROP = 2, 3, 4, 5
_NANOSECONDS = 9

_INBOUND, _OUTBOUND = 1, 2


class Sink(Protocol):
    """What blocks are written to; any binary file is one."""

    def write(self, block: bytes, /) -> int: ...


@dataclass(frozen=True)
class Interface:
    """Where frames were captured. `speed_bps` 0: not known; `snaplen` 0: frames are whole."""

    name: str
    description: str = ""
    speed_bps: int = 0
    snaplen: int = 0
    filter: str = ""


class PcapngWriter:
    """One section. Each block goes to `out` in one write, so that what was written is readable at any time.

    Whatever OSError `out` raises is passed on.
    """

    def __init__(
        self, out: Sink, interfaces: Sequence[Interface], *, application: str = "", comment: str = ""
    ) -> None:
        self._out = out
        options = _text(_COMMENT, comment) + _text(_SHB_APPLICATION, application)
        header = struct.pack("<IHHQ", _BYTE_ORDER_MAGIC, 1, 0, _UNKNOWN_LENGTH)
        self._block(_SECTION, header + _options(options))
        for interface in interfaces:
            self._interface(interface)

    def write(
        self,
        interface: int,
        time_ns: int,
        frame: bytes,
        *,
        direction: Direction | None = None,
        original_length: int | None = None,
        comment: str = "",
    ) -> None:
        """A frame at the interface of this index. `original_length` if only its first bytes are here."""
        options = _text(_COMMENT, comment)
        if direction is not None:
            flags = _INBOUND if direction == "in" else _OUTBOUND
            options += _option(_EPB_FLAGS, struct.pack("<I", flags))
        length = len(frame) if original_length is None else original_length
        high, low = time_ns >> 32, time_ns & 0xFFFFFFFF
        body = struct.pack("<IIIII", interface, high, low, len(frame), length) + _padded(frame)
        self._block(_PACKET, body + _options(options))

    def statistics(self, interface: int, begin_ns: int, end_ns: int, received: int, dropped: int) -> None:
        """How many frames passed the interface, and how many of them the capture lost."""
        options = b"".join(
            _option(code, struct.pack("<II", value >> 32, value & 0xFFFFFFFF))
            for code, value in ((_ISB_STARTTIME, begin_ns), (_ISB_ENDTIME, end_ns))
        )
        options += _option(_ISB_IFRECV, struct.pack("<Q", received))
        options += _option(_ISB_IFDROP, struct.pack("<Q", dropped))
        body = struct.pack("<III", interface, end_ns >> 32, end_ns & 0xFFFFFFFF)
        self._block(_STATISTICS, body + _options(options))

    def _interface(self, interface: Interface) -> None:
        options = _text(_IF_NAME, interface.name) + _text(_IF_DESCRIPTION, interface.description)
        if interface.speed_bps:
            options += _option(_IF_SPEED, struct.pack("<Q", interface.speed_bps))
        if interface.filter:
            options += _option(_IF_FILTER, b"\0" + interface.filter.encode())
        options += _option(_IF_TSRESOL, bytes([_NANOSECONDS]))
        self._block(
            _INTERFACE, struct.pack("<HHI", _LINKTYPE_ETHERNET, 0, interface.snaplen) + _options(options)
        )

    def _block(self, kind: int, body: bytes) -> None:
        length = len(body) + 12
        self._out.write(struct.pack("<II", kind, length) + body + struct.pack("<I", length))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _text(code: int, text: str) -> bytes:
    return _option(code, text.encode()) if text else b""


def _options(options: bytes) -> bytes:
    """The options and the one that ends them; none at all needs no end."""
    return options + _option(_END, b"") if options else b""

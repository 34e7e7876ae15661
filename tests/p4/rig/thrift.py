"""The calls of simple_switch's Thrift service that the tests need: rates of queues, and registers.

Thrift's strict binary protocol over TCP, multiplexed by service name.
"""

from __future__ import annotations

import socket
import struct

_VERSION_1_CALL = 0x80010001
_REPLY = 2
_STOP, _I32, _I64, _STRING = 0, 8, 10, 11


class Thrift:
    """A connection to one simple_switch."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def close(self) -> None:
        self._socket.close()

    def set_queue_rate(self, port: int, packets_per_s: int) -> None:
        """Of each priority queue of a port; 0 is none."""
        self._call("simple_switch:set_egress_queue_rate", (_I32, port), (_I64, packets_per_s))

    def set_queue_depth(self, port: int, packets: int) -> None:
        """Of each priority queue of a port."""
        self._call("simple_switch:set_egress_queue_depth", (_I32, port), (_I32, packets))

    def register_write(self, name: str, index: int, value: int) -> None:
        self._call("standard:bm_register_write", (_I32, 0), (_STRING, name), (_I32, index), (_I64, value))

    def register_read(self, name: str, index: int) -> int:
        return self._call("standard:bm_register_read", (_I32, 0), (_STRING, name), (_I32, index))

    def _call(self, method: str, *arguments: tuple[int, int | str]) -> int:
        message = struct.pack("!I", _VERSION_1_CALL) + _string(method) + struct.pack("!i", 0)
        for index, (kind, value) in enumerate(arguments, start=1):
            message += struct.pack("!bh", kind, index)
            message += _string(value) if isinstance(value, str) else _integer(kind, value)
        self._socket.sendall(message + bytes([_STOP]))
        (header,) = struct.unpack("!I", self._read(4))
        self._read(struct.unpack("!i", self._read(4))[0])
        self._read(4)
        assert header & 0xFF == _REPLY, f"BMv2's Thrift server refused {method}"
        answer = 0
        while (kind := self._read(1)[0]) != _STOP:
            (field,) = struct.unpack("!h", self._read(2))
            assert field == 0 and kind in (_I32, _I64), f"BMv2 answered {method} with an exception"
            answer = int.from_bytes(self._read(4 if kind == _I32 else 8), "big", signed=True)
        return answer

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            assert piece, "BMv2 closed its Thrift connection"
            data += piece
        return data


def _string(text: str) -> bytes:
    return struct.pack("!i", len(text)) + text.encode()


def _integer(kind: int, value: int) -> bytes:
    return struct.pack("!i" if kind == _I32 else "!q", value)

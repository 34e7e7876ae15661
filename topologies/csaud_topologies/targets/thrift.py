"""The few calls of BMv2's Thrift service that P4Runtime has no words for: queue depths and rates.

Thrift's strict binary protocol over a plain TCP connection, multiplexed by service name (Apache Thrift,
"Binary protocol encoding" and TMultiplexedProtocol); the calls are those of BMv2's simple_switch.thrift.
"""

from __future__ import annotations

import socket
import struct

from csaud_topologies.errors import RunError

_VERSION_1 = 0x80010000
_CALL = 1
_REPLY = 2
_STOP, _I32, _I64 = 0, 8, 10


def encode_call(method: str, sequence: int, arguments: list[tuple[int, int]]) -> bytes:
    """One call message; arguments are (Thrift type, value) with field ids from 1."""
    name = f"simple_switch:{method}".encode()
    message = struct.pack("!Ii", _VERSION_1 | _CALL, len(name)) + name
    message += struct.pack("!i", sequence)
    for index, (kind, value) in enumerate(arguments, start=1):
        message += struct.pack("!bh", kind, index) + struct.pack("!q" if kind == _I64 else "!i", value)
    return message + bytes([_STOP])


class SimpleSwitchThrift:
    """A connection to one simple_switch; use as a context manager."""

    def __init__(self, connection: socket.socket, switch: str) -> None:
        self._socket = connection
        self._switch = switch
        self._sequence = 0

    def __enter__(self) -> SimpleSwitchThrift:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def set_queue_depth(self, port: int, priority: int, packets: int) -> None:
        """Packets that one priority queue of a port holds."""
        self._call("set_egress_priority_queue_depth", [(_I32, port), (_I32, priority), (_I32, packets)])

    def set_queue_rate(self, port: int, priority: int, packets_per_s: int) -> None:
        """Packets/s that leave one priority queue of a port; each priority has a rate of its own."""
        self._call("set_egress_priority_queue_rate", [(_I32, port), (_I32, priority), (_I64, packets_per_s)])

    def _call(self, method: str, arguments: list[tuple[int, int]]) -> None:
        self._sequence += 1
        self._socket.sendall(encode_call(method, self._sequence, arguments))
        (header,) = struct.unpack("!I", self._read(4))
        (length,) = struct.unpack("!i", self._read(4))
        self._read(length)  # the method's name again
        self._read(4)  # its sequence number
        if header & 0xFF != _REPLY:
            raise RunError(f"{self._switch}: BMv2's Thrift server refused {method}")
        kind = self._read(1)[0]
        value = 0
        while kind != _STOP:  # a result struct: field 0 is the i32 return value
            self._read(2)
            (value,) = struct.unpack("!i", self._read(4))
            kind = self._read(1)[0]
        if value != 0:
            raise RunError(
                f"{self._switch}: BMv2 answered {value} to {method}{tuple(v for _, v in arguments)}"
            )

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            if not piece:
                raise RunError(f"{self._switch}: BMv2's Thrift server closed the connection")
            data += piece
        return data

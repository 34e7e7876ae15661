"""The few calls of BMv2's Thrift service that P4Runtime has no words for: queue depths and rates.

Thrift's strict binary protocol over a plain TCP connection, multiplexed by service name (Apache Thrift,
"Binary protocol encoding" and TMultiplexedProtocol); the calls are those of BMv2's simple_switch.thrift.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Self

from csaud_runs.errors import RunError

_VERSION_1 = 0x80010000
_CALL = 1
_REPLY = 2
I32, I64, STRING = 8, 10, 11
"""Types of arguments."""
_STOP = 0
_INTEGERS = {I32: "!i", I64: "!q"}
_RETRY_S = 0.05
_ANSWER_LIMIT_S = 20.0


Argument = tuple[int, int | str]
"""Thrift type and value."""


def encode_call(
    method: str, sequence: int, arguments: Sequence[Argument], service: str = "simple_switch"
) -> bytes:
    """One call message; the fields of the arguments are numbered from 1."""
    name = f"{service}:{method}".encode()
    message = struct.pack("!Ii", _VERSION_1 | _CALL, len(name)) + name
    message += struct.pack("!i", sequence)
    for index, (kind, value) in enumerate(arguments, start=1):
        message += struct.pack("!bh", kind, index) + _encode(kind, value)
    return message + bytes([_STOP])


def _encode(kind: int, value: int | str) -> bytes:
    if isinstance(value, str):
        return struct.pack("!i", len(value.encode())) + value.encode()
    return struct.pack(_INTEGERS[kind], value)


class SimpleSwitchThrift:
    """A connection to one simple_switch; use as a context manager."""

    def __init__(self, connection: socket.socket, switch: str) -> None:
        self._socket = connection
        self._switch = switch
        self._sequence = 0

    @classmethod
    def when_ready(
        cls,
        connect: Callable[[], socket.socket],
        switch: str,
        *,
        limit_s: float = 20.0,
        check: Callable[[], None] = lambda: None,
    ) -> Self:
        """A connection whose service has answered a call. While BMv2 starts it listens before the service is
        registered, refuses the first call then and closes the connection.

        `check` raises when the process has ended. RunError when there is no answer within limit_s.
        """
        deadline = time.monotonic() + limit_s
        said: Exception | None = None  # by the try before the last one, which has less and less time
        while True:
            check()
            try:
                return cls._answering(connect, switch, deadline)
            except (ConnectionError, RunError) as error:
                if time.monotonic() > deadline:
                    raise RunError(
                        f"{switch}: BMv2's Thrift service did not come up within {limit_s:.0f} s "
                        f"({said or error})"
                    ) from None
                said = error
                time.sleep(_RETRY_S)

    @classmethod
    def _answering(cls, connect: Callable[[], socket.socket], switch: str, deadline: float) -> Self:
        connection = connect()
        try:
            connection.settimeout(max(deadline - time.monotonic(), _RETRY_S))
            client = cls(connection, switch)
            client.uptime_us()
            connection.settimeout(_ANSWER_LIMIT_S)
        except BaseException:
            connection.close()
            raise
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def uptime_us(self) -> int:
        """Microseconds since the switch started."""
        return self.call("get_time_elapsed_us")

    def set_queue_depth(self, port: int, priority: int, packets: int) -> None:
        """Packets that one priority queue of a port holds."""
        self.set("set_egress_priority_queue_depth", (I32, port), (I32, priority), (I32, packets))

    def set_queue_rate(self, port: int, priority: int, packets_per_s: int) -> None:
        """Packets/s that leave one priority queue of a port; each priority has a rate of its own."""
        self.set("set_egress_priority_queue_rate", (I32, port), (I32, priority), (I64, packets_per_s))

    def set(self, method: str, *arguments: Argument) -> None:
        """A call of simple_switch that returns 0; RunError when it returns something else."""
        if (value := self.call(method, *arguments)) != 0:
            raise RunError(
                f"{self._switch}: BMv2 answered {value} to {method}{tuple(v for _, v in arguments)}"
            )

    def call(self, method: str, *arguments: Argument, service: str = "simple_switch") -> int:
        """The integer that a method returns; 0 where it returns nothing. RunError when it is refused."""
        self._sequence += 1
        self._send(encode_call(method, self._sequence, arguments, service))
        (header,) = struct.unpack("!I", self._read(4))
        self._read_string()  # the method's name again
        self._read(4)  # its sequence number
        if header & 0xFF != _REPLY:
            raise RunError(f"{self._switch}: BMv2's Thrift server refused {method}{self._reason()}")
        result = 0
        while (kind := self._read(1)[0]) != _STOP:  # a struct: field 0 is the value, others are exceptions
            (field,) = struct.unpack("!h", self._read(2))
            if field != 0 or kind not in _INTEGERS:
                raise RunError(f"{self._switch}: BMv2's Thrift server refused {method}")
            (result,) = struct.unpack(_INTEGERS[kind], self._read(struct.calcsize(_INTEGERS[kind])))
        return result

    def _reason(self) -> str:
        """What a TApplicationException says: a struct of which field 1 is the message."""
        if self._read(1)[0] != STRING or struct.unpack("!h", self._read(2)) != (1,):
            return ""
        return f": {self._read_string().decode(errors='replace')}"

    def _read_string(self) -> bytes:
        (length,) = struct.unpack("!i", self._read(4))
        return self._read(length)

    def _send(self, message: bytes) -> None:
        try:
            self._socket.sendall(message)
        except ConnectionError:
            raise RunError(f"{self._switch}: BMv2's Thrift server closed the connection") from None

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except TimeoutError:
                raise RunError(f"{self._switch}: no answer from BMv2's Thrift server") from None
            except ConnectionError:
                piece = b""
            if not piece:
                raise RunError(f"{self._switch}: BMv2's Thrift server closed the connection")
            data += piece
        return data

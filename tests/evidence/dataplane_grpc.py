"""simple_switch_grpc's gRPC input: packets go in one by one, and the sender waits while the switch has no
room. So nothing is dropped before the program sees it, as the packet sockets of its ports do.

The messages are those of behavioral-model's services/proto/p4/bm/dataplane_interface.proto, written and read
by hand: fields 1 id, 2 device_id, 3 port, 4 packet.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

import grpc

_METHOD = "/p4.bm.DataplaneInterface/PacketStream"
_READY_WITHIN_S = 20.0

Input = tuple[int, bytes]
"""(port, frame)"""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _request(device_id: int) -> Callable[[Input], bytes]:
    device = b"\x10" + _varint(device_id)

    def serialize(item: Input) -> bytes:
        port, frame = item
        return device + b"\x18" + _varint(port) + b"\x22" + _varint(len(frame)) + frame

    return serialize


def _response(data: bytes) -> Input:
    at, port, packet = 0, 0, b""
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == 2:
            size, at = _read_varint(data, at)
            packet, at = data[at : at + size], at + size
        else:
            value, at = _read_varint(data, at)
            port = value if tag >> 3 == 3 else port
    return port, packet


class DataplaneStream:
    """The switch's only dataplane client. What comes out is given to `received(port, frame)`, in a thread."""

    def __init__(self, address: str, device_id: int, received: Callable[[int, bytes], None]) -> None:
        self._channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(self._channel).result(_READY_WITHIN_S)
        self._inputs: queue.Queue[Input | None] = queue.Queue(maxsize=64)
        call = self._channel.stream_stream(
            _METHOD, request_serializer=_request(device_id), response_deserializer=_response
        )
        self._responses = call(self._next())
        self._received = received
        self.failure: str | None = None
        self._thread = threading.Thread(target=self._receive)
        self._thread.start()

    def _next(self) -> Iterator[Input]:
        while (item := self._inputs.get()) is not None:
            yield item

    def _receive(self) -> None:
        try:
            for port, frame in self._responses:
                self._received(port, frame)
        except grpc.RpcError as error:
            self.failure = str(error)

    def send(self, port: int, frame: bytes) -> None:
        """Waits while the switch takes no more."""
        if self.failure is not None:
            raise ConnectionError(self.failure)
        self._inputs.put((port, frame))

    def finish(self, limit_s: float) -> None:
        """No more goes in; returns when the switch has dealt with all that it has, which is when it ends the
        stream. TimeoutError when that takes too long, ConnectionError when the stream broke.
        """
        self._inputs.put(None)
        self._thread.join(limit_s)
        if self._thread.is_alive():
            raise TimeoutError(f"packets are still on their way {limit_s} s after the last went in")
        if self.failure is not None:
            raise ConnectionError(self.failure)

    def close(self) -> None:
        """Idempotent; what is still on its way is given up."""
        self._responses.cancel()
        self._channel.close()
        self._thread.join()

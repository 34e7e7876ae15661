"""P4Runtime v1 over gRPC (asyncio): puts a Device behind an address."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from csaud_softswitch.p4runtime.address import AddressError, claim, release
from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.errors import BatchError, Code, P4RuntimeError, invalid
from csaud_softswitch.p4runtime.proto import p4r, p4r_grpc, rpc_status

MAX_MESSAGE = 256 << 20
"""Bytes of a request: a pipeline config, or a batch of some 100,000 updates."""

WRITE_CHUNK = 500
"""Updates of one Write after which others have their turn: reads, streams, and the process's other
switches.
"""

MAX_QUEUED_PACKETS = 10_000
"""Messages that wait for a slow controller; packets beyond that are dropped and counted."""

_STOP_GRACE_S = 1.0
"""What calls have to finish when the server stops."""

_MAX_STATUS = 7_000
"""Bytes of an error's details: gRPC clients refuse more than 8 KiB of metadata unless told otherwise."""
_MAX_MESSAGE_TEXT = 500

_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}
_log = logging.getLogger(__name__)

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class StreamSession:
    """One controller's StreamChannel: what waits to be sent to it."""

    def __init__(self) -> None:
        self._waiting: deque[p4r.StreamMessageResponse] = deque()
        self._wake = asyncio.Event()
        self._end: P4RuntimeError | None = None
        self._ended = False

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        if message.HasField("packet") and len(self._waiting) >= MAX_QUEUED_PACKETS:
            return False
        self._waiting.append(message)
        self._wake.set()
        return True

    def end(self, error: P4RuntimeError | None) -> None:
        """Send what waits, then end the stream, with an error or without."""
        self._end, self._ended = error, True
        self._wake.set()

    async def messages(self) -> AsyncIterator[p4r.StreamMessageResponse]:
        """What to send, until end(); raises its error."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._ended:
                if self._end is not None:
                    raise self._end
                return
            self._wake.clear()
            await self._wake.wait()


class P4RuntimeService(p4r_grpc.P4RuntimeServicer):
    """The RPCs of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._sessions: set[StreamSession] = set()
        self._changes = asyncio.Lock()

    def end_streams(self) -> None:
        """Tell every controller that the switch goes away."""
        for session in self._sessions:
            session.end(P4RuntimeError(Code.UNAVAILABLE, f"{self._device.name} is stopping"))

    async def Write(self, request: p4r.WriteRequest, context: Context) -> p4r.WriteResponse:
        try:
            async with self._changes:
                batch = self._device.begin_write(request)
                while batch.step(WRITE_CHUNK):
                    await asyncio.sleep(0)
                batch.finish()
        except P4RuntimeError as error:
            await _abort(context, error)
        return p4r.WriteResponse()

    async def Read(self, request: p4r.ReadRequest, context: Context) -> AsyncIterator[p4r.ReadResponse]:
        try:
            for response in self._device.read(request):
                yield response
        except P4RuntimeError as error:
            await _abort(context, error)

    async def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, context: Context
    ) -> p4r.SetForwardingPipelineConfigResponse:
        try:
            async with self._changes:
                self._device.set_pipeline(request)
        except P4RuntimeError as error:
            await _abort(context, error)
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(
        self, request: p4r.GetForwardingPipelineConfigRequest, context: Context
    ) -> p4r.GetForwardingPipelineConfigResponse:
        try:
            return self._device.get_pipeline(request)
        except P4RuntimeError as error:
            await _abort(context, error)
            raise

    async def Capabilities(
        self, request: p4r.CapabilitiesRequest, context: Context
    ) -> p4r.CapabilitiesResponse:
        return self._device.capabilities()

    async def StreamChannel(
        self, requests: AsyncIterator[p4r.StreamMessageRequest], context: Context
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        session = StreamSession()
        self._sessions.add(session)
        reader = asyncio.create_task(self._receive(session, requests))
        try:
            async for message in session.messages():
                yield message
            await reader
        except P4RuntimeError as error:
            await _abort(context, error)
        finally:
            reader.cancel()
            self._sessions.discard(session)
            self._device.end_stream(session)

    async def _receive(
        self, session: StreamSession, requests: AsyncIterator[p4r.StreamMessageRequest]
    ) -> None:
        error: P4RuntimeError | None = None
        try:
            async for request in requests:
                self._device.stream_message(session, request)
        except P4RuntimeError as refused:
            error = refused
        except DecodeError as malformed:
            error = invalid(str(malformed))
        finally:
            session.end(error)


class P4RuntimeServer:
    """A device's gRPC server on one or more addresses."""

    def __init__(self, device: Device, addresses: list[str]) -> None:
        self.device = device
        self.addresses = addresses
        self._service = P4RuntimeService(device)
        self._server: grpc.aio.Server | None = None
        self._claimed: list[str] = []

    async def start(self) -> None:
        """Listen. AddressError when an address cannot be had; none is then left behind."""
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE),
                ("grpc.max_send_message_length", MAX_MESSAGE),
                ("grpc.so_reuseport", 0),
            ]
        )
        p4r_grpc.add_P4RuntimeServicer_to_server(self._service, self._server)
        try:
            for address in self.addresses:
                claim(address)
                try:
                    self._server.add_insecure_port(address)
                except RuntimeError as error:
                    raise AddressError(f"{address}: {error}") from error
                self._claimed.append(address)
        except AddressError:
            self._release()
            raise
        await self._server.start()
        asyncio.get_running_loop().add_reader(self.device.switch.packet_in_fd(), self.device.pump_packet_in)
        _log.info("%s: P4Runtime on %s", self.device.name, ", ".join(self.addresses))

    async def stop(self) -> None:
        """End every stream and stop listening. Idempotent."""
        if self._server is None:
            return
        server, self._server = self._server, None
        asyncio.get_running_loop().remove_reader(self.device.switch.packet_in_fd())
        self._service.end_streams()
        await server.stop(grace=_STOP_GRACE_S)
        self._release()

    def _release(self) -> None:
        for address in self._claimed:
            release(address)
        self._claimed.clear()


async def _abort(context: Context, error: P4RuntimeError) -> None:
    """End an RPC with an error; its details are those of google.rpc.Status, as P4Runtime wants them."""
    status = _limited_status(error)
    await context.abort(
        _STATUS_CODES[int(error.code)],
        status.message,
        trailing_metadata=(("grpc-status-details-bin", status.SerializeToString()),),
    )


def _limited_status(error: P4RuntimeError) -> rpc_status.Status:
    """The error's status, cut so that it fits into gRPC's metadata.

    The details of a long batch are cut after its first failure; where even that is too long, only the
    message says which update it was.
    """
    status = error.to_status()
    status.message = status.message[:_MAX_MESSAGE_TEXT]
    if not isinstance(error, BatchError) or status.ByteSize() <= _MAX_STATUS:
        return status
    first = next(number for number, result in enumerate(error.results) if result is not None)
    status.message = f"{status.message} (update {first} of the batch)"
    del status.details[first + 1 :]
    if status.ByteSize() > _MAX_STATUS:
        del status.details[:]
    return status

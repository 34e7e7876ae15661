"""P4Runtime v1 over gRPC (asyncio): puts a Device behind an address."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from csaud_softswitch.p4runtime.address import AddressError, claim, release
from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.errors import BatchError, Code, P4RuntimeError, invalid
from csaud_softswitch.p4runtime.proto import p4r, rpc_status
from csaud_softswitch.p4runtime.tls import ServerTls

MAX_MESSAGE = 256 << 20
"""Bytes of a request: a pipeline config, or a batch of some 100,000 updates."""

WRITE_CHUNK = 500
"""Updates of one Write after which others have their turn: reads, streams, and the process's other
switches.
"""

MAX_QUEUED_PACKETS = 10_000
"""Messages that wait for a slow controller; beyond that packets, digests, idle entries and errors are
dropped.
"""

MAX_QUEUED_BYTES = 32 << 20
"""The same in bytes."""

_STOP_GRACE_S = 1.0
"""What calls have to finish when the server stops."""

_MAX_STATUS = 7_000
"""Bytes of an error's details: gRPC clients refuse more than 8 KiB of metadata unless told otherwise."""
_MAX_MESSAGE_TEXT = 500

_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}
_log = logging.getLogger(__name__)

_Make: TypeAlias = "Callable[..., grpc.RpcMethodHandler]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class StreamSession:
    """One controller's StreamChannel: what waits to be sent to it."""

    def __init__(self) -> None:
        self._waiting: deque[p4r.StreamMessageResponse] = deque()
        self._waiting_bytes = 0
        self._wake = asyncio.Event()
        self._end: P4RuntimeError | None = None
        self._ended = False

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        if message.HasField("arbitration"):
            if len(self._waiting) >= 2 * MAX_QUEUED_PACKETS:
                self.end(P4RuntimeError(Code.RESOURCE_EXHAUSTED, "this controller does not read its stream"))
                return False
        elif len(self._waiting) >= MAX_QUEUED_PACKETS or self._waiting_bytes >= MAX_QUEUED_BYTES:
            return False
        self._waiting.append(message)
        self._waiting_bytes += message.ByteSize()
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
                message = self._waiting.popleft()
                self._waiting_bytes -= message.ByteSize()
                yield message
            if self._ended:
                if self._end is not None:
                    raise self._end
                return
            self._wake.clear()
            await self._wake.wait()


class P4RuntimeService:
    """The RPCs of one device."""

    def __init__(self, device: Device, changed: Callable[[], None]) -> None:
        """`changed` is called when a request may have changed what the device has to do next, and when."""
        self._device = device
        self._changed = changed
        self._sessions: set[StreamSession] = set()
        self._state = asyncio.Lock()
        """Held by whoever reads or changes the forwarding state, so that a read sees whole writes, and a new
        primary takes over between them.
        """

    def end_streams(self) -> None:
        """Tell every controller that the switch goes away."""
        for session in self._sessions:
            session.end(P4RuntimeError(Code.UNAVAILABLE, f"{self._device.name} is stopping"))

    async def Write(self, request: p4r.WriteRequest, context: Context) -> p4r.WriteResponse:
        try:
            async with self._state:
                batch = self._device.begin_write(request)
                try:
                    while batch.step(WRITE_CHUNK):
                        await asyncio.sleep(0)
                except asyncio.CancelledError:  # the client has gone, or its deadline
                    batch.give_up()
                    raise
                batch.finish()
        except P4RuntimeError as error:
            await _abort(context, error)
        finally:
            self._changed()
        return p4r.WriteResponse()

    async def Read(self, request: p4r.ReadRequest, context: Context) -> AsyncIterator[bytes]:
        """Responses come serialized: what was read waits in that form until the client takes it."""
        responses: list[bytes] = []
        refused: P4RuntimeError | None = None
        async with self._state:
            try:
                for response in self._device.read(request):
                    responses.append(response.SerializeToString())
                    await asyncio.sleep(0)
            except P4RuntimeError as error:
                refused = error
        for serialized in responses:
            yield serialized
        if refused is not None:
            await _abort(context, refused)

    async def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, context: Context
    ) -> p4r.SetForwardingPipelineConfigResponse:
        try:
            async with self._state:
                self._device.set_pipeline(request)
        except P4RuntimeError as error:
            await _abort(context, error)
        finally:
            self._changed()
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
                if request.HasField("arbitration"):
                    async with self._state:
                        self._device.stream_message(session, request)
                else:
                    self._device.stream_message(session, request)
        except P4RuntimeError as refused:
            error = refused
        except DecodeError as malformed:
            error = invalid(str(malformed))
        finally:
            session.end(error)


class P4RuntimeServer:
    """A device's gRPC server on one or more addresses."""

    def __init__(self, device: Device, addresses: list[str], tls: ServerTls | None = None) -> None:
        self.device = device
        self.addresses = addresses
        self._tls = tls
        self._service = P4RuntimeService(device, self._schedule)
        self._server: grpc.aio.Server | None = None
        self._claimed: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Listen. AddressError or TlsError when that cannot be; nothing is then left behind."""
        credentials = None if self._tls is None else self._tls.credentials()
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE),
                ("grpc.max_send_message_length", MAX_MESSAGE),
                ("grpc.so_reuseport", 0),
            ]
        )
        server.add_generic_rpc_handlers((_handlers(self._service),))
        try:
            for address in self.addresses:
                claim(address)
                try:
                    if credentials is None:
                        server.add_insecure_port(address)
                    else:
                        server.add_secure_port(address, credentials)
                except RuntimeError as error:
                    raise AddressError(f"{address}: {error}") from error
                self._claimed.append(address)
        except AddressError:
            self._release()
            raise
        self._server = server
        await server.start()
        asyncio.get_running_loop().add_reader(self.device.switch.packet_in_fd(), self._pump)
        self._schedule()
        _log.info("%s: P4Runtime on %s", self.device.name, ", ".join(self.addresses))

    async def stop(self) -> None:
        """End every stream and stop listening. Idempotent."""
        if self._server is None:
            return
        server, self._server = self._server, None
        asyncio.get_running_loop().remove_reader(self.device.switch.packet_in_fd())
        if self._timer is not None:
            self._timer.cancel()
        self._service.end_streams()
        await server.stop(grace=_STOP_GRACE_S)
        self._release()

    def _pump(self) -> None:
        self.device.pump(time.monotonic_ns(), time.time_ns())
        self._schedule()

    def _schedule(self) -> None:
        """Set the timer for what the device has to do next though nothing happens."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic_ns()
        due = self.device.notifications.deadline(now)
        if due is not None and self._server is not None:
            delay = max(0, due - now) / 1e9
            self._timer = asyncio.get_running_loop().call_later(delay, self._pump)

    def _release(self) -> None:
        for address in self._claimed:
            release(address)
        self._claimed.clear()


def _handlers(service: P4RuntimeService) -> grpc.GenericRpcHandler:
    """What add_P4RuntimeServicer_to_server makes, but for Read, whose responses are serialized already."""
    unary: _Make = grpc.unary_unary_rpc_method_handler
    reading: _Make = grpc.unary_stream_rpc_method_handler
    streaming: _Make = grpc.stream_stream_rpc_method_handler
    methods = {
        name: unary(
            _one(getattr(service, name)),
            _parser(getattr(p4r, f"{name}Request").FromString),
            getattr(p4r, f"{name}Response").SerializeToString,
        )
        for name in ("Write", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig", "Capabilities")
    }
    methods["Read"] = reading(_many(service.Read), _parser(p4r.ReadRequest.FromString), bytes)
    methods["StreamChannel"] = streaming(
        service.StreamChannel,
        p4r.StreamMessageRequest.FromString,
        p4r.StreamMessageResponse.SerializeToString,
    )
    make: Callable[..., grpc.GenericRpcHandler] = grpc.method_handlers_generic_handler
    return make("p4.v1.P4Runtime", methods)


def _parser(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """gRPC answers UNKNOWN when a request cannot be parsed; here the error takes the request's place."""

    def parser(serialized: bytes) -> Any:
        try:
            return parse(serialized)
        except DecodeError as error:
            return invalid(str(error))

    return parser


def _one(method: Callable[[Any, Context], Awaitable[Any]]) -> Callable[[Any, Context], Awaitable[Any]]:
    async def call(request: Any, context: Context) -> Any:
        if isinstance(request, P4RuntimeError):
            await _abort(context, request)
        return await method(request, context)

    return call


def _many(method: Callable[[Any, Context], AsyncIterator[bytes]]) -> Callable[..., AsyncIterator[bytes]]:
    async def call(request: Any, context: Context) -> AsyncIterator[bytes]:
        if isinstance(request, P4RuntimeError):
            await _abort(context, request)
        async for response in method(request, context):
            yield response

    return call


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

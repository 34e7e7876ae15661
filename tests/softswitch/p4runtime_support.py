"""A switch behind a real gRPC server on a Unix socket, and a client that speaks plain P4Runtime to it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import grpc
from csaud_softswitch import _core
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.p4info_index import build_index
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r, p4r_grpc, rpc_status
from csaud_softswitch.p4runtime.server import P4RuntimeServer
from csaud_softswitch.program_file import read_config
from google.protobuf.message import Message

PROGRAM = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
CONFIG = read_config(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"))
INDEX: P4InfoIndex = build_index(CONFIG.p4info)
NAMES = Names(INDEX)
DEVICE_ID = 7
PORTS = (1, 2, 3, 4, 5)
WAIT_S = 60.0
T = TypeVar("T")


class Served:
    """One switch in virtual time, served by a thread of its own that runs the asyncio server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.fabric = _core.Fabric()
        switch = self.fabric.add_switch("l1", DEVICE_ID)
        for port in PORTS:
            self.fabric.add_memory_port("l1", port)
        self.device = Device(switch)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = P4RuntimeServer(self.device, [address])
        self._run(self._server.start)

    def _run(self, call: Callable[[], object]) -> None:
        future: Future[object] = asyncio.run_coroutine_threadsafe(call(), self._loop)  # type: ignore[arg-type]
        future.result(WAIT_S)

    def on_loop(self, call: Callable[[], T]) -> T:
        """Run `call` where the server runs, so that nothing of it happens at the same time."""

        async def run() -> T:
            return call()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(WAIT_S)

    def run(self, call: Callable[[], Coroutine[object, object, T]]) -> T:
        """Run a coroutine where the server runs."""
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(WAIT_S)

    def inject(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Let a frame arrive; returns what leaves by ports. Packet-ins go to the controller."""

        def run() -> list[tuple[int, bytes]]:
            now = self.fabric.now + 1_000_000
            self.fabric.inject("l1", port, frame, now)
            self.fabric.advance(now + 1_000_000)
            return self.poll()

        return self.on_loop(run)

    def poll(self) -> list[tuple[int, bytes]]:
        self.fabric.advance(self.fabric.now + 1_000_000)
        return [(port, frame) for _, port, frame, _ in self.fabric.poll()]

    def close(self) -> None:
        self._run(self._server.stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()


class Client:
    """A controller with its stream; every call is a real RPC."""

    def __init__(
        self, address: str, election_id: int | None = 1, role: str = "", device_id: int = DEVICE_ID
    ) -> None:
        """election_id None: the controller has none, and is a backup for ever."""
        self.device_id = device_id
        self.election_id = election_id
        self.role = role
        self.channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])
        grpc.channel_ready_future(self.channel).result(WAIT_S)
        self.stub = p4r_grpc.P4RuntimeStub(self.channel)
        self._outbox: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self.inbox: queue.Queue[p4r.StreamMessageResponse | grpc.RpcError] = queue.Queue()
        responses = self.stub.StreamChannel(iter(self._outbox.get, None))
        threading.Thread(target=self._receive, args=(responses,), daemon=True).start()

    def _receive(self, responses: Iterable[p4r.StreamMessageResponse]) -> None:
        try:
            for response in responses:
                self.inbox.put(response)
        except grpc.RpcError as error:
            self.inbox.put(error)

    def send(self, request: p4r.StreamMessageRequest) -> None:
        self._outbox.put(request)

    def receive(self) -> p4r.StreamMessageResponse:
        """The next message of the stream; raises its error when it has ended with one."""
        message = self.inbox.get(timeout=WAIT_S)
        if isinstance(message, grpc.RpcError):
            raise message
        return message

    def arbitrate(
        self,
        election_id: int | None = None,
        device_id: int | None = None,
        role_config: Message | None = None,
    ) -> Code:
        """Introduce this controller; returns the status of the answer."""
        self.introduce(election_id, device_id, role_config)
        return self.status()

    def introduce(
        self,
        election_id: int | None = None,
        device_id: int | None = None,
        role_config: Message | None = None,
    ) -> None:
        if election_id is not None:
            self.election_id = election_id
        hello = p4r.StreamMessageRequest()
        hello.arbitration.device_id = self.device_id if device_id is None else device_id
        self._identify(hello.arbitration)
        if self.role:
            hello.arbitration.role.name = self.role
        if role_config is not None:
            hello.arbitration.role.config.Pack(role_config)
        self.send(hello)

    def _identify(self, message: p4r.MasterArbitrationUpdate | p4r.WriteRequest) -> None:
        if self.election_id is not None:
            message.election_id.high = self.election_id >> 64
            message.election_id.low = self.election_id & (1 << 64) - 1

    def status(self) -> Code:
        """The status of the next arbitration message."""
        message = self.receive()
        assert message.HasField("arbitration"), message
        return Code(message.arbitration.status.code)

    def set_pipeline(
        self,
        action: str = "VERIFY_AND_COMMIT",
        config: p4r.ForwardingPipelineConfig | None = CONFIG,
    ) -> None:
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device_id, role=self.role, config=config
        )
        self._identify(request)
        request.action = p4r.SetForwardingPipelineConfigRequest.Action.Value(action)
        self.stub.SetForwardingPipelineConfig(request)

    def write(self, *updates: dict | p4r.Update, atomicity: str = "CONTINUE_ON_ERROR") -> None:
        """One Write; updates by name (see csaud_softswitch.exchange.names) or as protobufs."""
        request = p4r.WriteRequest(device_id=self.device_id, role=self.role)
        request.atomicity = p4r.WriteRequest.Atomicity.Value(atomicity)
        self._identify(request)
        for update in updates:
            request.updates.append(update if isinstance(update, p4r.Update) else NAMES.update(update))
        self.stub.Write(request)

    def read(self, **entity: object) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=self.device_id, entities=[p4r.Entity(**entity)])
        return [found for response in self.stub.Read(request) for found in response.entities]

    def close(self) -> None:
        self._outbox.put(None)
        self.channel.close()


@contextmanager
def refused(code: Code, text: str = "") -> Iterator[None]:
    """The RPC inside ends with this canonical code, and a message that has `text` in it."""
    try:
        yield
    except grpc.RpcError as error:
        assert error.code().value[0] == code, error
        assert text in error.details(), error.details()
    else:
        raise AssertionError(f"not refused; expected {code.name}")


def update_codes(error: grpc.RpcError) -> list[Code]:
    """The canonical code of each update of a Write that failed."""
    [details] = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    codes = []
    for detail in rpc_status.Status.FromString(details).details:
        one = p4r.Error()
        assert detail.Unpack(one)
        codes.append(Code(one.canonical_code))
    return codes


def entries(client: Client, **wanted: object) -> list[p4r.TableEntry]:
    """The table entries that a read of this description answers."""
    return [found.table_entry for found in client.read(table_entry=p4r.TableEntry(**wanted))]


@contextmanager
def refused_read(code: Code, text: str = "") -> Iterator[None]:
    """The Read inside is of one entity, which is refused with this code and a message with `text` in it."""
    try:
        yield
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNKNOWN, error
        assert update_codes(error) == [code], error
        assert text in error.details(), error.details()
    else:
        raise AssertionError(f"not refused; expected {code.name}")


def codes(client: Client, *updates: dict | p4r.Update, **options: str) -> list[Code]:
    """The code of each update of one batch."""
    try:
        client.write(*updates, **options)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNKNOWN
        return update_codes(error)
    return [Code.OK] * len(updates)


def entry(update: dict, **fields: object) -> p4r.Update:
    """The update with fields of its table entry set."""
    made = NAMES.update(update)
    for field, value in fields.items():
        if isinstance(value, (int, bytes, bool)):
            setattr(made.entity.table_entry, field, value)
        else:
            getattr(made.entity.table_entry, field).CopyFrom(value)
    return made

"""A P4Runtime controller of one switch, over gRPC: writes, reads, and its stream sorted by kind."""

from __future__ import annotations

import queue
import threading
import time
from functools import cached_property

import grpc
from csaud_softswitch.p4runtime.errors import Code, codes_of
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex, build_index
from csaud_softswitch.p4runtime.proto import p4r, p4r_grpc

CONNECT_LIMIT_S = 60.0
PATIENCE_S = 3.0


class Client:
    """The primary controller of the switch at a gRPC address."""

    def __init__(
        self, address: str, device_id: int, config: p4r.ForwardingPipelineConfig, election_id: int = 1
    ) -> None:
        self._device_id = device_id
        self._config = config
        self._election_id = election_id
        self._channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])
        try:
            grpc.channel_ready_future(self._channel).result(CONNECT_LIMIT_S)
        except grpc.FutureTimeoutError:
            raise TimeoutError(f"no P4Runtime server at {address} within {CONNECT_LIMIT_S:.0f} s") from None
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._outbox: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._arbitration: queue.Queue[p4r.MasterArbitrationUpdate] = queue.Queue()
        self._packets: queue.Queue[p4r.PacketIn] = queue.Queue()
        self._digests: queue.Queue[p4r.DigestList] = queue.Queue()
        self.stream_errors: list[p4r.StreamError] = []
        self._responses = self._stub.StreamChannel(iter(self._outbox.get, None))
        threading.Thread(target=self._receive, daemon=True).start()
        hello = p4r.StreamMessageRequest()
        hello.arbitration.device_id = device_id
        hello.arbitration.election_id.low = election_id
        self._outbox.put(hello)
        answer = self._arbitration.get(timeout=CONNECT_LIMIT_S)
        assert answer.status.code == Code.OK, f"not the primary controller of {address}: {answer}"

    @cached_property
    def index(self) -> P4InfoIndex:
        return build_index(self._config.p4info)

    def _receive(self) -> None:
        try:
            for response in self._responses:
                kind = response.WhichOneof("update")
                if kind == "arbitration":
                    self._arbitration.put(response.arbitration)
                elif kind == "packet":
                    self._packets.put(response.packet)
                elif kind == "digest":
                    self._digests.put(response.digest)
                elif kind == "error":
                    self.stream_errors.append(response.error)
        except grpc.RpcError:
            return  # the stream ends with the switch, or with us

    def close(self) -> None:
        self._outbox.put(None)
        self._channel.close()

    def load(self) -> None:
        """Load the program; what the switch told before is forgotten."""
        request = p4r.SetForwardingPipelineConfigRequest(device_id=self._device_id, config=self._config)
        request.election_id.low = self._election_id
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        self._stub.SetForwardingPipelineConfig(request)
        for box in (self._packets, self._digests):
            while not box.empty():
                box.get()

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        request = p4r.WriteRequest(device_id=self._device_id, updates=updates)
        request.election_id.low = self._election_id
        try:
            self._stub.Write(request)
        except grpc.RpcError as error:
            return codes_of(error, len(updates))
        return [Code.OK] * len(updates)

    def read(self, *entities: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=self._device_id, entities=entities)
        return [found for response in self._stub.Read(request) for found in response.entities]

    def packet_out(self, packet: p4r.PacketOut) -> None:
        self._outbox.put(p4r.StreamMessageRequest(packet=packet))

    def packet_ins(self, expected: int) -> list[p4r.PacketIn]:
        return _collect(self._packets, expected)

    def digests(self, expected: int) -> list[p4r.DigestList]:
        """Digest lists, acknowledged."""
        found = _collect(self._digests, expected)
        for message in found:
            ack = p4r.StreamMessageRequest()
            ack.digest_ack.digest_id = message.digest_id
            ack.digest_ack.list_id = message.list_id
            self._outbox.put(ack)
        return found


def _collect(box: queue.Queue, expected: int, linger_s: float = 0.1) -> list:
    """What is there once `expected` items have come, and a moment more for those that should not."""
    deadline = time.monotonic() + PATIENCE_S
    found: list = []
    while True:
        wait = deadline - time.monotonic() if len(found) < expected else linger_s
        try:
            found.append(box.get(timeout=max(wait, 0.001)))
        except queue.Empty:
            return found

"""The embedded switch in this process, in virtual time, as a target: a test takes no waiting."""

from __future__ import annotations

from collections.abc import Sequence

from csaud_softswitch._core import Fabric
from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.errors import BatchError, Code
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

from tests.p4.rig.switch import PORTS, Departure

NAME = "l1"
DEVICE_ID = 1


class _Stream:
    """The primary controller's."""

    def __init__(self) -> None:
        self.packets: list[p4r.PacketIn] = []
        self.digests: list[p4r.DigestList] = []

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        kind = message.WhichOneof("update")
        assert kind != "error", message
        if kind == "packet":
            self.packets.append(message.packet)
        elif kind == "digest":
            self.digests.append(message.digest)
        return True


class SoftSwitch:
    """A switch with memory ports."""

    abilities = frozenset({"virtual-time", "registers", "links", "rates", "no-live-path"})

    def __init__(self, config: p4r.ForwardingPipelineConfig) -> None:
        self._config = config
        self._now = 0
        self.fabric = Fabric(seed=1)
        self._make()

    def _make(self) -> None:
        self.fabric = Fabric(seed=1)
        self.core = self.fabric.add_switch(NAME, DEVICE_ID)
        for port in PORTS:
            self.fabric.add_memory_port(NAME, port, buffer_packets=2000)
        self._now = 0
        self._device = Device(self.core)
        self._stream = _Stream()
        hello = p4r.StreamMessageRequest()
        hello.arbitration.device_id = DEVICE_ID
        hello.arbitration.election_id.low = 1
        self._device.stream_message(self._stream, hello)
        request = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE_ID, config=self._config)
        request.election_id.low = 1
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        self._device.set_pipeline(request)

    @property
    def index(self) -> P4InfoIndex:
        return self._device.pipelines.state().index

    def reset(self) -> None:
        self._make()

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        request = p4r.WriteRequest(device_id=DEVICE_ID, updates=updates)
        request.election_id.low = 1
        try:
            self._device.write(request)
        except BatchError as error:
            return [Code.OK if result is None else result.code for result in error.results]
        return [Code.OK] * len(updates)

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=DEVICE_ID, entities=[entity])
        return [found for response in self._device.read(request) for found in response.entities]

    def exchange(
        self, frames: Sequence[tuple[int, bytes]], gap_ns: int, expected: int | None
    ) -> list[Departure]:
        for port, frame in frames:
            self.fabric.inject(NAME, port, frame, self._now)
            self._now += gap_ns
        return self._settle()

    def packet_out(self, packet: p4r.PacketOut, expected: int) -> list[Departure]:
        self._device.stream_message(self._stream, p4r.StreamMessageRequest(packet=packet))
        return self._settle()

    def packet_ins(self, expected: int) -> list[p4r.PacketIn]:
        self._device.pump(self._now, 0)
        found, self._stream.packets = self._stream.packets, []
        return found

    def digests(self, expected: int) -> list[p4r.DigestList]:
        self._device.pump(self._now, 0)
        found, self._stream.digests = self._stream.digests, []
        for message in found:
            ack = p4r.StreamMessageRequest()
            ack.digest_ack.digest_id = message.digest_id
            ack.digest_ack.list_id = message.list_id
            self._device.stream_message(self._stream, ack)
        return found

    def wait(self, nanoseconds: int) -> None:
        self._now += nanoseconds
        self.fabric.advance(self._now)

    def set_link(self, port: int, up: bool) -> None:
        self.fabric.set_link(NAME, port, up)

    def set_rate(self, port: int, frames_per_s: int, frame_bytes: int) -> None:
        self.fabric.set_port_queue(NAME, port, rate_bps=frames_per_s * frame_bytes * 8)

    def register_write(self, name: str, index: int, value: int) -> None:
        self.core.register_write(name, index, value)

    def register_read(self, name: str, index: int) -> int:
        return self.core.register_read(name, index)

    def _settle(self) -> list[Departure]:
        """Let everything happen that is due because of what went in."""
        while (event := self.fabric.next_event()) is not None:
            self._now = max(self._now, event)
            self.fabric.advance(self._now)
        return [Departure(port, frame) for _, port, frame, _ in self.fabric.poll()]

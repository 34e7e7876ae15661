"""The embedded switch as a target of exchanges: in this process, in virtual time, so a replay takes no
waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from csaud_softswitch import _core
from csaud_softswitch.exchange.target import Departure
from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.errors import BatchError, Code
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

_NAME = "switch"
_DEVICE_ID = 1
_ELECTION_ID = 1
_START_NS = 1_000_000_000
"""The program's clock is not 0 when the first frame comes."""
_STEP_NS = 1_000_000
"""Time between two inputs; the switch is quiet long before it is over."""
_PUMP_NS = 50_000_000
"""How often the process would look for what is due while nothing else happens."""


class _Controller:
    """The primary controller's stream."""

    def __init__(self) -> None:
        self.packets: list[p4r.PacketIn] = []
        self.errors: list[p4r.StreamError] = []
        self.messages: list[p4r.StreamMessageResponse] = []

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        kind = message.WhichOneof("update")
        if kind == "packet":
            self.packets.append(message.packet)
        elif kind == "error":
            self.errors.append(message.error)
        elif kind in ("digest", "idle_timeout_notification"):
            self.messages.append(message)
        return True


class SoftTarget:
    """A switch of the native core with a memory port for each of `ports`, and a primary controller."""

    def __init__(
        self,
        config: p4r.ForwardingPipelineConfig,
        ports: Sequence[int],
        *,
        cpu_port: int = 510,
        queues: int = 8,
        rate_bps: int = 0,
    ) -> None:
        """rate_bps: of each port; 0 is without limit."""
        self._fabric = _core.Fabric()
        switch = self._fabric.add_switch(_NAME, _DEVICE_ID, cpu_port=cpu_port, priority_queues=queues)
        for port in ports:
            self._fabric.add_memory_port(_NAME, port, rate_bps=rate_bps)
        self._device = Device(switch)
        self._controller = _Controller()
        hello = p4r.StreamMessageRequest()
        hello.arbitration.device_id = _DEVICE_ID
        hello.arbitration.election_id.low = _ELECTION_ID
        self._device.stream_message(self._controller, hello)
        request = p4r.SetForwardingPipelineConfigRequest(device_id=_DEVICE_ID, config=config)
        request.election_id.low = _ELECTION_ID
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        self._device.set_pipeline(request)
        self._now = _START_NS

    @property
    def identity(self) -> dict[str, str]:
        return {"target": "soft", "version": version("csaud")}

    @property
    def index(self) -> P4InfoIndex:
        return self._device.pipelines.state().index

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        return [code for code, _ in self.write_with_messages(updates)]

    def write_with_messages(self, updates: list[p4r.Update]) -> list[tuple[Code, str]]:
        """The message is empty where the code is OK."""
        request = p4r.WriteRequest(device_id=_DEVICE_ID, updates=updates)
        request.election_id.low = _ELECTION_ID
        try:
            self._device.write(request)
        except BatchError as error:
            results = error.results
            return [(Code.OK, "") if result is None else (result.code, result.message) for result in results]
        return [(Code.OK, "")] * len(updates)

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=_DEVICE_ID, entities=[entity])
        return [found for response in self._device.read(request) for found in response.entities]

    def send(self, port: int, frame: bytes) -> None:
        self._fabric.inject(_NAME, port, frame, self._now)
        self._settle()

    def send_packet_out(self, packet: p4r.PacketOut) -> None:
        self._device.stream_message(self._controller, p4r.StreamMessageRequest(packet=packet))
        if self._controller.errors:
            error = self._controller.errors.pop()
            raise ValueError(f"packet_out was refused: {error.message}")
        self._settle()

    def set_link(self, port: int, up: bool) -> None:
        self._fabric.set_link(_NAME, port, up)
        self._settle()

    def pause(self, seconds: float) -> None:
        end = self._now + round(seconds * 1e9)
        while self._now < end:
            self._now = min(end, self._now + _PUMP_NS)
            self._fabric.advance(self._now)
            self._device.pump(self._now, self._now)

    def messages(self) -> list[p4r.StreamMessageResponse]:
        found, self._controller.messages = self._controller.messages, []
        return found

    def acknowledge(self, ack: p4r.DigestListAck) -> None:
        self._device.stream_message(self._controller, p4r.StreamMessageRequest(digest_ack=ack))

    def departures(self, expected: int = 0) -> list[Departure]:
        return [Departure(port, frame) for _, port, frame, _ in self._fabric.poll()]

    def packet_ins(self) -> list[p4r.PacketIn]:
        found, self._controller.packets = self._controller.packets, []
        return found

    def _settle(self) -> None:
        self._now += _STEP_NS
        self._fabric.advance(self._now)
        self._device.pump(self._now, self._now)

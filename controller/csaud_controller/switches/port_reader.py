"""What ports have sent and what waits for them now: one request a switch each time it is asked, over channels
that stay open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import grpc
from finsy.proto import p4r

from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.packets import KINDS
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.readings import Readings

_SENT, _QUEUES = "egress_kind", "occupancy"
_SHADOW_OF_OTHERS = 128
"""A port has two shadows, of CSA and of other traffic: so far behind."""


class PortCounts(NamedTuple):
    """Of one port."""

    packets: int
    """DATA that has left, since the pipeline was loaded."""
    octets: int
    """The same in bytes of whole Ethernet frames without FCS, counted at the same moment."""
    queue: int | None
    """Packets that wait, in the P4 program's occupancy shadows; None where the target reads no registers,
    like simple_switch_grpc.
    """


class PortReader(Readings):
    """Use as a context manager. CountersError, here and below: the text names the switch and says why."""

    def __init__(self, fabric: Fabric, artifacts: Artifacts | None = None) -> None:
        schema = (artifacts or find_artifacts()).schema
        self._sent = next(c.id for c in schema.counters if c.name.rsplit(".", 1)[-1] == _SENT)
        self._queues = next(r.id for r in schema.registers if r.name.rsplit(".", 1)[-1] == _QUEUES)
        self._reads_registers = True
        self._fabric = fabric
        super().__init__(fabric)

    def read(self, timeout_s: float = 10.0) -> dict[tuple[str, int], PortCounts]:
        """All ports of all switches, by switch and port; all switches are asked at once."""
        return self.call(lambda: self._read(timeout_s))

    def _read(self, timeout_s: float) -> dict[tuple[str, int], PortCounts]:
        calls = [
            (name, stub.Read(self._request(name), timeout=timeout_s)) for name, stub in self.stubs.items()
        ]
        found: dict[tuple[str, int], PortCounts] = {}
        for name, replies in calls:
            try:
                found |= self._counts(name, replies)
            except grpc.RpcError as error:
                call = cast(Any, error)
                if self._reads_registers and call.code() == grpc.StatusCode.UNIMPLEMENTED:
                    self._reads_registers = False
                    return self._read(timeout_s)
                raise CountersError(f"{name}: counters cannot be read: {call.details()}") from None
        return found

    def _request(self, switch: str) -> Any:
        request = p4r.ReadRequest(device_id=self._fabric.switches[switch].device_id)
        for port in self._fabric.peers[switch]:
            counter = request.entities.add().counter_entry
            counter.counter_id, counter.index.index = self._sent, port * len(KINDS) + KINDS["data"]
            if self._reads_registers:
                for cell in (port, _SHADOW_OF_OTHERS + port):
                    register = request.entities.add().register_entry
                    register.register_id, register.index.index = self._queues, cell
        return request

    def _counts(self, switch: str, replies: Iterable[Any]) -> dict[tuple[str, int], PortCounts]:
        sent: dict[int, Any] = {}
        queues: dict[int, int] = {}
        for entity in (entity for reply in replies for entity in reply.entities):
            if entity.HasField("counter_entry"):
                sent[entity.counter_entry.index.index // len(KINDS)] = entity.counter_entry.data
            else:
                register = entity.register_entry
                port = register.index.index % _SHADOW_OF_OTHERS
                queues[port] = queues.get(port, 0) + int.from_bytes(register.data.bitstring, "big")
        return {
            (switch, port): PortCounts(sent[port].packet_count, sent[port].byte_count, queues.get(port))
            for port in self._fabric.peers[switch]
        }

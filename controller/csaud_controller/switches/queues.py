"""How many packets wait for each port now: the P4 program's occupancy shadow, a register, over P4Runtime."""

from __future__ import annotations

from typing import Any, cast

import grpc
from finsy.proto import p4r, p4r_grpc

from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.switches.counters import CountersError
from csaud_controller.switches.tls import open_channel

_REGISTER = "occupancy"


def read_queues(
    fabric: Fabric, artifacts: Artifacts | None = None, *, timeout_s: float = 10.0
) -> dict[str, dict[int, int]] | None:
    """{switch: {port: packets}} of all switches; None where the target reads no registers, like
    simple_switch_grpc.

    Raises:
        CountersError: a switch does not answer; the text names it.
    """
    artifacts = artifacts or find_artifacts()
    register = next(r.id for r in artifacts.schema.registers if r.name.rsplit(".", 1)[-1] == _REGISTER)
    depths: dict[str, dict[int, int]] = {}
    for name, spec in fabric.switches.items():
        if spec.p4runtime is None:
            raise CountersError(f"no P4Runtime address is known for {name}")
        request = p4r.ReadRequest(device_id=spec.device_id)
        for port in fabric.peers[name]:
            entry = request.entities.add().register_entry
            entry.register_id, entry.index.index = register, port
        with open_channel(fabric, name, spec.p4runtime) as channel:
            try:
                replies = list(p4r_grpc.P4RuntimeStub(channel).Read(request, timeout=timeout_s))
            except grpc.RpcError as error:
                if cast(Any, error).code() == grpc.StatusCode.UNIMPLEMENTED:
                    return None
                reason = cast(Any, error).details()
                raise CountersError(f"{name}: registers cannot be read: {reason}") from None
        entries = [entity.register_entry for reply in replies for entity in reply.entities]
        depths[name] = {e.index.index: int.from_bytes(e.data.bitstring, "big") for e in entries}
    return depths

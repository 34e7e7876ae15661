"""How many packets were looked up by routes, read over P4Runtime by whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import IPv4Address
from typing import Any, cast

import finsy as fy
import grpc
from finsy.proto import p4r

from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.readings import Readings

_TABLE = "ipv4_lpm"


def read_route_counts(
    fabric: Fabric,
    artifacts: Mapping[str, Artifacts],
    wanted: Mapping[str, Collection[int]],
    timeout_s: float = 10.0,
) -> dict[tuple[str, int], int]:
    """Packets by switch and address (a /32 route), since the route is there. `artifacts` are the programs of
    the switches. CountersError names the switch that did not answer."""

    def read(readings: Readings) -> dict[tuple[str, int], int]:
        calls = []
        for switch, stub in readings.stubs.items():
            request = p4r.ReadRequest(device_id=fabric.switches[switch].device_id)
            for address in wanted[switch]:
                key = fy.P4TableMatch(dst=f"{IPv4Address(address)}/32")
                entry = fy.P4DirectCounterEntry(table_entry=fy.P4TableEntry(_TABLE, match=key))
                request.entities.append(entry.encode(artifacts[switch].schema))
            calls.append((switch, stub.Read(request, timeout=timeout_s)))
        found: dict[tuple[str, int], int] = {}
        for switch, replies in calls:
            try:
                for entity in (entity for reply in replies for entity in reply.entities):
                    (match,) = entity.direct_counter_entry.table_entry.match
                    address = int.from_bytes(match.lpm.value, "big")
                    found[switch, address] = entity.direct_counter_entry.data.packet_count
            except grpc.RpcError as error:
                reason = cast(Any, error).details()
                raise CountersError(f"{switch}: routes cannot be counted: {reason}") from None
        return found

    with Readings(fabric, [name for name, addresses in wanted.items() if addresses]) as readings:
        return readings.call(lambda: read(readings))

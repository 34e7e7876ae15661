"""What switches take from hosts: their addresses and classes; where probes come from; queues by DSCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.policy.places import Where, at_port
from csaud_controller.program.entities import Entry, call, entry

Class = Annotated[int, Field(ge=0, le=7)]
Dscp = Annotated[int, Field(ge=0, le=63)]
Queue = Annotated[int, Field(ge=0, le=6)]
"""Of traffic that is not CSA: 7 is of LOSS alone."""

ALL_CLASSES: tuple[Class, ...] = tuple(range(8))

PROBE_GAP_US = 5_000
"""A port's link probes go to the controller no faster: some thirty times as often as they are sent."""


def probe_entries(fabric: Fabric, switch: str, ether_type: int) -> list[Entry]:
    """Entries of `punt.ether_type`: probes come from other switches only."""
    action = call("punt.to_cpu", gap_us=PROBE_GAP_US)
    return [
        entry("punt.ether_type", {"ether_type": ether_type, "port": port}, action)
        for port in fabric.uplinks(switch)
    ]


def edge_entries(
    fabric: Fabric, switch: str, classes: tuple[int, ...], at: Mapping[Where, tuple[int, ...]]
) -> list[Entry]:
    """Entries of `edge.ports`, `edge.sources`, `edge.sources6` and `edge.classes`: the addresses of each host
    belong to its port, and classes that are not granted there are refused."""
    entries = []
    for port in fabric.host_ports(switch):
        nic = fabric.nic_at(switch, port)
        granted = at_port(fabric, at, switch, port, classes)
        entries.append(entry("edge.ports", {"port": port}, call("edge.check")))
        entries.append(entry("edge.sources", {"port": port, "src": (int(nic.ip), 32)}, call("edge.belongs")))
        if nic.ip6 is not None:
            address = int(nic.ip6), 128
            entries.append(entry("edge.sources6", {"port": port, "src": address}, call("edge.belongs6")))
        entries += [
            entry("edge.classes", {"port": port, "cls": cls}, call("edge.refuse"))
            for cls in ALL_CLASSES
            if cls not in granted
        ]
    return entries


def queue_entries(queues: Mapping[int, int]) -> list[Entry]:
    """Entries of `classify.queues`: the queue of traffic that is not CSA, by DSCP."""
    return [
        entry("classify.queues", {"dscp": dscp}, call("classify.set_queue", queue=queue))
        for dscp, queue in queues.items()
    ]


def check_queues(queues: Mapping[int, int], dscps_of_loss: Mapping[tuple[str | int, ...], int]) -> None:
    """FieldError when a DSCP is that of a LOSS and of other traffic, too: other switches tell them apart by
    it alone. `dscps_of_loss`: by where it is said."""
    for loc, dscp in dscps_of_loss.items():
        if dscp in queues:
            raise FieldError(loc, f"DSCP {dscp} is in `queues`, as one of other traffic: expected another")

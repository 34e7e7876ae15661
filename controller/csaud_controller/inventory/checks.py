"""What a fabric must fulfil beyond the types of its fields."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from csaud_controller.base.graph import components
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory.ports import MAX_PORT, End

if TYPE_CHECKING:
    from csaud_controller.inventory.model import Fabric


def check_fabric(fabric: Fabric) -> None:
    """FieldError naming the key whose name, port or address is not unique or leads nowhere."""
    _names(fabric)
    _edges(fabric)
    _addresses(fabric)
    _connected(fabric)


def _names(fabric: Fabric) -> None:
    for name in fabric.hosts:
        if name in fabric.switches:
            raise FieldError(("hosts", name), f"{name} is also a switch: expected a name of its own")


def _edges(fabric: Fabric) -> None:
    used: dict[End, int] = {}
    for index, edge in enumerate(fabric.edges):
        for side, end in zip("ab", edge.ends, strict=True):
            if end.node not in fabric.switches and end.node not in fabric.hosts:
                known = ", ".join((*fabric.switches, *fabric.hosts))
                raise FieldError(
                    ("edges", index, side), f"unknown node {end.node!r}; expected one of {known}"
                )
            key = ("edges", index, f"{side}_port")
            if end.node in fabric.hosts and end.port != 0:
                raise FieldError(key, f"a host has only port 0, got {end.port}")
            if end.node in fabric.switches and end.port == 0:
                raise FieldError(key, f"expected a switch port from 1 to {MAX_PORT}, got 0")
            if end in used:
                raise FieldError(
                    key, f"port {end} is already used by edges[{used[end]}]: expected a free port"
                )
            used[end] = index
        if edge.a in fabric.hosts and edge.b in fabric.hosts:
            raise FieldError(("edges", index), "an edge joins a switch to a switch or a host, not two hosts")
        if edge.a == edge.b:
            raise FieldError(("edges", index), f"an edge joins two nodes, got {edge.a} twice")
    for host in fabric.hosts:
        if End(host, 0) not in used:
            raise FieldError(("hosts", host), f"{host} is in no edge: expected one edge to a switch")


def _addresses(fabric: Fabric) -> None:
    rows = [
        ("switches", "device_id", {name: str(spec.device_id) for name, spec in fabric.switches.items()}),
        ("hosts", "ip", {name: str(spec.ip) for name, spec in fabric.hosts.items()}),
        ("hosts", "mac", {name: spec.mac for name, spec in fabric.hosts.items()}),
    ]
    for section, key, values in rows:
        counts = Counter(values.values())
        for name, value in reversed(values.items()):
            if counts[value] > 1:
                other = next(n for n, v in values.items() if v == value)
                raise FieldError(
                    (section, name, key), f"{value} is also that of {other}: expected a unique {key}"
                )


def _connected(fabric: Fabric) -> None:
    parts = components(fabric.neighbours)
    if len(parts) > 1:
        lonely = min(sorted(parts, key=len)[0])
        section = "hosts" if lonely in fabric.hosts else "switches"
        raise FieldError(
            (section, lonely), f"{lonely} is not connected to the rest of the fabric by any edge"
        )

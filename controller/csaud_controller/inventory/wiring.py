"""A fabric file as plain values: names of ports made numbers, and what of it can be read at all.

Files with mistakes are read as far as they go, so that all their mistakes can be told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from csaud_controller.inventory.ports import End

Loc = tuple[str | int, ...]


def section(value: Mapping[str, Any], key: str) -> dict[str, Mapping[str, Any]]:
    """The parts of a section by name; those that are no mappings are empty."""
    found = value.get(key)
    if not isinstance(found, Mapping):
        return {}
    return {str(name): part if isinstance(part, Mapping) else {} for name, part in found.items()}


def numbered(value: Mapping[str, Any]) -> dict[str, Any]:
    """The document with numbers for the names of ports in its edges, where they are known."""
    edges = value.get("edges")
    if not isinstance(edges, list):
        return dict(value)
    names: dict[tuple[str, str], int] = {}
    for switch, spec in section(value, "switches").items():
        for port, name in _items(spec.get("interfaces")):
            if str(port).isdecimal():
                names.setdefault((switch, str(name)), int(port))
    for host, spec in section(value, "hosts").items():
        for number, nic in enumerate(nics_of(spec)):
            if isinstance(nic, Mapping) and nic.get("name") is not None:
                names.setdefault((host, str(nic["name"])), number)
    return {**value, "edges": [_edge(edge, names) for edge in edges]}


def _edge(edge: Any, names: Mapping[tuple[str, str], int]) -> Any:
    if not isinstance(edge, Mapping):
        return edge
    made = dict(edge)
    for side in "ab":
        key = f"{side}_port"
        if isinstance(edge.get(key), str):
            made[key] = names.get((str(edge.get(side)), edge[key]), edge[key])
    return made


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()


def nics_of(host: Mapping[str, Any]) -> list[Any]:
    """The NICs of a host: its list, or what stands for a list of one."""
    nics = host.get("nics")
    return list(nics) if isinstance(nics, list | tuple) and nics else [host]


class Wire(NamedTuple):
    """An edge; None where an end cannot be read."""

    place: int
    a: End | None
    b: End | None


def wires(value: Mapping[str, Any]) -> list[Wire]:
    """The edges of a document, from which names are gone (`numbered`)."""
    edges = value.get("edges")
    if not isinstance(edges, list):
        return []
    return [Wire(index, _end(edge, "a"), _end(edge, "b")) for index, edge in enumerate(edges)]


def _end(edge: Any, side: str) -> End | None:
    if not isinstance(edge, Mapping):
        return None
    node, port = edge.get(side), edge.get(f"{side}_port")
    if isinstance(port, str) and port.isdecimal():
        port = int(port)
    if not isinstance(node, str | int) or not isinstance(port, int) or isinstance(port, bool):
        return None
    return End(str(node), port)

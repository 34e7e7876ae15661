"""fabric.json: which switches a fabric has and how their ports are wired, as far as the switches need to
know.

Whoever starts the fabric writes it. Read here with plain dataclasses, so that the switch depends on no
other package of the project; keys that are of no concern to a switch (roles, addresses of hosts) are passed
over.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from csaud_softswitch.p4runtime.tls import ClientTls, ServerTls

_UNITS: dict[str, dict[str, int]] = {
    "rate": {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12},
    "delay": {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
}
_EXAMPLES = {"rate": "a rate such as 200Mbit or 1Gbit", "delay": "a duration such as 10us or 5ms"}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]+)(?:/s)?")

MAX_PORT = 508
"""Ports of a switch go up to here; above are the CPU port, the drop port and what BMv2 keeps for itself."""


class FabricFileError(ValueError):
    """The fabric file is missing or wrong; the message names the file and the key."""


@dataclass(frozen=True)
class SwitchEntry:
    """address: where P4Runtime is said to listen, empty where the file says nothing."""

    device_id: int
    address: str = ""
    tls: ServerTls | None = None


@dataclass(frozen=True)
class LinkSpec:
    """rate_bps 0: not limited. delay_ns one way. buffer_packets per priority queue."""

    rate_bps: int = 0
    delay_ns: int = 0
    buffer_packets: int = 1024


UNSAID = LinkSpec(rate_bps=200_000_000, buffer_packets=256)
"""A link of which the file says nothing; the controller computes its thresholds for the same."""


@dataclass(frozen=True)
class EdgeEntry:
    """One link. A node that is not a switch is a host."""

    a: str
    a_port: int
    b: str
    b_port: int
    link: LinkSpec
    where: str
    """Where it is in the file, for error messages."""


@dataclass(frozen=True)
class FabricFile:
    name: str
    links_via: Literal["veth", "memory"]
    switches: dict[str, SwitchEntry]
    edges: tuple[EdgeEntry, ...]
    path: Path
    tls_client: ClientTls | None = None


def read_fabric_file(path: Path) -> FabricFile:
    """Read and check a fabric.json. FabricFileError names what is wrong and what was expected."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise FabricFileError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise FabricFileError(f"{path}:{error.lineno}: {error.msg}") from error
    try:
        return _fabric(_Node(document, ""), path)
    except FabricFileError as error:
        raise FabricFileError(f"{path}: {error}") from None


class _Node:
    """A value of the document together with its place in it."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def fail(self, expected: str) -> FabricFileError:
        return FabricFileError(f"{self.where or 'document'}: expected {expected}, got {self.value!r}"[:300])

    def items(self) -> dict[str, _Node]:
        if not isinstance(self.value, dict):
            raise self.fail("a mapping")
        prefix = f"{self.where}." if self.where else ""
        return {key: _Node(value, f"{prefix}{key}") for key, value in self.value.items()}

    def elements(self) -> list[_Node]:
        if not isinstance(self.value, list):
            raise self.fail("a list")
        return [_Node(value, f"{self.where}[{number}]") for number, value in enumerate(self.value)]

    def get(self, key: str) -> _Node | None:
        found = self.items().get(key)
        return None if found is None or found.value is None else found

    def need(self, key: str) -> _Node:
        found = self.get(key)
        if found is None:
            raise FabricFileError(f"{self.where or 'document'}: the key {key!r} is missing")
        return found

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            raise self.fail("a name")
        return self.value

    def number(self, low: int, high: int) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not low <= self.value <= high:
            raise self.fail(f"a number from {low} to {high}")
        return self.value

    def quantity(self, kind: str) -> int:
        if isinstance(self.value, int) and not isinstance(self.value, bool) and self.value >= 0:
            return self.value
        found = _QUANTITY.fullmatch(self.value.strip()) if isinstance(self.value, str) else None
        scale = None if found is None else _UNITS[kind].get(found[2].lower())
        if found is None or scale is None:
            raise self.fail(_EXAMPLES[kind])
        return round(float(found[1]) * scale)


def _fabric(top: _Node, path: Path) -> FabricFile:
    via = top.get("links_via")
    if via is not None and via.value not in ("veth", "memory"):
        raise via.fail("veth or memory")
    tls = _server_tls(top.get("tls"), path)
    switches = {
        name: SwitchEntry(
            node.need("device_id").number(1, (1 << 63) - 1),
            "" if (address := node.get("p4runtime")) is None else address.text(),
            _server_tls(node.get("tls"), path) or tls,
        )
        for name, node in top.need("switches").items().items()
    }
    if not switches:
        raise top.need("switches").fail("at least one switch")
    hosts = set() if (node := top.get("hosts")) is None else set(node.items())
    link = _link(top.get("link"), UNSAID)
    edges_node = top.get("edges")
    edges = (
        [] if edges_node is None else [_edge(node, switches, hosts, link) for node in edges_node.elements()]
    )
    _check_unique(switches, edges)
    name = top.get("name")
    return FabricFile(
        name=path.stem if name is None else name.text(),
        links_via="veth" if via is None else via.value,
        switches=switches,
        edges=tuple(edges),
        path=path,
        tls_client=_client_tls(top.get("tls_client"), path),
    )


def _server_tls(node: _Node | None, path: Path) -> ServerTls | None:
    if node is None:
        return None
    client_auth = node.get("client_auth")
    if client_auth is not None and not isinstance(client_auth.value, bool):
        raise client_auth.fail("true or false")
    cacert = node.get("cacert")
    return ServerTls(
        cert=path.parent / node.need("cert").text(),
        key=path.parent / node.need("key").text(),
        cacert=None if cacert is None else path.parent / cacert.text(),
        client_auth=client_auth is not None and client_auth.value,
    )


def _client_tls(node: _Node | None, path: Path) -> ClientTls | None:
    if node is None:
        return None
    files = {key: path.parent / found.text() for key in ("cacert", "cert", "key") if (found := node.get(key))}
    name = node.get("server_name")
    return ClientTls(**files, name="" if name is None else name.text())


def _link(node: _Node | None, default: LinkSpec) -> LinkSpec:
    if node is None:
        return default
    rate, delay, buffer = node.get("rate"), node.get("delay"), node.get("buffer")
    return LinkSpec(
        rate_bps=default.rate_bps if rate is None else rate.quantity("rate"),
        delay_ns=default.delay_ns if delay is None else delay.quantity("delay"),
        buffer_packets=default.buffer_packets if buffer is None else buffer.number(1, 1 << 20),
    )


def _edge(node: _Node, switches: dict[str, SwitchEntry], hosts: set[str], link: LinkSpec) -> EdgeEntry:
    ends: list[tuple[str, int]] = []
    for side in ("a", "b"):
        name = node.need(side)
        if name.text() not in switches and name.text() not in hosts:
            raise name.fail(f"one of {', '.join([*switches, *sorted(hosts)])}")
        low = 1 if name.text() in switches else 0
        ends.append((name.text(), node.need(f"{side}_port").number(low, MAX_PORT)))
    (a, a_port), (b, b_port) = ends
    if a not in switches and b not in switches:
        raise node.fail("an edge with at least one switch")
    return EdgeEntry(a, a_port, b, b_port, _link(node, link), node.where)


def _check_unique(switches: dict[str, SwitchEntry], edges: list[EdgeEntry]) -> None:
    ids: dict[int, str] = {}
    for name, switch in switches.items():
        if switch.device_id in ids:
            other = ids[switch.device_id]
            raise FabricFileError(f"switches.{name}.device_id: {switch.device_id} is already that of {other}")
        ids[switch.device_id] = name
    used: dict[tuple[str, int], str] = {}
    for edge in edges:
        for side, end in (("a", (edge.a, edge.a_port)), ("b", (edge.b, edge.b_port))):
            if end in used:
                raise FabricFileError(
                    f"{edge.where}.{side}_port: port {end[1]} of {end[0]} is already in {used[end]}"
                )
            used[end] = edge.where

"""Topologies of p4-utils (https://nsg-ethz.github.io/p4-utils/): p4app.json, and the topology.json that it
saves; and of p4lang/tutorials, whose files are nearly the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csaud_controller.base.units import parse_duration
from csaud_controller.inventory.imports.draft import Cable, Draft, Source

_SWITCH_PORT = re.compile(r"(.+)-p(\d+)")
_WIRE_KEYS = {
    "delay",
    "bw",
    "port1",
    "port2",
    "intfName1",
    "intfName2",
    "params1",
    "params2",
    "addr1",
    "addr2",
}


def read(sources: Sequence[Source], switches: Iterable[str], hosts: Iterable[str]) -> Draft:
    """Any of the three forms."""
    (source,) = sources
    top = source.value
    if not isinstance(top, Mapping):
        raise source.fail("", "expected a mapping: this is no topology of p4-utils")
    draft = Draft(source.path.name.partition(".")[0])
    if isinstance(top.get("nodes"), list) and isinstance(top.get("links"), list):
        _saved(draft, source, top, switches, hosts)
    else:
        nested = top.get("topology")
        topology: Mapping[str, Any] = nested if isinstance(nested, Mapping) else top
        if topology is not top:
            draft.leave_others(top, ("topology",), "")
        if not isinstance(topology.get("links"), list) or not isinstance(topology.get("switches"), Mapping):
            raise source.fail("topology", "expected `switches`, `hosts` and `links`: no topology of p4-utils")
        _written(draft, source, topology, switches, hosts)
    return draft


def _written(
    draft: Draft,
    source: Source,
    topology: Mapping[str, Any],
    switches: Iterable[str],
    hosts: Iterable[str],
) -> None:
    draft.leave_others(topology, ("switches", "hosts", "links", "routers", "default"), "topology")
    default = topology.get("default") or {}
    draft.leave_others(default, ("bw", "delay"), "topology.default")
    for name, spec in topology["switches"].items():
        draft.switches[str(name)] = _device(spec or {})
        draft.leave_others(spec or {}, ("device_id",), "switches.*")
    for name, spec in (topology.get("hosts") or {}).items():
        nic = {"ip": _address((spec or {}).get("ip")), "mac": (spec or {}).get("mac")}
        draft.hosts[str(name)] = [nic] if any(nic.values()) else []
        draft.leave_others(spec or {}, ("ip", "mac"), "hosts.*")
    for name in topology.get("routers") or {}:
        draft.leave(f"{name}: a router, which no P4 program runs")
    draft.override(switches, hosts)  # ports of switches and of hosts are not counted alike
    for index, link in enumerate(topology["links"]):
        if not isinstance(link, list) or len(link) < 2:
            raise source.fail(f"topology.links[{index}]", "expected two nodes and, where need be, a mapping")
        options = next((part for part in link[2:] if isinstance(part, Mapping)), {})
        plain = [part for part in link[2:] if not isinstance(part, Mapping)]  # p4lang: delay, bandwidth
        settings = {**default, **dict(zip(("delay", "bw"), plain, strict=False)), **options}
        ends = [_SWITCH_PORT.fullmatch(str(name)) for name in link[:2]]
        nodes = [found[1] if found else str(name) for found, name in zip(ends, link, strict=False)]
        for side, found in enumerate(ends, 1):
            if found:
                settings.setdefault(f"port{side}", int(found[2]))
        _wire(draft, source, index, nodes, settings)
        draft.leave_others(options, _WIRE_KEYS, "links[*]")


def _saved(
    draft: Draft, source: Source, top: Mapping[str, Any], switches: Iterable[str], hosts: Iterable[str]
) -> None:
    """networkx's node-link form."""
    draft.leave_others(top, ("nodes", "links", "directed", "multigraph", "graph"), "")
    for node in top["nodes"]:
        name = str(node.get("id"))
        if node.get("isHost"):
            draft.hosts[name] = []
        elif node.get("isSwitch") or node.get("isP4Switch"):
            draft.switches[name] = _device(node)
        else:
            draft.leave(f"{name}: neither host nor switch")
        draft.leave_others(node, ("id", "isHost", "isSwitch", "isP4Switch", "device_id"), "nodes[*]")
    draft.override(switches, hosts)
    for index, link in enumerate(top["links"]):
        nodes = [str(link.get("node1") or link.get("source")), str(link.get("node2") or link.get("target"))]
        _wire(draft, source, index, nodes, link)
        draft.leave_others(
            link, (*_WIRE_KEYS, "node1", "node2", "source", "target", "ip1", "ip2", "key"), "links[*]"
        )


def _wire(
    draft: Draft, source: Source, index: int, nodes: Sequence[str], settings: Mapping[str, Any]
) -> None:
    at = f"links[{index}]"
    names: list[str | int] = []
    for side, node in enumerate(nodes, 1):
        port, called = settings.get(f"port{side}"), settings.get(f"intfName{side}")
        params = settings.get(f"params{side}") or {}
        if node in draft.hosts:
            nics, number = draft.hosts[node], sum(node in (w.a, w.b) for w in draft.cables)
            while len(nics) <= number:
                nics.append({})
            told = {
                "ip": _address(params.get("ip") or settings.get(f"ip{side}")),
                "mac": settings.get(f"addr{side}") or params.get("mac"),
                "name": called if isinstance(called, str) and re.fullmatch(r"[\w.-]+", called) else None,
            }
            for key, value in told.items():
                if value and not nics[number].get(key):
                    nics[number][key] = value
            names.append(nics[number].get("name") or number)
        elif isinstance(port, int) and port > 0:
            names.append(port)
        else:
            names.append(called if isinstance(called, str) else "")
    (a, b), (a_name, b_name) = nodes, names
    draft.cables.append(
        Cable(
            a,
            a_name,
            b,
            b_name,
            _rate(source, at, settings.get("bw")),
            _delay(source, at, settings.get("delay")),
        )
    )


def _rate(source: Source, at: str, value: Any) -> int | None:
    """Of Mbit/s; only 0 itself is no limit."""
    try:
        rate = None if value is None else round(float(value) * 1e6)
        if rate is not None and (rate < 0 or (rate == 0) != (float(value) == 0)):
            raise ValueError(value)
        return rate
    except (ValueError, TypeError, OverflowError):
        raise source.fail(f"{at}.bw", f"expected a number of Mbit/s, got {value!r:.60}") from None


def _delay(source: Source, at: str, value: Any) -> int | None:
    """tc's notation; a bare number is milliseconds."""
    if value in (None, "", 0, "0"):
        return None
    try:
        if isinstance(value, int | float) or str(value).replace(".", "", 1).isdigit():
            return round(float(value) * 1e6)
        return parse_duration(str(value).replace("msec", "ms").replace("usec", "us"))
    except (ValueError, OverflowError) as error:
        raise source.fail(f"{at}.delay", str(error)) from None


def _device(spec: Mapping[str, Any]) -> dict[str, Any]:
    number = spec.get("device_id")
    return {"device_id": number} if isinstance(number, int) and number > 0 else {}


def _address(value: Any) -> str | None:
    return str(value).partition("/")[0] if value else None

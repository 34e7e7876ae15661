"""What the page shows: the fabric as it is wired, and how it does at a moment, as JSON values."""

from __future__ import annotations

from typing import Any

from csaud_controller.inventory import End, Fabric
from csaud_controller.service.sampling import Sample

_TIERS = {"core": 0, "spine": 0, "aggregation": 1, "leaf": 2, "edge": 2}
_HOSTS = 3
_EVENTS_SHOWN = 30
_TAKEN = ("trimmed", "bounced", "congestion_dropped", "injected")


def topology(fabric: Fabric) -> dict[str, Any]:
    """Nodes with their tier (0 is the top) and links, in the fabric's order; `fabric` is a digest of it."""
    return {
        "name": fabric.name,
        "nodes": [
            *(
                {"name": name, "kind": "switch", "role": spec.role, "tier": _TIERS.get(spec.role or "", 1)}
                for name, spec in fabric.switches.items()
            ),
            *(
                {"name": name, "kind": "host", "tier": _HOSTS, "ip": str(spec.all_nics[0].ip)}
                for name, spec in fabric.hosts.items()
            ),
        ],
        "links": [
            {"a": str(a), "b": str(b), "from": a.node, "to": b.node, "rate": fabric.rate_at[a]}
            for a, b in (edge.ends for edge in fabric.edges)
        ],
    }


def moment(before: Sample | None, now: Sample) -> dict[str, Any]:
    """How it does. Of each link, in the order of `topology`: whether it is used and why not, and by end what
    left it since `before`: load (share of its rate), packets by what became of them, DATA by path bucket."""
    status = now.status.get("status", {})
    drains = now.status.get("intent", {}).get("drains", {}).get("rules", [])
    hosts = {drain["what"] for drain in drains} & now.fabric.hosts.keys()
    known = {frozenset((each["a"], each["b"])): each for each in status.get("links", [])}
    return {
        "time": now.time,
        "missing": list(now.missing),
        "revision": now.status.get("revision"),
        "policy": now.status.get("intent", {}).get("policy", {}),
        "switches": {
            name: {"connected": each["connected"], "alive": each["alive"], "error": each["error"]}
            for name, each in status.get("switches", {}).items()
        },
        "drains": drains,
        "links": [
            {
                **_state(known.get(frozenset(map(str, edge.ends))), hosts & {edge.a, edge.b}),
                "ends": [_flow(before, now, end) for end in edge.ends],
            }
            for edge in now.fabric.edges
        ],
        "events": status.get("events", [])[-_EVENTS_SHOWN:],
    }


def _state(link: dict[str, Any] | None, drained: set[str]) -> dict[str, Any]:
    """A link to a host is not probed: all that is known against it is that the host is drained."""
    if link is None:
        return {"up": True, "drained": bool(drained), "out": [f"drained: {host}" for host in drained]}
    return {key: link[key] for key in ("up", "drained", "out")}


def _flow(before: Sample | None, now: Sample, end: End) -> dict[str, Any] | None:
    """None for a host's end, which nobody counts at, and where there is nothing to compare with."""
    if before is None or any(
        end.node not in read for each in (before, now) for read in (each.packets, each.octets)
    ):
        return None
    if end.port not in before.packets[end.node]["path_tx"]:  # it has come meanwhile
        return None
    seconds = now.at - before.at
    rate = now.fabric.rate_at[end]
    octets = _grown(before.octets, now.octets, end, "egress_kind")
    return {
        "load": 8 * octets / seconds / rate if rate else None,
        "bit_s": 8 * octets / seconds,
        **{name: _grown(before.packets, now.packets, end, name) for name in (*_TAKEN, "marked")},
        "paths": [
            max(0, late - early)
            for early, late in zip(
                before.packets[end.node]["path_tx"][end.port],
                now.packets[end.node]["path_tx"][end.port],
                strict=True,
            )
        ],
    }


def _grown(before: dict[str, Any], now: dict[str, Any], end: End, counter: str) -> int:
    """By how much; a switch that was loaded anew begins at 0."""
    early, late = (_total(each[end.node][counter][end.port]) for each in (before, now))
    return late - early if late >= early else late


def _total(cell: Any) -> int:
    if isinstance(cell, dict):
        return sum(cell.values())
    return sum(cell) if isinstance(cell, list) else int(cell)

"""containerlab's topology files (BSD-3-Clause, https://containerlab.dev/manual/topo-def-file/): read and
written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csaud_controller.inventory.imports.draft import Cable, Draft, Source
from csaud_controller.inventory.model import Fabric
from csaud_controller.inventory.ports import End

_HOST_KINDS = ("linux", "host", "ext-container", "k8s-kind")
_BRIDGES = ("bridge", "ovs-bridge")
_SPECIAL = ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy")
"""Ends of links that are no nodes."""


def read(sources: Sequence[Source], switches: Iterable[str], hosts: Iterable[str]) -> Draft:
    """A topology. Nodes of kind linux are hosts, others switches; bridges are neither."""
    (source,) = sources
    top = source.value
    topology = top.get("topology") if isinstance(top, Mapping) else None
    if not isinstance(topology, Mapping) or not isinstance(topology.get("nodes"), Mapping):
        raise source.fail("topology.nodes", "missing: this is no containerlab topology")
    draft = Draft(str(top.get("name") or source.path.name.partition(".")[0]))
    draft.leave_others(top, ("name", "topology"), "")
    draft.leave_others(topology, ("nodes", "links", "kinds", "defaults", "groups"), "topology")
    defaults = topology.get("defaults") or {}
    groups = topology.get("groups") or {}
    for name, node in topology["nodes"].items():
        node = node or {}
        group = groups.get(node.get("group")) or {}
        kind = str(node.get("kind") or group.get("kind") or defaults.get("kind") or "")
        draft.leave_others(node, ("kind", "group"), "topology.nodes.*")
        if kind in _BRIDGES:
            draft.leave(f"{name}: a {kind}, which joins more than two")
        elif kind in _HOST_KINDS:
            draft.hosts[str(name)] = []
        else:
            draft.switches[str(name)] = {}
    for kind, settings in (topology.get("kinds") or {}).items():
        draft.leave_others(settings or {}, (), f"topology.kinds.{kind}")
    draft.leave_others(defaults, ("kind",), "topology.defaults")
    for index, link in enumerate(topology.get("links") or []):
        _link(draft, source, index, link)
    draft.override(switches, hosts)
    return draft


def _link(draft: Draft, source: Source, index: int, link: Any) -> None:
    at = f"topology.links[{index}]"
    ends = link.get("endpoints") if isinstance(link, Mapping) else None
    if not isinstance(ends, list) or len(ends) != 2:
        if isinstance(link, Mapping) and "endpoint" in link:
            draft.leave(f"{at}: a link of type {link.get('type')} has one end only")
            return
        raise source.fail(at, "expected `endpoints`, two of them")
    draft.leave_others(link, ("endpoints", "type"), "topology.links[*]")
    parts = [_end(draft, source, at, end) for end in ends]
    if any(node in _SPECIAL for node, _ in parts):
        draft.leave(f"{at}: {' - '.join(f'{node}:{name}' for node, name in parts)}, not between two nodes")
        return
    (a, a_name), (b, b_name) = parts
    draft.cables.append(Cable(a, a_name, b, b_name))


def _end(draft: Draft, source: Source, at: str, end: Any) -> tuple[str, str]:
    if isinstance(end, Mapping) and "node" in end:
        draft.leave_others(end, ("node", "interface"), "topology.links[*].endpoints[*]")
        return str(end["node"]), str(end.get("interface") or "")
    node, colon, name = str(end).partition(":")
    if not colon:
        raise source.fail(at, f"expected an end such as leaf1:e1-1, got {end!r}")
    return node, name


def write(
    fabric: Fabric, switch_kind: str, switch_image: str, host_image: str
) -> tuple[dict[str, Any], list[str]]:
    """A topology with the same nodes and links, and what it has no place for. Hosts are of kind linux, whose
    eth0 is containerlab's own; a port without a name is eth and its number."""
    nodes: dict[str, Any] = {
        name: {"kind": switch_kind, **({"image": switch_image} if switch_image else {})}
        for name in fabric.switches
    }
    nodes |= {name: {"kind": "linux", "image": host_image} for name in fabric.hosts}
    links = [{"endpoints": [_name(fabric, end) for end in edge.ends]} for edge in fabric.edges]
    left = ["mtu", "link"] + [key for key in ("tls", "tls_client") if getattr(fabric, key) is not None]
    for key in ("role", "device_id", "target", "p4runtime", "tls", "breakouts", "group"):
        if any(getattr(spec, key) not in (None, {}) for spec in fabric.switches.values()):
            left.append(f"switches.*.{key}")
    left += ["hosts.*.ip", "hosts.*.mac"] if fabric.hosts else []
    for key in ("rate", "delay", "buffer"):
        if any(getattr(edge, key) is not None for edge in fabric.edges):
            left.append(f"edges[*].{key}")
    return {"name": fabric.name, "topology": {"nodes": nodes, "links": links}}, left


def _name(fabric: Fabric, end: End) -> str:
    if end.node in fabric.hosts:
        name = fabric.hosts[end.node].all_nics[end.port].name or f"eth{end.port + 1}"
    else:
        name = fabric.switches[end.node].interfaces.get(end.port, f"eth{end.port}")
    return f"{end.node}:{name}"

"""What lldpd knows of neighbours: `lldpcli show neighbors -f json` (or json0), a file a node, which is called
by its name (https://lldpd.github.io)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from csaud_controller.inventory.imports.draft import Cable, Draft, Source

_SWITCHES = ("Bridge", "Router")


def read(sources: Sequence[Source], switches: Iterable[str], hosts: Iterable[str]) -> Draft:
    """Nodes and the links between them. A neighbour that bridges or routes is a switch."""
    draft = Draft("lldp")
    known: dict[str, bool] = {}
    seen: set[frozenset[tuple[str, str]]] = set()
    for source in sources:
        local = source.path.name.removesuffix(".json")
        for port, told in _interfaces(source):
            via = str(told.get("via", "LLDP"))
            peer, peer_port, is_switch = _neighbour(told)
            if via != "LLDP" or not peer:
                draft.leave(
                    f"{local}:{port}: a neighbour by {via} without a name"
                    if not peer
                    else f"{local}:{port}: a neighbour by {via}"
                )
                continue
            if is_switch is not None:
                known[peer] = is_switch
            ends = frozenset({(local, port), (peer, peer_port)})
            if ends not in seen:
                seen.add(ends)
                draft.cables.append(Cable(local, port, peer, peer_port))
    nodes = dict.fromkeys(node for cable in draft.cables for node in (cable.a, cable.b))
    draft.sort(nodes, switches, hosts, known)
    return draft


def _interfaces(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every form: json's mapping by name, or a list of such; json0's lists of everything."""
    top = source.value.get("lldp") if isinstance(source.value, Mapping) else None
    if isinstance(top, list):
        top = top[0] if top else {}
    if not isinstance(top, Mapping):
        raise source.fail("lldp", "missing: this is no output of lldpcli -f json")
    found = top.get("interface") or []
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each.get("name"), str):
            yield each["name"], each
        else:
            yield from each.items()


def _neighbour(told: Mapping[str, Any]) -> tuple[str, str, bool | None]:
    """Its name, its port, and whether it is a switch, if it says so."""
    chassis = _one(told.get("chassis"))
    name = _one(chassis.get("name")).get("value", "")
    if not name and "id" not in chassis and chassis:
        name, chassis = next(iter(chassis.items()))
    port = _one(told.get("port"))
    identity = _one(port.get("id"))
    # an interface's name is in the id, or, where that is a MAC address, in the description
    called = identity.get("value") if identity.get("type") in ("ifname", "local") else None
    called = called or _one(port.get("descr")).get("value") or identity.get("value") or ""
    capabilities = chassis.get("capability")
    listed = [capabilities] if isinstance(capabilities, Mapping) else capabilities or []
    enabled = {each.get("type") for each in listed if each.get("enabled")}
    is_switch = True if enabled & {*_SWITCHES} else False if "Station" in enabled else None
    return str(name), str(called).replace(":", "-"), is_switch


def _one(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        value = value[0] if value else {}
    return dict(value) if isinstance(value, Mapping) else {"value": value} if value is not None else {}

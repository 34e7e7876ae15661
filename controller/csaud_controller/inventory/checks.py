"""What a fabric must fulfil beyond the types of its fields. All mistakes are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address
from typing import Any

from csaud_controller.base.graph import components
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory.ports import MAX_PORT, End
from csaud_controller.inventory.wiring import Loc, nics_of, section, wires

RESERVED = frozenset({"all", "uplinks", "hosts", "capture", "controller", "jobs", "softswitch.control"})
"""Names of places, and of the sockets in the directory of a run."""


def mistakes(value: Mapping[str, Any], whole: bool = True) -> list[FieldError]:
    """What is not unique or leads nowhere, in a fabric file's values. `whole`: every field is of its type, so
    that what is missing is missing."""
    checks = _Checks(value, whole)
    return [
        FieldError(loc, message)
        for found in (
            checks.names(),
            checks.ports(),
            checks.edges(),
            checks.unwired(),
            checks.unique(),
            checks.connected(),
        )
        for loc, message in found
    ]


_Found = Iterator[tuple[Loc, str]]
_Row = tuple[Loc, str, Any]
"""Where a value is, whose it is, and the value."""


class _Checks:
    def __init__(self, value: Mapping[str, Any], whole: bool) -> None:
        self.switches, self.hosts = section(value, "switches"), section(value, "hosts")
        self.wires = wires(value)
        self.whole = whole or (
            isinstance(value.get("edges"), list)
            and all(w.a is not None and w.b is not None for w in self.wires)
        )
        self._used: dict[End, int] = {}

    def names(self) -> _Found:
        for kind, named in (("switches", self.switches), ("hosts", self.hosts)):
            for name in named:
                if name in RESERVED:
                    yield (kind, name), f"{name} means something else already: expected another name"
        for name in self.hosts:
            if name in self.switches:
                yield ("hosts", name), f"{name} is also a switch: expected a name of its own"

    def ports(self) -> _Found:
        """Names of interfaces and breakouts within each switch, and of NICs within each host."""
        for name, spec in self.switches.items():
            seen: dict[str, Any] = {}
            interfaces = spec.get("interfaces")
            for port, called in interfaces.items() if isinstance(interfaces, Mapping) else ():
                if called in seen:
                    yield ("switches", name, "interfaces", port), f"{called} is also port {seen[called]}"
                seen.setdefault(called, port)
            yield from self._breakouts(name, spec.get("breakouts"))
        for name, spec in self.hosts.items():
            names: dict[str, int] = {}
            for number, nic in enumerate(nics_of(spec)):
                called = nic.get("name") if isinstance(nic, Mapping) else None
                if called is not None and called in names:
                    yield (
                        ("hosts", name, "nics", number, "name"),
                        f"{called} is also NIC {names[called]}: expected a name of its own",
                    )
                elif called is not None:
                    names[called] = number

    def _breakouts(self, switch: str, breakouts: Any) -> _Found:
        of: dict[Any, str] = {}
        for connector, spec in breakouts.items() if isinstance(breakouts, Mapping) else ():
            ports = spec.get("ports") if isinstance(spec, Mapping) else None
            for index, port in enumerate(ports if isinstance(ports, list | tuple) else ()):
                if port in of:
                    yield (
                        ("switches", switch, "breakouts", connector, "ports", index),
                        f"port {port} is already of {of[port]}",
                    )
                of.setdefault(port, connector)

    def edges(self) -> _Found:
        for index, a, b in self.wires:
            for side, end in (("a", a), ("b", b)):
                if end is not None:
                    yield from self._end(index, side, end)
            if a is None or b is None:
                continue
            if a.node in self.hosts and b.node in self.hosts:
                yield ("edges", index), "an edge joins a switch to a switch or a host, not two hosts"
            if a.node == b.node:
                yield ("edges", index), f"an edge joins two nodes, got {a.node} twice"

    def _end(self, index: int, side: str, end: End) -> _Found:
        key: Loc = ("edges", index, f"{side}_port")
        if end.node in self.hosts:
            count = len(nics_of(self.hosts[end.node]))
            if end.port >= count:
                self.whole = False
                has = "only port 0" if count == 1 else f"{count} NICs, ports 0 to {count - 1}"
                yield key, f"a host has {has}, got {end.port}" if count == 1 else f"{end.node} has {has}"
                return
        elif end.node not in self.switches:
            known = ", ".join((*self.switches, *self.hosts))
            self.whole = False  # who is in no edge may be who was meant
            yield ("edges", index, side), f"unknown node {end.node!r}; expected one of {known}"
            return
        elif end.port == 0:
            yield key, f"expected a switch port from 1 to {MAX_PORT}, got 0"
            return
        if end in self._used:
            yield key, f"port {end} is already used by edges[{self._used[end]}]: expected a free port"
        self._used.setdefault(end, index)

    def unwired(self) -> _Found:
        if not self.whole:
            return
        for host, spec in self.hosts.items():
            nics = nics_of(spec)
            for number in range(len(nics)):
                if End(host, number) not in self._used:
                    if len(nics) == 1:
                        yield ("hosts", host), f"{host} is in no edge: expected one edge to a switch"
                    else:
                        loc = ("hosts", host, "nics", number)
                        yield loc, f"NIC {number} of {host} is in no edge: expected one edge to a switch"

    def unique(self) -> _Found:
        ids: list[_Row] = [
            (("switches", n, "device_id"), n, s.get("device_id")) for n, s in self.switches.items()
        ]
        groups: list[_Row] = [(("switches", n, "group"), n, s.get("group")) for n, s in self.switches.items()]
        ips: list[_Row] = []
        ips6: list[_Row] = []
        macs: list[_Row] = []
        for host, spec in self.hosts.items():
            nics = nics_of(spec)
            for number, nic in enumerate(nics):
                if isinstance(nic, Mapping):
                    at: Loc = ("hosts", host) if nic is spec else ("hosts", host, "nics", number)
                    owner = host if nic is spec or len(nics) == 1 else f"{host}:{number}"
                    mac = nic.get("mac")
                    ips.append(((*at, "ip"), owner, nic.get("ip")))
                    ips6.append(((*at, "ip6"), owner, _spelled(nic.get("ip6"))))
                    macs.append(((*at, "mac"), owner, mac.lower() if isinstance(mac, str) else None))
        for rows in (ids, groups, ips, ips6, macs):
            yield from _twice(rows)

    def connected(self) -> _Found:
        if not self.whole:
            return
        nodes: dict[str, set[str]] = {name: set() for name in (*self.switches, *self.hosts)}
        for _, a, b in self.wires:
            if a is not None and b is not None and a.node in nodes and b.node in nodes:
                nodes[a.node].add(b.node)
                nodes[b.node].add(a.node)
        unwired = {host for host in self.hosts if not nodes[host]}  # told already
        parts = components({name: near for name, near in nodes.items() if name not in unwired})
        if len(parts) > 1:
            for part in sorted(parts, key=len)[:-1]:
                lonely = min(part)
                kind = "hosts" if lonely in self.hosts else "switches"
                yield (kind, lonely), f"{lonely} is not connected to the rest of the fabric by any edge"


def _spelled(address: Any) -> Any:
    """An IPv6 address as all write it, who may write it in many ways; None where it is none."""
    try:
        return str(IPv6Address(address)) if isinstance(address, str) else None
    except ValueError:
        return None


def _twice(rows: list[_Row]) -> _Found:
    first: dict[Any, str] = {}
    for loc, owner, value in rows:
        if value is None or not isinstance(value, str | int):
            continue
        if str(value) in first:
            yield loc, f"{value} is also that of {first[str(value)]}: expected a unique {loc[-1]}"
        first.setdefault(str(value), owner)

"""A fabric as another tool's file tells of it: names and cables, which get numbers and addresses at last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from csaud_controller.base.graph import distances
from csaud_controller.base.units import format_duration, format_rate
from csaud_controller.base.yamlfile import ConfigError

NANOSECONDS_PER_METRE = 5
"""Of a cable: light in glass, and signals in copper, go some 0.2 m in a nanosecond."""

_NIC = re.compile(r"(eth|en[opsx]|ib|mlx|hsn|nic|bond)[\w.-]*", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """One file."""

    path: Path
    value: Any
    """Its JSON or YAML value; of a CSV file, its text."""

    def fail(self, key: str, message: str) -> ConfigError:
        return ConfigError(str(self.path), None, key, message)


@dataclass
class Cable:
    """One cable. An end is a node and its interface's name (empty: not known) or port number."""

    a: str
    a_name: str | int
    b: str
    b_name: str | int
    rate: int | None = None
    """bits per second"""
    delay: int | None = None
    """nanoseconds"""


@dataclass
class Draft:
    """What has been read so far."""

    name: str
    switches: dict[str, dict[str, Any]] = field(default_factory=dict)
    """More of what is known of each: keys of SwitchSpec."""
    hosts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What is known of their NICs: keys of Nic, in the order of their numbers."""
    cables: list[Cable] = field(default_factory=list)
    mtu: int | None = None
    policy: dict[str, Any] = field(default_factory=dict)
    """Keys of a policy file."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What a fabric file has no place for, and how often it was there."""
    assumed: list[str] = field(default_factory=list)
    """What the file does not say."""

    def leave(self, what: str) -> None:
        """Say that this is in the file and not in the fabric."""
        self.left_out[what] += 1

    def leave_others(self, value: Mapping[Any, Any], known: Iterable[str], at: str) -> None:
        """The same of all keys but these; a * in `at` stands for names, so that many are told as one."""
        for key in value.keys() - {*known}:
            self.leave(f"{at}.{key}" if at else str(key))

    def sort(
        self,
        nodes: Iterable[str],
        switches: Iterable[str],
        hosts: Iterable[str],
        known: Mapping[str, bool] | None = None,
    ) -> None:
        """Take nodes as switches or hosts: as these patterns say, else as the file says (`known`: whether one
        is a switch), else hosts where all interfaces are called like a server's."""
        named: dict[str, list[str]] = {}
        for cable in self.cables:
            for node, name in ((cable.a, cable.a_name), (cable.b, cable.b_name)):
                named.setdefault(node, []).append(str(name))
        for node in nodes:
            if any(fnmatchcase(node, pattern) for pattern in switches):
                is_host = False
            elif any(fnmatchcase(node, pattern) for pattern in hosts):
                is_host = True
            elif known is not None and node in known:
                is_host = not known[node]
            else:
                is_host = all(_NIC.fullmatch(name) for name in named.get(node, [""]))
                self.assumed.append(f"{node} is a {'host' if is_host else 'switch'} (--switch, --host)")
            if is_host:
                self.hosts.setdefault(node, [])
            else:
                self.switches.setdefault(node, {})

    def override(self, switches: Iterable[str], hosts: Iterable[str]) -> None:
        """Nodes that are something else than the file has it."""
        for node in [*self.hosts]:
            if any(fnmatchcase(node, pattern) for pattern in switches):
                del self.hosts[node]
                self.switches[node] = {}
        for node in [*self.switches]:
            if any(fnmatchcase(node, pattern) for pattern in hosts):
                del self.switches[node]
                self.hosts[node] = []

    def document(self) -> dict[str, Any]:
        """The fabric file's values; what it lacks is given and noted under `assumed`. ValueError: there is no
        switch."""
        if not self.switches:
            nodes = ", ".join(self.hosts) or "none at all"
            raise ValueError(f"no node is a switch: name those that are by --switch (nodes: {nodes})")
        known = self.switches.keys() | self.hosts.keys()
        for cable in [*self.cables]:
            if not {cable.a, cable.b} <= known:
                ends = f"{cable.a}:{cable.a_name} - {cable.b}:{cable.b_name}"
                self.leave(f"link {ends}: not between nodes of the fabric")
                self.cables.remove(cable)
        ports, edges = _Ports(self), []
        for cable in self.cables:
            edge: dict[str, Any] = {"a": cable.a, "a_port": ports.of(cable.a, cable.a_name)}
            edge |= {"b": cable.b, "b_port": ports.of(cable.b, cable.b_name)}
            if cable.rate is not None:
                edge["rate"] = format_rate(cable.rate)
            if cable.delay is not None:
                edge["delay"] = format_duration(cable.delay)
            edges.append(edge)
        made: dict[str, Any] = {"name": self.name}
        if self.mtu is not None:
            made["mtu"] = self.mtu
        made["switches"] = self._switch_specs(ports)
        made["hosts"] = self._host_specs(ports)
        return {**made, "edges": edges}

    def _switch_specs(self, ports: _Ports) -> dict[str, Any]:
        roles, specs = self._roles(), {}
        given = {spec["device_id"] for spec in self.switches.values() if "device_id" in spec}
        free = (n for n in range(1, len(self.switches) + len(given) + 1) if n not in given)
        for name, spec in self.switches.items():
            names = {n: called for called, n in ports.named.get(name, {}).items() if isinstance(called, str)}
            made = {"role": roles[name], "device_id": spec.get("device_id") or next(free), **spec}
            interfaces = {**dict(sorted(names.items())), **spec.get("interfaces", {})}
            specs[name] = {**made, **({"interfaces": interfaces} if interfaces else {})}
        if any("device_id" not in spec for spec in self.switches.values()):
            self.assumed.append("device ids of switches: 1, 2, ... in their order")
        self.assumed.append("roles of switches: by their distance from hosts")
        return specs

    def _roles(self) -> dict[str, str]:
        graph: dict[str, set[str]] = {name: set() for name in self.switches}
        with_hosts = set()
        for cable in self.cables:
            if cable.a in graph and cable.b in graph:
                graph[cable.a].add(cable.b)
                graph[cable.b].add(cable.a)
            else:
                with_hosts.add(cable.a if cable.a in graph else cable.b)
        far = {name: len(graph) for name in graph}
        for start in with_hosts & graph.keys():
            for name, distance in distances(graph, start).items():
                far[name] = min(far[name], distance)
        tiers = ["leaf", "spine"] if max(far.values(), default=0) < 2 else ["edge", "aggregation", "core"]
        return {name: tiers[min(distance, len(tiers) - 1)] for name, distance in far.items()}

    def _host_specs(self, ports: _Ports) -> dict[str, Any]:
        leaves = {name: number for number, name in enumerate(self.switches, 1)}
        at: dict[tuple[str, int], str] = {}
        for cable in self.cables:
            for node, name, peer in ((cable.a, cable.a_name, cable.b), (cable.b, cable.b_name, cable.a)):
                if node in self.hosts:
                    at[node, ports.of(node, name)] = peer
        taken = {str(nic["ip"]) for nics in self.hosts.values() for nic in nics if nic.get("ip")}
        used: Counter[str] = Counter()
        specs, given = {}, False
        for host, nics in self.hosts.items():
            names = {number: called for called, number in ports.named.get(host, {}).items()}
            made = []
            for number in range(max([len(nics), *(n + 1 for n in names)])):
                nic = {k: v for k, v in (nics[number] if number < len(nics) else {}).items() if v}
                if isinstance(names.get(number), str):
                    nic.setdefault("name", names[number])
                leaf = leaves.get(at.get((host, number), ""), 0)
                while "ip" not in nic or "mac" not in nic:
                    given = True
                    used[str(leaf)] += 1
                    low = used[str(leaf)]
                    ip, mac = (
                        f"10.{leaf >> 8}.{leaf & 255}.{low}",
                        f"02:00:0a:{leaf >> 8:02x}:{leaf & 255:02x}:{low:02x}",
                    )
                    if ip not in taken:
                        nic.setdefault("ip", ip)
                        nic.setdefault("mac", mac)
                made.append({key: nic[key] for key in ("name", "ip", "mac") if key in nic})
            only = made[0] if len(made) == 1 else None
            specs[host] = only if only is not None and "name" not in only else {"nics": made}
        if given:
            self.assumed.append("addresses of hosts: 10.0.k.n at the k-th switch, where none are given")
        return specs


class _Ports:
    """Numbers of interfaces by their names: in the order of a file's list, else in that of cables."""

    def __init__(self, draft: Draft) -> None:
        self._hosts = draft.hosts
        self.named: dict[str, dict[str | int, int]] = {}
        for switch, spec in draft.switches.items():
            self.named[switch] = {called: number for number, called in spec.get("interfaces", {}).items()}
        for host, nics in draft.hosts.items():
            self.named[host] = {nic["name"]: n for n, nic in enumerate(nics) if nic.get("name")}
        for cable in draft.cables:  # numbers that are given go before those that are free
            for node, name in ((cable.a, cable.a_name), (cable.b, cable.b_name)):
                if isinstance(name, int):
                    self.named.setdefault(node, {}).setdefault(name, name)
        self._unnamed = 0

    def of(self, node: str, name: str | int) -> int:
        known = self.named.setdefault(node, {})
        if name == "":  # nobody knows what it is called, and it is no other's
            self._unnamed += 1
            name = -self._unnamed
        if name not in known:
            first = 0 if node in self._hosts else 1
            used = set(known.values())
            known[name] = next(n for n in range(first, first + len(used) + 1) if n not in used)
        return known[name]

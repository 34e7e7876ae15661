"""Fabrics of any size: leaf-spine and fat-tree."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Literal

from csaud_controller.inventory.model import Fabric
from csaud_controller.inventory.ports import MAX_PORT
from csaud_controller.inventory.specs import Edge, HostSpec, Role, SwitchSpec

MANY_SWITCHES = 8
"""Fabrics with more switches than this join them inside the switch process instead of by veth pairs."""

_MAX_FAT_TREE = 22
"""Of its 242 edge switches each has its own 10.0.k.0/24."""


def leaf_spine(leaves: int, spines: int, hosts_per_leaf: int = 2) -> Fabric:
    """Leaves l1.., spines s1.., hosts h1..; a leaf's first ports are uplinks (port j = spine j), then hosts.

    Host n of leaf k is 10.0.k.n with MAC 02:00:0a:00:kk:nn; ValueError when the sizes do not fit that plan.
    """
    if not 1 <= leaves <= MAX_PORT or spines < 0 or hosts_per_leaf < 0:
        raise ValueError(f"a leaf-spine fabric has 1 to {MAX_PORT} leaves, got {leaves}")
    if spines + hosts_per_leaf > MAX_PORT:
        raise ValueError(f"a leaf has {MAX_PORT} ports, got {spines} spines + {hosts_per_leaf} hosts")
    if spines == 0 and leaves > 1:
        raise ValueError("leaves without a spine are not connected: give at least 1 spine")
    made = _Builder()
    made.switches("l", leaves, "leaf")
    made.switches("s", spines, "spine")
    for k in range(1, leaves + 1):
        made.edges += [Edge(a=f"l{k}", a_port=j, b=f"s{j}", b_port=k) for j in range(1, spines + 1)]
        made.hosts_on(f"l{k}", k, spines, hosts_per_leaf)
    name = f"leaf-spine-{leaves}x{spines}" + ("" if hosts_per_leaf == 2 else f"x{hosts_per_leaf}")
    return made.fabric(name)


def fat_tree(k: int) -> Fabric:
    """A three-tier fat-tree of switches with k ports (Al-Fares, Loukissas, Vahdat; SIGCOMM 2008).

    k pods of k/2 edge switches (e1..) and k/2 aggregation switches (a1..), (k/2)^2 cores (c1..), k^3/4 hosts
    (h1..). Ports 1 to k/2 of edge and aggregation lead upwards, the others downwards; port p of a core leads
    to pod p. The i-th aggregation switch of every pod leads to cores (i-1)*k/2+1 to i*k/2. Host n of edge
    switch j is 10.0.j.n with MAC 02:00:0a:00:jj:nn. ValueError unless k is even and from 2 to 22.
    """
    if k % 2 or not 2 <= k <= _MAX_FAT_TREE:
        raise ValueError(
            f"a fat-tree has switches with an even number of ports, 2 to {_MAX_FAT_TREE}, got {k}"
        )
    half = k // 2
    made = _Builder()
    made.switches("e", k * half, "edge")
    made.switches("a", k * half, "aggregation")
    made.switches("c", half * half, "core")
    steps = range(1, half + 1)
    for pod in range(1, k + 1):
        first = (pod - 1) * half
        for i in steps:
            made.edges += [
                Edge(a=f"e{first + i}", a_port=j, b=f"a{first + j}", b_port=half + i) for j in steps
            ]
        for i in steps:
            cores = [(j, (i - 1) * half + j) for j in steps]
            made.edges += [Edge(a=f"a{first + i}", a_port=j, b=f"c{core}", b_port=pod) for j, core in cores]
    for edge in range(1, k * half + 1):
        made.hosts_on(f"e{edge}", edge, half, half)
    return made.fabric(f"fat-tree-{k}")


class _Builder:
    """Collects the parts of a fabric; device ids count from 1 in the order in which switches are added."""

    def __init__(self) -> None:
        self.edges: list[Edge] = []
        self._switches: dict[str, SwitchSpec] = {}
        self._hosts: dict[str, HostSpec] = {}

    def switches(self, letter: str, count: int, role: Role) -> None:
        for number in range(1, count + 1):
            self._switches[f"{letter}{number}"] = SwitchSpec(role=role, device_id=len(self._switches) + 1)

    def hosts_on(self, switch: str, subnet: int, uplinks: int, count: int) -> None:
        """`count` hosts at the ports of `switch` after its uplinks, in 10.0.<subnet>.0/24."""
        for n in range(1, count + 1):
            name = f"h{len(self._hosts) + 1}"
            mac = f"02:00:0a:00:{subnet:02x}:{n:02x}"
            self._hosts[name] = HostSpec(ip=IPv4Address(f"10.0.{subnet}.{n}"), mac=mac)
            self.edges.append(Edge(a=switch, a_port=uplinks + n, b=name, b_port=0))

    def fabric(self, name: str) -> Fabric:
        via: Literal["veth", "memory"] = "memory" if len(self._switches) > MANY_SWITCHES else "veth"
        return Fabric(name=name, links_via=via, switches=self._switches, hosts=self._hosts, edges=self.edges)

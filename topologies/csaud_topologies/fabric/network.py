"""A fabric's inventory as a Mininet network: hosts, switches and cables, with Mininet's own habits.

Interfaces are named as the inventory names them (l1-eth3, h1-eth0). Ports that face a P4 switch have offloads
off: a switch that reads a veth would see segments that were never cut and checksums that were never computed.
"""

from __future__ import annotations

import subprocess
from ipaddress import ip_network
from typing import Any

from csaud_controller.inventory import Edge, Fabric, interface
from csaud_runs.errors import RunError
from mininet.link import Link
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Node, Switch

_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")


class FabricHost(Host):  # type: ignore[misc]
    """A host in a network namespace of its own."""

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **params)
        disable_ipv6(self)


class FabricSwitch(Switch):  # type: ignore[misc]
    """A P4 switch's place in the network; the target decides which process forwards for it."""

    def start(self, controllers: list[Any]) -> None:
        """Nothing to start here: the target starts the forwarding process when all interfaces exist."""

    def stop(self, deleteIntfs: bool = True) -> None:
        """Remove the interfaces and end the node's shell."""
        super().stop(deleteIntfs)


class SoftSwitch(FabricSwitch):
    """In the run's own namespace: one process forwards for all of them."""


class Bmv2Switch(FabricSwitch):
    """In a namespace of its own: BMv2's Thrift server listens on all addresses, and each switch has one."""

    controlIntf = None  # Mininet looks for it on switches in namespaces of their own

    def __init__(self, name: str, **params: Any) -> None:
        params["inNamespace"] = True
        super().__init__(name, **params)
        disable_ipv6(self)


def disable_ipv6(node: Node) -> None:
    """Hosts and switches then send no neighbour discovery of their own into the fabric."""
    output = node.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
    if output.strip() and "No such file" not in output:  # a kernel without IPv6 has nothing to disable
        raise RunError(f"{node.name}: cannot disable IPv6: {output.strip()}")


def cables(fabric: Fabric) -> list[Edge]:
    """The edges that are network interfaces: with links_via memory, those between switches are not."""
    if fabric.links_via == "veth":
        return fabric.edges
    return [edge for edge in fabric.edges if not {edge.a, edge.b} <= fabric.switches.keys()]


def build_network(fabric: Fabric, switch_class: type[FabricSwitch], link_class: type[Any] = Link) -> Any:
    """Make nodes, cables and addresses; the network is started (in Mininet's sense) and nothing forwards
    yet.
    """
    setLogLevel("output")
    subprocess.run(
        ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"],
        check=False,
    )
    Mininet.inited = True  # without its changes to the machine's limits, which belong to the machine
    net = Mininet(topo=None, controller=None, build=False, link=link_class)
    for name, host in fabric.hosts.items():
        net.addHost(name, cls=FabricHost, ip=f"{host.ip}/16", mac=host.mac)
    for name, switch in fabric.switches.items():
        net.addSwitch(name, cls=switch_class, dpid=f"{switch.device_id:016x}")
    for edge in cables(fabric):
        net.addLink(
            net[edge.a],
            net[edge.b],
            port1=edge.a_port,
            port2=edge.b_port,
            intfName1=interface(edge.a, edge.a_port),
            intfName2=interface(edge.b, edge.b_port),
        )
    net.build()
    _set_up_ports(net, fabric)
    _set_further_nics(net, fabric)
    _set_routes(net, fabric)
    _set_ipv6(net, fabric)
    _set_neighbours(net, fabric)
    net.start()
    return net


def _set_up_ports(net: Any, fabric: Fabric) -> None:
    """MTU up, offloads off, all links up; one shell command a node, for speed."""
    off = " ".join(f"{name} off" for name in _OFFLOADS)
    ports: dict[str, list[int]] = {name: [] for name in fabric.peers}
    for edge in cables(fabric):
        for end in edge.ends:
            ports[end.node].append(end.port)
    for name in ports:
        commands = ["ip link set dev lo up"]
        for port in ports[name]:
            intf = interface(name, port)
            commands.append(f"ip link set dev {intf} mtu {fabric.mtu} up")
            commands.append(f"ethtool -K {intf} {off} >/dev/null")
        output = net[name].cmd("; ".join(commands))
        if output.strip():
            raise RunError(f"{name}: its interfaces could not be set up: {output.strip()}")


def _set_further_nics(net: Any, fabric: Fabric) -> None:
    """Addresses of NICs beyond the first: what is sent from one of them leaves by it."""
    for name, host in fabric.hosts.items():
        for number, nic in enumerate(host.all_nics[1:], 1):
            device = interface(name, number)
            output = net[name].cmd(
                f"ip link set dev {device} address {nic.mac}; ip addr add {nic.ip}/32 dev {device};"
                f" ip route add default dev {device} table {number};"
                f" ip rule add from {nic.ip} lookup {number}"
            )
            if output.strip():
                raise RunError(f"{name}: {device} could not be set up: {output.strip()}")


def _set_routes(net: Any, fabric: Fabric) -> None:
    """Hosts of another /16 are reached by the same device; without one, no other address is."""
    subnets = {
        ip_network(f"{nic.ip}/16", strict=False) for host in fabric.hosts.values() for nic in host.all_nics
    }
    if len(subnets) < 2:
        return
    for name in fabric.hosts:
        output = net[name].cmd(f"ip route add default dev {interface(name, 0)}")
        if output.strip():
            raise RunError(f"{name}: its route could not be set: {output.strip()}")


def _set_ipv6(net: Any, fabric: Fabric) -> None:
    """IPv6 where a NIC has such an address, and nothing that the kernel would say of itself: no link-local
    address, no solicitation of routers, no question whether somebody else has the address."""
    for name, host in fabric.hosts.items():
        for number, nic in enumerate(host.all_nics):
            if nic.ip6 is None:
                continue
            device = interface(name, number)
            silent = ("addr_gen_mode=1", "accept_ra=0", "router_solicitations=0", "disable_ipv6=0")
            settings = " ".join(f"net.ipv6.conf.{device}.{each}" for each in silent)
            table = f" table {number}; ip -6 rule add from {nic.ip6} lookup {number}" if number else ""
            output = net[name].cmd(
                f"sysctl -qw {settings}; ip addr add {nic.ip6}/128 dev {device} nodad;"
                f" ip -6 route add default dev {device}{table}"
            )
            if output.strip():
                raise RunError(f"{name}: {device} could not be given {nic.ip6}: {output.strip()}")


def _set_neighbours(net: Any, fabric: Fabric) -> None:
    """Permanent neighbour entries: the kernel drops packets silently while it asks, and those would be in no
    book.
    """
    for name, host in fabric.hosts.items():
        lines = "\n".join(
            f"neigh replace {address} lladdr {nic.mac} nud permanent dev {interface(name, number)}"
            for number, own in enumerate(host.all_nics)
            for other, peer in fabric.hosts.items()
            if other != name
            for nic in peer.all_nics
            for address in nic.addresses
            if address.version == 4 or own.ip6
        )
        done = net[name].popen(
            ["ip", "-batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        _, errors = done.communicate(lines)
        if done.returncode != 0:
            raise RunError(f"{name}: its neighbours could not be set: {errors.strip()}")


def set_cables(net: Any, a: str, b: str, up: bool) -> None:
    """Take all cables between two nodes down or up, at both ends, as Mininet's `link A B down` does."""
    net.configLinkStatus(a, b, "up" if up else "down")

"""Guests on a leaf-spine fabric of embedded switches, which run in real time on the guests' taps."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import find_artifacts
from csaud_sim.tables import Names, SwitchTables
from csaud_softswitch._core import Fabric

from .netns import NetworkNamespace

LEAVES, SPINES = 2, 4
RATE = 1_000_000_000  # bit/s of every link, far more than an emulated processor sends
BUFFER = 1024  # packets


class GuestFabric:
    """Two leaves, four spines. `taps` names the interface at which each host's guest is plugged in."""

    def __init__(self, namespace: NetworkNamespace, taps: Mapping[str, str], intent: Intent) -> None:
        inventory = leaf_spine(LEAVES, SPINES).with_ipv6()
        self.fabric = Fabric(seed=1)
        for name, switch in inventory.switches.items():
            self.fabric.add_switch(name, switch.device_id)
        link = {"rate_bps": RATE, "buffer_packets": BUFFER}
        with namespace.entered():
            for edge in inventory.edges:
                if edge.b in taps:
                    self.fabric.add_veth_port(edge.a, edge.a_port, taps[edge.b], **link)
                elif edge.b in inventory.hosts:
                    self.fabric.add_memory_port(edge.a, edge.a_port)
                else:
                    self.fabric.add_link(edge.a, edge.a_port, edge.b, edge.b_port, **link)
        for name, state in desired_states(inventory, intent).items():
            switch = self.fabric.switch(name)
            switch.load(find_artifacts().config.read_text())
            SwitchTables(switch, Names(switch)).become(state)

    def count(self, counter: str, kind: int) -> int:
        """Packets of one kind over all ports of all switches."""
        return sum(self.at_ports(name, counter, kind) for name in self.fabric.switches())

    def at_ports(self, switch: str, counter: str, kind: int, ports: range = range(128)) -> int:
        """Packets of one kind at these ports of one switch."""
        counts = self.fabric.switch(switch).counter_read_all(counter)
        return sum(counts[4 * port + kind][0] for port in ports)


@contextmanager
def running(namespace: NetworkNamespace, taps: Mapping[str, str], intent: Intent) -> Iterator[GuestFabric]:
    """The fabric forwards for the length of the block."""
    fabric = GuestFabric(namespace, taps, intent)
    fabric.fabric.start()
    try:
        yield fabric
    finally:
        fabric.fabric.stop()

"""A fabric in this process: the inventory that Mininet takes, of embedded switches that hold what the
controller computes for them."""

from __future__ import annotations

from collections.abc import Sequence

from csaud_controller.desired.states import DesiredStates
from csaud_controller.inventory import End
from csaud_controller.inventory import Fabric as Inventory
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.switches.counters import BY_KIND, BY_PATH, BY_PORT, WHOLE, SwitchCounters, arranged
from csaud_softswitch._core import Fabric, Switch

from csaud_sim.link_events import LinkStates
from csaud_sim.tables import Names, SwitchTables

_COUNTERS = (*BY_KIND, *BY_PORT, *BY_PATH, *WHOLE)


class SimulatedFabric:
    """Switches, the links between them, and memory ports where hosts are attached.

    Args:
        inventory: what is wired to what.
        intent: policy and faults.
        artifacts: the P4 program; default: this project's.
        failover: a switch leaves a port that is down at once; otherwise when its tables do.
    """

    def __init__(
        self,
        inventory: Inventory,
        intent: Intent,
        artifacts: Artifacts | None = None,
        *,
        failover: bool = True,
    ) -> None:
        self.inventory, self.intent = inventory, intent
        self.native = Fabric()
        program = (artifacts or find_artifacts()).config.read_text()
        for name, spec in inventory.switches.items():
            self.native.add_switch(name, spec.device_id).load(program)
        self._wire()
        self.names = Names(self.native.switch(next(iter(inventory.switches))))
        self._tables = {
            name: SwitchTables(self.switch(name), self.names, failover) for name in inventory.switches
        }
        self._states = LinkStates(inventory)
        self._known = ALL_UP
        self._further: Sequence[FaultRule] = ()
        self._rates: dict[End, int] = {}  # where they are not their links'
        self._desired = DesiredStates(inventory)
        self.become(ALL_UP)

    def switch(self, name: str) -> Switch:
        """One of its switches."""
        return self.native.switch(name)

    def become(self, live: LiveView) -> None:
        """Write into every switch what the controller wants it to hold while `live` is what it knows."""
        self._known = live
        rules = Faults(rules=(*self.intent.faults.rules, *self._further))
        for name, state in self._desired.of(Intent(policy=self.intent.policy, faults=rules), live).items():
            self._tables[name].become(state)

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Take all links between two switches down, or up; members that watch its ports are left at once."""
        for edge in self.inventory.edges_between(a, b):
            self.native.set_link(edge.a, edge.a_port, up)
        self._states.set(a, b, up)

    def set_rate(self, at: End, rate: int) -> None:
        """Let a port send at another rate than its link has, bit/s."""
        self._rates[at] = rate
        self.slow(at, rate)

    def slow(self, at: End, rate: int | None) -> None:
        """Let a port send at this rate until further notice, bit/s; None: at its own again."""
        if rate is None:
            rate = self._rates.get(at, self.inventory.rate_at[at])
        self.native.set_port_queue(at.node, at.port, rate_bps=rate)

    def lose(self, rules: Sequence[FaultRule]) -> None:
        """Lose packets by these rules, after the intent's, in place of those that were said before."""
        self._further = rules
        self.become(self._known)

    def converge(self) -> None:
        """Every switch holds what the controller wants once its probes have found the links as they are."""
        self.become(self.live)

    @property
    def live(self) -> LiveView:
        """What the controller's probes would find."""
        return self._states.live

    def counters(self) -> dict[str, SwitchCounters]:
        """Of every switch, as `csaud_controller.switches.counters.read_counters` gives them, in packets."""
        return {name: self._counters(name) for name in self.inventory.switches}

    def hidden_drops(self) -> dict[str, int]:
        """What ports dropped unseen by the program, by place; places without are left out."""
        return {
            f"{name}:{port} queue_full": stats["queue_full"]
            for name in self.inventory.switches
            for port, stats in self.switch(name).port_stats().items()
            if stats["queue_full"]
        }

    def _counters(self, name: str) -> SwitchCounters:
        switch = self.switch(name)
        cells = {
            counter: {
                index: packets
                for index, (packets, _) in enumerate(switch.counter_read_all(self.names.counters[counter]))
                if packets
            }
            for counter in _COUNTERS
        }
        return arranged(cells, self.inventory.peers[name])

    def _wire(self) -> None:
        inventory = self.inventory
        for edge in inventory.edges:
            link = inventory.link_of(edge)
            if edge.a in inventory.switches and edge.b in inventory.switches:
                self.native.add_link(
                    edge.a,
                    edge.a_port,
                    edge.b,
                    edge.b_port,
                    rate_bps=link.rate,
                    delay_ns=link.delay,
                    buffer_packets=link.buffer,
                )
                continue
            at: End = next(end for end in edge.ends if end.node in inventory.switches)
            self.native.add_memory_port(at.node, at.port, rate_bps=link.rate, buffer_packets=link.buffer)

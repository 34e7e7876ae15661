"""Simulated fabrics for tests: all hosts of an inventory, tables as the controller computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from csaud._core import EndpointConfig
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import Fabric as Inventory
from csaud_controller.policy.intent import Intent
from csaud_controller.program.artifacts import find_artifacts
from csaud_sim._core import Simulation
from csaud_sim.tables import Names, SwitchTables
from csaud_softswitch._core import Fabric

from tests.fabric.virtual import intent

if TYPE_CHECKING:
    from csaud_sim.told import FlowColumns

RATE = 100_000_000_000  # bit/s
DELAY = 500  # ns
SECOND = 1_000_000_000
QKEY = 0x1234567
CALM = intent("random", 0, "trim", 1)


class World:
    """All links have one rate and delay; `settings` are of `EndpointConfig`, `options` of `Simulation`."""

    def __init__(
        self,
        inventory: Inventory,
        wanted: Intent = CALM,
        seed: int = 1,
        rate: int = RATE,
        drift_ppm: float = 0.0,
        clock_offset_ns: int = 0,
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.fabric = Fabric(seed=seed)
        link = {"rate_bps": rate, "buffer_packets": 1024}
        program = find_artifacts().config.read_text()
        for name, switch in inventory.switches.items():
            self.fabric.add_switch(name, switch.device_id)
        self.places: dict[str, tuple[str, int]] = {}
        for edge in inventory.edges:
            if edge.b in inventory.hosts:
                self.fabric.add_memory_port(edge.a, edge.a_port, **link)
                self.places[edge.b] = edge.a, edge.a_port
            else:
                self.fabric.add_link(edge.a, edge.a_port, edge.b, edge.b_port, delay_ns=DELAY, **link)
        for name, state in desired_states(inventory, wanted).items():
            switch = self.fabric.switch(name)
            switch.load(program)
            SwitchTables(switch, Names(switch)).become(state)
        self.simulation = Simulation(self.fabric, **options)
        for rank, (host, place) in enumerate(self.places.items()):
            config = EndpointConfig()
            config.rank, config.world, config.qkey = rank, len(self.places), QKEY
            config.local_ipv4, config.local_qpn = int(inventory.hosts[host].ip), 0x100 + rank
            config.rate_bps = rate
            for setting, value in (settings or {}).items():
                setattr(config, setting, value)
            clock = {
                "drift_ppm": drift_ppm * (1 if rank % 2 else -1),  # every other is fast, the others slow
                "clock_offset_ns": clock_offset_ns * rank,
            }
            self.simulation.add_host(config, *place, nic_rate_bps=rate, delay_ns=DELAY, **clock)
        self.simulation.connect()

    def add(self, *rows: tuple[int, int, int, int]) -> None:
        """Flows: source, destination, bytes, start."""
        src, dst, size, start = zip(*rows, strict=True)
        self.simulation.add_flows(
            np.array(src, np.uint16), np.array(dst, np.uint16), np.array(size, np.uint64), np.array(start)
        )

    def add_random(self, count: int, size: int, gap_ns: float, seed: int) -> None:
        """Flows between random hosts, as a Poisson process."""
        random = np.random.default_rng(seed)
        hosts = self.simulation.hosts
        src = random.integers(0, hosts, count)
        dst = (src + random.integers(1, hosts, count)) % hosts
        start = np.cumsum(random.exponential(gap_ns, count)).astype(np.int64)
        self.simulation.add_flows(
            src.astype(np.uint16), dst.astype(np.uint16), np.full(count, size, np.uint64), start
        )

    def run(self, limit_ns: int = 10 * SECOND) -> FlowColumns:
        """Until all flows are over."""
        assert self.simulation.run(self.simulation.now + limit_ns)
        return self.simulation.flows()

    def total(self, counter: str) -> int:
        return sum(self.simulation.stats(host)[counter] for host in range(self.simulation.hosts))

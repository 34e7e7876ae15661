"""The simulator's speed: processor time a packet-hop under an open load, and what it takes to set fabrics up.

Each fabric in a process of its own, so that its memory is its own: `python -m bench.simulator FABRIC FLOWS`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from csaud._core import EndpointConfig
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_sim._core import Simulation
from csaud_sim.experiment.large_pages import large_pages
from csaud_sim.fabric import SimulatedFabric
from rich.console import Console

from bench import machine
from bench.results import Result, result, save, show

RATE = 100_000_000_000  # bit/s
DELAY = 1_000  # ns
LOAD = 0.8
PACKETS = 32  # of a flow
PAYLOAD = 4064  # bytes
SEED = 1
LIMIT = 1_000_000_000  # ns
FABRICS = {
    "leaf-spine-4x4x4": lambda: leaf_spine(4, 4, 4),
    "fat-tree-8": lambda: fat_tree(8),
    "fat-tree-16": lambda: fat_tree(16),
}
FLOWS = {"leaf-spine-4x4x4": 8_000, "fat-tree-8": 8_000, "fat-tree-16": 8_000}
QUICK = {"leaf-spine-4x4x4": 50}


@dataclass(frozen=True)
class Run:
    """One fabric's figures; processor time in seconds."""

    hosts: int
    switches: int
    set_up_s: float
    megabytes: int
    flows: int
    hops: int
    run_s: float
    digest: int

    @property
    def us_a_hop(self) -> float:
        return 1e6 * self.run_s / self.hops


def run(inventory: Fabric, flows: int) -> Run:
    """Random pairs of hosts, flows of 32 packets as a Poisson process, sprayed as by default."""
    link = inventory.link.model_copy(update={"rate": RATE, "delay": DELAY, "buffer": 1024})
    inventory = inventory.model_copy(update={"link": link})
    begun = time.process_time()
    fabric = SimulatedFabric(inventory, Intent())
    simulation = Simulation(fabric.native, payloads=False, trace=0)
    for rank, host in enumerate(inventory.hosts.values()):
        config = EndpointConfig()
        config.rank, config.world, config.qkey, config.rate_bps = rank, len(inventory.hosts), 1, RATE
        config.local_ipv4, config.local_qpn = int(host.ip), 0x100 + rank
        at = inventory.attachment(list(inventory.hosts)[rank])
        simulation.add_host(config, at.node, at.port, nic_rate_bps=RATE, delay_ns=DELAY)
    simulation.connect()
    ready = time.process_time()
    random = np.random.default_rng(SEED)
    hosts, size = simulation.hosts, PACKETS * PAYLOAD
    gap = size * 8e9 / (LOAD * RATE) / hosts  # ns between two flows of the fabric
    src = random.integers(0, hosts, flows)
    dst = (src + random.integers(1, hosts, flows)) % hosts
    start = np.cumsum(random.exponential(gap, flows)).astype(np.int64)
    simulation.add_flows(src.astype(np.uint16), dst.astype(np.uint16), np.full(flows, size, np.uint64), start)
    started = time.process_time()
    if not simulation.run(LIMIT) or simulation.failures:
        raise RuntimeError(f"{simulation.open} flows are not over, {simulation.failures} failed")
    return Run(
        hosts=hosts,
        switches=len(inventory.switches),
        set_up_s=ready - begun,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        flows=flows,
        hops=simulation.hops,
        run_s=time.process_time() - started,
        digest=simulation.trace_digest,
    )


def rows(name: str, found: Run, least: Run) -> list[Result]:
    """`least`: of the smallest fabric."""
    at = {"hosts": found.hosts, "switches": found.switches, "hops": found.hops, "digest": f"{found.digest:x}"}
    made = [result(f"{name}: a hop", found.us_a_hop, "us", bound="at most", limit=2, at=at)]
    if found.hosts >= 1024:
        made = [
            result(
                f"{name}: a hop", found.us_a_hop, "us", peer=f"{least.hosts} hosts",
                peer_value=least.us_a_hop, bound="at most", limit=2, at=at,
            ),
            result(f"{name}: set up", found.set_up_s, "s", bound="at most", limit=10),
            result(f"{name}: memory", found.megabytes, "MB", bound="at most", limit=2048),
        ]  # fmt: skip
    flows = 1e5
    minutes = flows * (found.run_s / found.flows) / 60
    return [*made, result(f"{name}: 1e5 flows of {PACKETS} packets", minutes, "min")]


def command(console: Console, out: Path, quick: bool) -> None:
    """Measure every fabric, one after the other."""
    circumstances = machine.describe()
    runs: dict[str, Run] = {}
    with machine.priority(), large_pages():  # as sweeps' processes have
        for name, flows in (QUICK if quick else FLOWS).items():
            console.print(f"[dim]{name} …[/]")
            argv = [sys.executable, "-m", "bench.simulator", name, str(flows)]
            done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
            runs[name] = Run(**json.loads(done.stdout))
    least = next(iter(runs.values()))
    results = [row for name, found in runs.items() for row in rows(name, found, least)]
    show(results, console, circumstances, "Simulator")
    save(results, circumstances, out / "simulator.json")
    console.print(f"{out / 'simulator.json'}")


if __name__ == "__main__":
    json.dump(asdict(run(FABRICS[sys.argv[1]](), int(sys.argv[2]))), sys.stdout)

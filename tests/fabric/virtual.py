"""A whole fabric under virtual time: the controller's desired state, written straight into the switches."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
from csaud_controller.inventory import Fabric as Inventory
from csaud_controller.inventory import LinkDefaults, leaf_spine
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Limits, Policy
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.job import VirtualJob
from csaud_sim.network import Network, Seat

CONTROL = "CsaudIngress."
RATE = 10_000_000_000  # bit/s of every link
WINDOW = 32  # packets
DATA, CTRL, LOSS = 1, 2, 3
SPREAD = ("h1", "h3", "h5", "h7", "h2", "h4", "h6", "h8")


def four_by_four() -> Inventory:
    """Two hosts a leaf; links between switches take a microsecond."""
    plain = leaf_spine(4, 4)
    inner = plain.switch_edges()
    edges = [edge.model_copy(update={"delay": 1000}) if edge in inner else edge for edge in plain.edges]
    return plain.model_copy(update={"edges": edges, "link": LinkDefaults(rate=RATE, buffer=1024)})


class VirtualRun:
    """Eight ranks, two a leaf, on 4 leaves x 4 spines; consecutive ranks on different leaves."""

    def __init__(self, intent: Intent, **core: object) -> None:
        fabric = SimulatedFabric(four_by_four(), intent)
        self.fabric = fabric.native
        # the defaults of the core, not those of the library: a NIC without pacing, a coarse timer
        core = {"window": WINDOW, "rate_bps": RATE, "timer_tick": 50_000, **core}
        self.job = VirtualJob(Network(fabric, [Seat(host, core=core) for host in SPREAD]))

    def all_reduce(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Sum the ranks' arrays in place, by the ring."""
        self.job.run(lambda comm: comm.all_reduce(arrays[comm.rank], algorithm="ring"))

    def count(self, counter: str, kind: int) -> int:
        """Packets of one kind over all ports of all switches, by a counter of ports and kinds."""
        total = 0
        for name in self.fabric.switches():
            total += sum(n for n, _ in self.fabric.switch(name).counter_read_all(CONTROL + counter)[kind::4])
        return total

    def hidden_drops(self) -> int:
        ports = [p for name in self.fabric.switches() for p in self.fabric.switch(name).port_stats().values()]
        return sum(port["queue_full"] for port in ports)


def intent(spray: str, loss: float, signal: str, seed: int) -> Intent:
    """Loss on every leaf's uplinks, told of by a TRIM or silent."""
    policy = Policy(spray=spray, loss_signal=signal, seed=seed, limits=Limits(trim_at=256, drop_at=960))
    rules = (
        (FaultRule(where="uplinks", probability=loss, signalled=signal == "trim", seed=seed),) if loss else ()
    )
    return Intent(policy=policy, faults=Faults(rules=rules))

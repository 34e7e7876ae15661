"""One setting of an experiment with one seed: simulated, and what came of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from csaud.config.reading import load
from csaud_controller.inventory import Fabric, load_fabric
from csaud_topologies.job.telemetry import switch_counts
from csaud_topologies.record.books import DATA, HostCounts
from csaud_topologies.scenario.host_settings import host_settings
from csaud_topologies.scenario.model import Workers
from csaud_topologies.scenario.placement import place

from csaud_sim.experiment.collectives import RunningCollectives
from csaud_sim.experiment.ideal import ideal_times
from csaud_sim.experiment.model import Collectives, Experiment
from csaud_sim.experiment.traffic import make_flows
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.network import Network, Seat

Column = npt.NDArray[Any]


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
        flows: columns by name, one element a flow; `columns.FLOWS` has their meaning.
        totals: figures of the whole run; `columns.TOTALS` has their meaning.
        collectives: columns by name, one element a collective that is over; `columns.COLLECTIVES`. Empty
            where none were asked for.
    """

    flows: Mapping[str, Column]
    totals: Mapping[str, float]
    collectives: Mapping[str, Column]


def fabric_of(experiment: Experiment) -> Fabric:
    """The fabric with the experiment's links."""
    return experiment.on(load_fabric(experiment.fabric))


def measure(experiment: Experiment) -> Measured:
    """Simulate; the same experiment gives the same figures, but for `setup_s` and `run_s`."""
    began = time.monotonic()
    fabric = fabric_of(experiment)
    hosts = list(fabric.hosts)
    simulated = SimulatedFabric(fabric, experiment.intent())
    seats = [
        Seat(host, load(host_settings(experiment.policy, experiment.host, fabric, host), {}), experiment.core)
        for host in hosts
    ]
    network = Network(simulated, seats, pipeline_ns=experiment.pipeline, payloads=False)
    running = None
    if experiment.collectives is not None:
        running = RunningCollectives(
            network, experiment.collectives, _ranks(experiment.collectives, fabric), experiment.seed
        )
    ideal = _add_flows(experiment, fabric, network)
    ready = time.monotonic()
    network.run_all(experiment.time_limit)
    done = time.monotonic()
    found = network.flows()
    fct = found["finished_ns"] - found["start_ns"]
    warmup = experiment.traffic.warmup if experiment.traffic is not None else 0
    flows = {
        **{name: found[name] for name in ("src", "dst", "bytes", "start_ns")},
        "fct_ns": fct,
        "acked_ns": found["acked_ns"] - found["start_ns"],
        "ideal_ns": ideal,
        "slowdown": fct / ideal,
        "status": found["status"],
        "measured": found["start_ns"] >= warmup,
    }
    completed = running.completed() if running is not None else None
    totals = {
        **_totals(simulated, network),
        "flows": float(len(fct)),
        "unfinished": float(np.isnan(fct).sum()),
        "collectives": float(0 if completed is None else len(completed.started_ns)),
        "virtual_s": network.now / 1e9,
        "setup_s": ready - began,
        "run_s": done - ready,
    }
    return Measured(flows, totals, {} if completed is None else vars(completed))


def _add_flows(experiment: Experiment, fabric: Fabric, network: Network) -> npt.NDArray[np.float64]:
    """The experiment's flows, if any; their ideal times."""
    traffic = experiment.traffic
    if traffic is None:
        return np.empty(0)
    hosts = list(fabric.hosts)
    rates = np.array([fabric.link_of(fabric.edge_at[fabric.attachment(host)]).rate for host in hosts])
    to = None if traffic.to is None else hosts.index(traffic.to)
    flows = make_flows(traffic, rates, to, experiment.seed)
    network.add_flows(flows.src, flows.dst, flows.bytes, flows.start_ns)
    return ideal_times(
        fabric,
        hosts,
        flows.src,
        flows.dst,
        flows.bytes,
        path_mtu=network.path_mtu,
        pipeline_ns=experiment.pipeline,
    )


def _ranks(asked: Collectives, fabric: Fabric) -> list[int]:
    """Numbers of the hosts that take part, in rank order."""
    placed = place(fabric, Workers(count=asked.ranks, placement=asked.placement))
    numbers = {host: number for number, host in enumerate(fabric.hosts)}
    return [numbers[host] for host in placed]


def _totals(fabric: SimulatedFabric, network: Network) -> dict[str, float]:
    stats = [network.stats(rank) for rank in range(len(network.seats))]
    hosts = [HostCounts.from_stats(each) for each in stats]
    switches = [switch_counts(counters) for counters in fabric.counters().values()]

    def of_hosts(name: str) -> float:
        return float(sum(getattr(host, name) for host in hosts))

    def of_switches(name: str) -> float:
        return float(sum(switch.total(name, DATA) for switch in switches))

    return {
        "hops": float(network.hops),
        **{name: of_hosts(name) for name in ("tx_data", "rx_data", "tx_control", "rx_duplicates")},
        **{name: of_hosts(name) for name in ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")},
        "told": of_hosts("rx_loss_notices"),
        **{name: of_switches(name) for name in ("injected", "trimmed", "bounced", "congestion_dropped")},
        "hidden_drops": float(sum(fabric.hidden_drops().values())),
    }


def settings_text(experiment: Experiment) -> str:
    """The experiment as JSON, without what is swept."""
    return json.dumps(experiment.model_dump(mode="json", exclude={"sweep"}), sort_keys=True)

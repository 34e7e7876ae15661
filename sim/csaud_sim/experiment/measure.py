"""One setting of an experiment with one seed: simulated, and what came of it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from csaud.config.reading import load
from csaud_controller.inventory import Fabric, load_fabric
from csaud_topologies.scenario.events import in_order, resolved
from csaud_topologies.scenario.host_settings import host_settings
from csaud_topologies.scenario.model import Workers
from csaud_topologies.scenario.placement import place

from csaud_sim.experiment.collectives import RunningCollectives
from csaud_sim.experiment.columns import NO_COLLECTIVE, TOTALS
from csaud_sim.experiment.ideal import base_rtt, ideal_times
from csaud_sim.experiment.links import impair, one_way_rates
from csaud_sim.experiment.model import Collectives, Experiment
from csaud_sim.experiment.totals import links_of, totals_of
from csaud_sim.experiment.traffic import make_flows
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.link_events import agenda
from csaud_sim.network import Followed, Network, Seat, path_mtu_of
from csaud_sim.transports.network import PlainNetwork
from csaud_sim.work import Agenda

Column = npt.NDArray[Any]

_BESIDE_ORACLE = {"detect_gap": False, "detect_interval": False}
_HEADER = 32  # bytes of the path MTU


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
        flows: columns by name, one element a flow, then one a message of collectives; `columns.FLOWS` has
            their meaning.
        totals: figures of the whole run; `columns.TOTALS` has their meaning.
        collectives: columns by name, one element a collective that is over; `columns.COLLECTIVES`. Empty
            where none were asked for.
        links: columns by name, one element a port of a switch; `columns.LINKS` has their meaning.
    """

    flows: Mapping[str, Column]
    totals: Mapping[str, float]
    collectives: Mapping[str, Column]
    links: Mapping[str, list[Any]]


def fabric_of(experiment: Experiment) -> Fabric:
    """The fabric with the experiment's links."""
    return experiment.on(load_fabric(experiment.fabric))


def measure(experiment: Experiment, engine: str | None = None) -> Measured:
    """Simulate; the same experiment gives the same figures, but for `setup_s` and `run_s`, whichever `engine`
    (`Network`) keeps time."""
    began = time.process_time()
    fabric = fabric_of(experiment)
    csa_ud = experiment.transport.is_csa_ud
    network = (_csa_ud if csa_ud else _plain)(experiment, fabric, engine)
    running = None
    if experiment.collectives is not None:
        running = RunningCollectives(
            network, experiment.collectives, _ranks(experiment.collectives, fabric), experiment.seed
        )
    ideal = _add_flows(experiment, fabric, network)
    ready = time.process_time()
    network.run_all(experiment.time_limit, _agenda(experiment, fabric, network))
    done = time.process_time()
    flows = _flows(experiment, network, ideal)
    followed = network.followed
    messages = _messages(experiment, fabric, network, followed)
    fct = flows["fct_ns"]
    completed = running.completed() if running is not None else None
    totals = {
        **dict.fromkeys(TOTALS, 0.0 if csa_ud else math.nan),  # of other transports not all is known
        **totals_of(network, followed),
        "flows": float(len(fct)),
        "unfinished": float(np.isnan(fct).sum()),
        "collectives": float(over := 0 if completed is None else len(completed.started_ns)),
        "collectives_unfinished": float(_asked(experiment.collectives) - over),
        "virtual_s": network.now / 1e9,
        "setup_s": ready - began,
        "run_s": done - ready,
    }
    return Measured(
        {name: np.concatenate([flows[name], messages[name]]) for name in flows},
        totals,
        {} if completed is None else vars(completed),
        links_of(fabric, followed),
    )


def _agenda(experiment: Experiment, fabric: Fabric, network: Network | PlainNetwork) -> Agenda:
    """What happens to links, and when."""
    failing = network.fabric if isinstance(network, Network) else network
    single = in_order(resolved(experiment.events, fabric))
    events = [event for _, event in single]
    return agenda(failing, events, experiment.convergence, experiment.seed)


def _asked(collectives: Collectives | None) -> int:
    """How many there are to be measured."""
    return 0 if collectives is None else collectives.repeats - collectives.warmup


def _csa_ud(experiment: Experiment, fabric: Fabric, engine: str | None) -> Network:
    core = {**_BESIDE_ORACLE, **experiment.core} if experiment.oracle else experiment.core
    simulated = SimulatedFabric(fabric, experiment.intent(), failover=experiment.fails_over)
    for end, rate in one_way_rates(fabric, experiment.links).items():
        simulated.set_rate(end, rate)
    random = np.random.default_rng([experiment.seed, 0xC10C])
    drifts = random.uniform(-experiment.clocks.drift, experiment.clocks.drift, len(fabric.hosts))
    offsets = random.integers(0, experiment.clocks.offset, len(fabric.hosts), endpoint=True)
    seats = [
        Seat(
            host,
            load(host_settings(experiment.policy, experiment.host, fabric, host), {}),
            core,
            float(drift),
            int(offset),
        )
        for host, drift, offset in zip(fabric.hosts, drifts, offsets, strict=True)
    ]
    path_mtu = path_mtu_of(fabric, seats)
    network = Network(
        simulated,
        seats,
        pipeline_ns=experiment.pipeline,
        payloads=False,
        ledger=True,
        oracle_ns=_half_round_trip(experiment, fabric, path_mtu) if experiment.oracle else None,
        engine=engine,
    )
    impair(network, experiment.impairments, experiment.seed)
    return network


def _plain(experiment: Experiment, fabric: Fabric, engine: str | None) -> PlainNetwork:
    return PlainNetwork(
        experiment.transport,
        fabric,
        experiment.intent(),
        base_rtt_ns=base_rtt(fabric, int(experiment.transport.value("mtu")), experiment.pipeline),
        pipeline_ns=experiment.pipeline,
        seed=experiment.seed,
        one_way_rates=one_way_rates(fabric, experiment.links),
        engine=engine,
        failover=experiment.fails_over,
    )


def _flows(
    experiment: Experiment, network: Network | PlainNetwork, ideal: npt.NDArray[np.float64]
) -> dict[str, npt.NDArray[Any]]:
    found = network.flows()
    fct = found["finished_ns"] - found["start_ns"]
    warmup = experiment.traffic.warmup if experiment.traffic is not None else 0
    return {
        **{name: found[name] for name in ("src", "dst", "bytes", "start_ns")},
        "fct_ns": fct,
        "acked_ns": found["acked_ns"] - found["start_ns"],
        "ideal_ns": ideal,
        "slowdown": fct / ideal,
        "status": found["status"],
        "measured": found["start_ns"] >= warmup,
        "collective": np.full(len(fct), NO_COLLECTIVE, np.int64),
    }


def _messages(
    experiment: Experiment, fabric: Fabric, network: Network | PlainNetwork, followed: Followed
) -> dict[str, npt.NDArray[Any]]:
    """The same columns of messages of collectives that have arrived."""
    found = followed.messages
    if experiment.collectives is None:
        found = {name: values[:0] for name, values in found.items()}  # type: ignore[assignment, index]
    else:
        mine = found["comm"] == 0
        found = {name: values[mine] for name, values in found.items()}  # type: ignore[assignment, index]
    took = (found["arrived_ns"] - found["posted_ns"]).astype(np.float64)
    ideal = _ideal_of(experiment, fabric, network, found["src"], found["dst"], found["bytes"])
    number = found["collective"].astype(np.int64)
    warmup = experiment.collectives.warmup if experiment.collectives is not None else 0
    return {
        **{name: found[name] for name in ("src", "dst", "bytes")},
        "start_ns": found["posted_ns"],
        "fct_ns": took,
        "acked_ns": np.full(len(took), np.nan),
        "ideal_ns": ideal,
        "slowdown": took / ideal,
        "status": np.zeros(len(took), np.uint8),
        "measured": number >= warmup,
        "collective": number,
    }


def _ideal_of(
    experiment: Experiment,
    fabric: Fabric,
    network: Network | PlainNetwork,
    src: npt.NDArray[np.uint16],
    dst: npt.NDArray[np.uint16],
    nbytes: npt.NDArray[np.uint64],
) -> npt.NDArray[np.float64]:
    return ideal_times(
        fabric, list(fabric.hosts), src, dst, nbytes,
        path_mtu=network.path_mtu, pipeline_ns=experiment.pipeline,
    )  # fmt: skip


def _half_round_trip(experiment: Experiment, fabric: Fabric, path_mtu: int) -> int:
    """Of a full packet there and a small one back, between the first host and the one farthest from it."""
    hosts = list(fabric.hosts)
    src, dst = np.zeros(len(hosts) - 1, np.uint16), np.arange(1, len(hosts), dtype=np.uint16)
    there, back = (
        ideal_times(
            fabric, hosts, src, dst, np.full(len(dst), nbytes, np.uint64),
            path_mtu=path_mtu, pipeline_ns=experiment.pipeline,
        )
        for nbytes in (path_mtu - _HEADER, 1)
    )  # fmt: skip
    return round(float((there + back).max()) / 2)


def _add_flows(
    experiment: Experiment, fabric: Fabric, network: Network | PlainNetwork
) -> npt.NDArray[np.float64]:
    """The experiment's flows, if any; their ideal times."""
    traffic = experiment.traffic
    if traffic is None:
        return np.empty(0)
    hosts = list(fabric.hosts)
    rates = np.array([fabric.link_of(fabric.edge_at[fabric.attachment(host)]).rate for host in hosts])
    to = None if traffic.to is None else hosts.index(traffic.to)
    flows = make_flows(traffic, rates, to, experiment.seed)
    network.add_flows(flows.src, flows.dst, flows.bytes, flows.start_ns, traffic.receive_delay)
    return _ideal_of(experiment, fabric, network, flows.src, flows.dst, flows.bytes)


def _ranks(asked: Collectives, fabric: Fabric) -> list[int]:
    """Numbers of the hosts that take part, in rank order."""
    placed = place(fabric, Workers(count=asked.ranks, placement=asked.placement))
    numbers = {host: number for number, host in enumerate(fabric.hosts)}
    return [numbers[host] for host in placed]


def settings_text(experiment: Experiment) -> str:
    """The experiment as JSON, without what is swept."""
    return json.dumps(experiment.model_dump(mode="json", exclude={"sweep"}), sort_keys=True)

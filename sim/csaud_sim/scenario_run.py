"""A scenario of `csaud net run` in virtual time: the same file, and at its end the same report."""

from __future__ import annotations

import importlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from csaud.collectives.reference import reference_sum
from csaud.config.reading import load
from csaud.errors import CsaudError
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.switches.counters import BY_PATH
from csaud_runs.errors import RunError
from csaud_topologies.fabric.link_events import LinkEvents
from csaud_topologies.job.telemetry import switch_counts
from csaud_topologies.record import model
from csaud_topologies.record.assemble import Collected
from csaud_topologies.scenario.events import LinkEvent, in_order
from csaud_topologies.scenario.host_settings import host_settings
from csaud_topologies.scenario.model import Incast, find_scenario
from csaud_topologies.scenario.plan import Plan, in_file
from csaud_topologies.workloads.protocol import Workload

from csaud_sim.background import BackgroundTraffic
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.job import Stuck, VirtualJob
from csaud_sim.link_events import CONVERGENCE_NS
from csaud_sim.network import SECOND, Network, Seat
from csaud_sim.ranks import VirtualCommunicator
from csaud_sim.simulated_settings import check_host

_WORKLOADS = {"allreduce": "AllReduceWorkload", "train_digits": "TrainDigitsWorkload"}


def refuse_what_cannot_be_simulated(plan: Plan) -> None:
    """ConfigError that names file, line and key."""
    try:
        _check(plan)
    except FieldError as error:
        raise in_file(find_scenario(plan.options.scenario), error) from None


def _check(plan: Plan) -> None:
    check_host(plan.scenario.host)
    if plan.scenario.ipv6:
        raise FieldError(("ipv6",), "simulated hosts speak over IPv4: expected false")
    for index, beside in enumerate(plan.scenario.background):
        if not isinstance(beside, Incast):
            raise FieldError(("background", index, "kind"), "simulated hosts have no TCP: expected incast")


@dataclass
class Outcome:
    """A job that is over."""

    collected: Collected
    took: list[dict[str, Any]]
    """Of each collective, in order: `step`, `bytes`, `seconds` of the slowest rank."""
    flow_times: list[float]
    """Of all messages with payload, seconds."""
    virtual_s: float


@dataclass
class _Log:
    steps: dict[int, dict[int, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    fired: list[model.EventRecord] = field(default_factory=list)


class ScenarioRun:
    """One job.

    Args:
        plan: what `make_plan` made, not refused.
        folder: where the workload keeps what it prepares.
        engine: what keeps time (`Network`).

    Raises:
        RunError: the job is not done when `time_limit` of virtual time has passed, or a rank failed.
    """

    def __init__(self, plan: Plan, folder: Path, engine: str | None = None) -> None:
        self.plan, self._folder = plan, folder
        scenario = plan.scenario
        self.fabric = SimulatedFabric(plan.fabric, scenario.intent())
        seats = [
            Seat(host, load(host_settings(scenario.policy, scenario.host, plan.fabric, host), {}))
            for host in plan.hosts
        ]
        self.network = Network(self.fabric, seats, engine=engine)
        self._workload: Workload[Any] = getattr(
            importlib.import_module(f"csaud_topologies.workloads.{scenario.workload.name}"),
            _WORKLOADS[scenario.workload.name],
        )()
        self._log = _Log()
        self._due = [event for event in scenario.events if event.at_step is not None]
        self._links = LinkEvents(self.fabric, scenario.seed)
        self._finished = 0
        self._job = VirtualJob(self.network)
        self._background = BackgroundTraffic(
            self.network, [beside for beside in scenario.background if isinstance(beside, Incast)]
        )

    def run(self) -> Outcome:
        """To its end, and everything that is measured of it."""
        scenario = self.plan.scenario
        self._workload.prepare(scenario.workload, scenario.seed, self._folder)
        self._fire()
        for _, event in in_order(scenario.events):
            if event.after is not None:
                self._job.at(self.network.now + event.after, partial(self._happen, event))
        self._background.begin()
        try:
            self._job.run(self._rank, scenario.time_limit)
            virtual_s = self.network.now / SECOND
            self._background.end()
            self._job.settle()
        except (Stuck, CsaudError) as error:
            raise RunError(f"{error}, of virtual time") from error
        return self._outcome(virtual_s)

    def _rank(self, comm: VirtualCommunicator) -> None:

        def emit(event: str, **fields: Any) -> None:
            plain = {name: value.item() if isinstance(value, np.generic) else value
                     for name, value in fields.items()}  # fmt: skip
            # The workload looked at the machine's clock, which does not stand for the fabric's.
            self._step(comm.rank, {**plain, "event": event, "all_reduce_s": comm.transport.last_took})

        scenario = self.plan.scenario
        self._log.results[comm.rank] = self._workload.work(
            comm, scenario.workload, scenario.seed, self._folder, emit
        )

    def _step(self, rank: int, event: dict[str, Any]) -> None:
        self._log.steps[event["step"]][rank] = event
        while len(self._log.steps.get(self._finished, ())) == len(self.plan.hosts):
            self._finished += 1
            self._fire()

    def _fire(self) -> None:
        """The scenario's events that are due now that all ranks have finished so many steps."""
        while self._due and (self._due[0].at_step or 0) <= self._finished:
            self._happen(self._due.pop(0))

    def _happen(self, event: LinkEvent) -> None:
        self._links.happen(event)
        self._job.at(self.network.now + CONVERGENCE_NS, self.fabric.converge)
        self._log.fired.append(
            model.EventRecord(at_s=self.network.now / SECOND, step=self._finished, what=event.what)
        )

    def _outcome(self, virtual_s: float) -> Outcome:
        plan, ranks = self.plan, range(len(self.plan.hosts))
        scenario, log = plan.scenario, self._log
        intent = scenario.intent()
        reading = self.fabric.counters()
        reports = [
            {
                "stats": self.network.stats(rank),
                "flow_times": self.network.flow_times(rank),
                **log.results[rank],
            }
            for rank in ranks
        ]
        steps = [log.steps[step] for step in sorted(log.steps)]
        collected = Collected(
            scenario=scenario.model_copy(
                update={"policy": intent.policy, "faults": list(intent.faults.rules)}
            ),
            in_force=model.InForce(
                policy=intent.policy.model_dump(mode="json"),
                faults=[rule.model_dump(mode="json") for rule in intent.faults.rules],
                unlike_scenario=[],
                links_down=[],
            ),
            fabric=plan.fabric,
            hosts=plan.hosts,
            steps=steps,
            reports=reports,
            reference=self._workload.reference(
                scenario.workload, scenario.seed, len(plan.hosts), self._folder, reference_sum
            ),
            switches={name: switch_counts(counters) for name, counters in reading.items()},
            paths={name: {key: counters[key] for key in BY_PATH} for name, counters in reading.items()},
            failed_links=self._links.failed,
            hidden_drops=self.fabric.hidden_drops(),
            events=log.fired,
            background=self._background.sent(),
        )
        took = [
            {
                "step": number,
                "bytes": events[0]["bytes"],
                "seconds": max(event["all_reduce_s"] for event in events.values()),
            }
            for number, events in enumerate(steps)
        ]
        flow_times = [time for report in reports for time in report["flow_times"]]
        return Outcome(collected, took, flow_times, virtual_s)

"""A user's own program as a job in a fabric that waits for jobs: its ranks, the scenario's background and
events beside them; and everything that is measured of it."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from csaud_controller.switches.counters import BY_PATH

from csaud_topologies.base.interrupt import Interrupted, raise_if_interrupted
from csaud_topologies.base.say import say
from csaud_topologies.fabric.attached import AttachedFabric, attach
from csaud_topologies.job.background import Running, start_beside
from csaud_topologies.job.environment import job_secret, own_environment
from csaud_topologies.job.events import EventSchedule
from csaud_topologies.job.in_force import changes_since, demands
from csaud_topologies.job.left_counters import LeftCounters, as_report, as_steps
from csaud_topologies.job.own_plan import OwnJob
from csaud_topologies.job.own_ranks import OwnRanks
from csaud_topologies.job.telemetry import read_quiet, since, switch_counts
from csaud_topologies.job.timeline import Sampler, sampling, series
from csaud_topologies.record import model
from csaud_topologies.record.assemble import Collected

_COUNTERS = "counters"
"""Folder in the run directory, where ranks leave theirs."""


@dataclass
class _Beside:
    """What happens in the fabric while the ranks run."""

    fabric: AttachedFabric
    schedule: EventSchedule
    traffic: list[Running] = field(default_factory=list)

    def pids(self) -> set[int]:
        """Of the background's processes."""
        return {process.pid for each in self.traffic for process in each.running()}

    def end(self) -> list[model.Background]:
        """No more of it; what the background has sent."""
        told = [each.stop() for each in self.traffic]
        self.traffic.clear()
        return told

    def undo(self, down_before: set[frozenset[str]]) -> None:
        """The next job finds the links as this one did."""
        for each in self.traffic:
            each.abandon()
        for link in self.fabric.links_down - down_before:
            if link in self.schedule.failed_links:
                a, b = sorted(link)
                self.fabric.set_link(a, b, True)
        self.schedule.make_whole()


def run_own_job(job: OwnJob, logs: Path) -> tuple[Collected, OwnRanks, float]:
    """Call inside the run's namespaces: run it to its end and collect everything; also its ranks, and its
    duration in seconds. RunError when the fabric fails."""
    fabric = attach(job.run, logs)
    inventory = fabric.fabric
    at_start = demands(fabric)
    drops_before = fabric.hidden_drops()
    down_before = set(fabric.links_down)
    before = read_quiet(
        inventory, raise_if_interrupted, "before the job: something else sends CSA packets in it"
    )
    scenario = at_start.applied_to(job.scenario)
    counters = LeftCounters(job.run.path / _COUNTERS, len(job.hosts))
    secret = job_secret()

    def environment(rank: int) -> dict[str, str]:
        control = job.run.control_socket
        own = own_environment(scenario, inventory, job.hosts, rank, control)
        return own | secret | counters.variables(rank)

    beside = _Beside(fabric, EventSchedule(scenario.events, fabric, scenario.seed, say))
    ranks = OwnRanks(job.command, beside.pids, job.deaths)
    try:
        with sampling(inventory) as read_sample:
            sampler = Sampler(read_sample)
            begun, began = time.monotonic(), time.time()
            ranks.start(fabric.net, job.hosts, environment, logs)
            beside.traffic += [start_beside(each, inventory, fabric.net) for each in scenario.background]
            beside.schedule.begin()

            def tick() -> None:
                raise_if_interrupted()
                beside.schedule.tick()
                sampler.tick()

            ranks.run(tick, job.time_limit_s)
        job_s = time.monotonic() - begun
        changes, restarts = changes_since(at_start, fabric, began, [])
        background = beside.end()
        reading = since(read_quiet(inventory, raise_if_interrupted, "after the job"), before)
        drops = fabric.hidden_drops()
        left = counters.read()
    except BaseException as error:
        by = error.status - 128 if isinstance(error, Interrupted) else signal.SIGTERM
        ranks.end(signal.Signals(by))
        raise
    finally:
        beside.undo(down_before)
    return (
        Collected(
            scenario=scenario,
            in_force=at_start.record(job.scenario),
            changes=changes,
            fabric=inventory,
            hosts=job.hosts,
            steps=as_steps(left),
            reports=[as_report(each) for each in left],
            reference=None,
            switches={name: switch_counts(counts) for name, counts in reading.items()},
            paths={name: {key: counts[key] for key in BY_PATH} for name, counts in reading.items()},
            failed_links=beside.schedule.failed_links | at_start.links_down,
            hidden_drops={place: count - drops_before.get(place, 0) for place, count in drops.items()},
            events=beside.schedule.fired,
            restarts=restarts,
            background=background,
            timeline=series(inventory, sampler.samples, scenario.ipv6),
            program=model.Program(
                command=job.command,
                deaths=job.deaths,
                epochs=len({each["epoch"] for of_rank in left for each in of_rank}),
                ranks=[
                    model.RankEnd(
                        rank=rank.rank,
                        host=rank.host,
                        status=rank.exit_status,
                        ended=rank.ended,
                        counters=", ".join(each["how"] for each in left[rank.rank]),
                    )
                    for rank in ranks.ranks
                ],
            ),
        ),
        ranks,
        job_s,
    )

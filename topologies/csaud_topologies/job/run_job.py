"""One job on a running fabric: workers, background, events; and everything that is measured of it."""

from __future__ import annotations

import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_controller.switches.counters import BY_PATH, SwitchCounters
from csaud_runs.errors import RunError
from rich.console import Console

from csaud_topologies.base.interrupt import raise_if_interrupted
from csaud_topologies.fabric.running import RunningFabric
from csaud_topologies.fabric.services import tail
from csaud_topologies.fabric.targets.base import TellsDrops
from csaud_topologies.job.background import Running, start_beside
from csaud_topologies.job.environment import workload_environment
from csaud_topologies.job.events import EventSchedule
from csaud_topologies.job.in_force import changes_since, demands
from csaud_topologies.job.overload import overload
from csaud_topologies.job.progress import JobProgress
from csaud_topologies.job.telemetry import read, read_quiet, since, switch_counts
from csaud_topologies.job.timeline import Sampler, sampling, series
from csaud_topologies.job.workers import Event, Ranks, Worker, workload_command
from csaud_topologies.record.assemble import Collected
from csaud_topologies.scenario.plan import Plan

_COUNTERS_EVERY_S = 3.0
_UNTIL_KNOWN_S = 0.5
_AFTER = "after the job"
_SHOWN = ("injected", "trimmed", "bounced")


@dataclass
class StepLog:
    """Step events of all ranks, and how far the slowest has come."""

    ranks: int
    steps: dict[int, dict[int, Event]] = field(default_factory=lambda: defaultdict(dict))
    finished_at: list[float] = field(default_factory=list)
    """When every rank had finished each step, seconds since the epoch."""

    @property
    def finished(self) -> int:
        """How many steps every rank has finished."""
        return len(self.finished_at)

    def add(self, rank: int, event: Event) -> None:
        """Take one rank's step event."""
        self.steps[event["step"]][rank] = event
        while len(self.steps.get(self.finished, ())) == self.ranks:
            self.finished_at.append(time.time())

    def figures(self) -> dict[str, str]:
        """What progress shows of the last step that all ranks finished."""
        if not self.finished:
            return {}
        ranks = self.steps[self.finished - 1]
        shown = {"all_reduce": f"{max(e['all_reduce_s'] for e in ranks.values()) * 1e3:.0f} ms"}
        losses = [e["loss"] for e in ranks.values() if e.get("loss") is not None]
        if losses:
            shown = {"loss": f"{sum(losses) / len(losses):.3f}", **shown}
        accuracy = ranks.get(0, {}).get("accuracy")
        if accuracy is not None:
            shown = {"accuracy": f"{accuracy:.1%}", **shown}
        return shown


class LiveCounters:
    """A few of the switches' counters for the progress line, read now and then."""

    def __init__(self, running: RunningFabric, before: Mapping[str, SwitchCounters]) -> None:
        self._running, self._before = running, before
        self._due = time.monotonic() + _COUNTERS_EVERY_S

    def figures(self) -> dict[str, str]:
        """New figures when it is time for them."""
        if time.monotonic() < self._due:
            return {}
        reading = since(read(self._running.fabric, _SHOWN), self._before)
        self._due = time.monotonic() + _COUNTERS_EVERY_S
        totals = {
            name: sum(sum(kinds.values()) for counts in reading.values() for kinds in counts[name].values())
            for name in _SHOWN
        }
        return {name: f"{total:,}" for name, total in totals.items() if total or name != "bounced"}


def prepare(plan: Plan, folder: Path, logs: Path) -> subprocess.Popen[bytes]:
    """Start writing what the ranks will read (a data set), beside the start of the fabric."""
    folder.mkdir(exist_ok=True)
    with (logs / "prepare.log").open("wb") as log:
        return subprocess.Popen(
            workload_command(plan.scenario, "prepare", folder),
            stdout=log,
            stderr=log,
            env=workload_environment(),
        )


def wait_prepared(process: subprocess.Popen[bytes], logs: Path) -> None:
    """RunError when the preparation failed."""
    if process.wait() != 0:
        raise RunError(f"the workload could not be prepared{tail(logs / 'prepare.log')}")


def reference_result(plan: Plan, folder: Path) -> dict[str, Any]:
    """What one process computes that does the work of all ranks."""
    command = workload_command(plan.scenario, "reference", folder, "--world", str(len(plan.hosts)))
    done = subprocess.run(command, capture_output=True, text=True, env=workload_environment(), check=False)
    if done.returncode != 0:
        raise RunError(f"the reference failed: {done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


class Follower:
    """Follows a job's events: notes steps, shows progress, and disturbs the fabric as the scenario says."""

    def __init__(
        self,
        plan: Plan,
        running: RunningFabric,
        progress: JobProgress,
        before: Mapping[str, SwitchCounters],
    ) -> None:
        self.log = StepLog(len(plan.hosts))
        self.schedule = EventSchedule(plan.scenario.events, running, plan.scenario.seed, progress.say)
        self.traffic: list[Running] = []
        self.began: float | None = None
        """When all ranks had found each other, seconds since the epoch."""
        self._plan, self._running, self._progress = plan, running, progress
        self._counters = LiveCounters(running, before)
        self._started: set[int] = set()

    def take(self, worker: Worker, event: Event) -> None:
        """One event of one rank."""
        if event["event"] == "start":
            self._started.add(worker.rank)
            if len(self._started) == self.log.ranks:
                self._progress.say(f"all {self.log.ranks} ranks have found each other")
                self._begin()
        elif event["event"] == "step":
            before = self.log.finished
            self.log.add(worker.rank, event)
            if self.log.finished != before:
                self.schedule.advance(self.log.finished)
                self._progress.update(self.log.finished, **self.log.figures(), **self._counters.figures())

    def _begin(self) -> None:
        """From now on there is a job to disturb."""
        self.began = time.time()
        self.schedule.begin()
        for each in self._plan.scenario.background:
            self.traffic.append(start_beside(each, self._running.fabric, self._running.net))


def run_job(
    plan: Plan, running: RunningFabric, target: TellsDrops, folder: Path, console: Console
) -> tuple[Collected, float]:
    """Run the scenario's job to its end and collect everything; also its duration in seconds.

    WorkerError when a rank ends early, RunError when the fabric fails or the time limit is over.
    """
    follower: Follower | None = None
    deadline = time.monotonic() + plan.scenario.time_limit / 1e9

    def tick() -> None:
        raise_if_interrupted()
        running.check()
        if time.monotonic() > deadline:
            raise RunError(f"the job is not done after {plan.scenario.time_limit / 1e9:.0f} s (time_limit)")

    # What this fabric has carried so far, other jobs included, is in no book of this one.
    at_start = demands(running)
    ranks = Ranks(at_start.applied_to(plan.scenario))
    drops_before = target.hidden_drops(running.place)
    before = read_quiet(running.fabric, tick, "before the job: something else sends CSA packets in it")
    try:
        begun = time.monotonic()
        ranks.start(running.net, running.fabric, plan.hosts, folder, running.place)
        with (
            JobProgress(console, plan.scenario.workload.steps) as progress,
            sampling(running.fabric) as read_sample,
        ):
            follower = Follower(plan, running, progress, before)
            sampler = Sampler(read_sample)

            def sample() -> None:
                tick()
                follower.schedule.tick()
                if follower.began is not None:
                    sampler.tick()

            for worker, event in ranks.events(lambda: ranks.all_done, sample):
                follower.take(worker, event)
        job_s = time.monotonic() - begun
        assert follower.began is not None  # or no rank had done its work
        changes, restarts = changes_since(at_start, running, follower.began, follower.log.finished_at)
        background = [each.stop() for each in follower.traffic]
        follower.traffic.clear()
        read_quiet(running.fabric, tick, _AFTER)
        reports = ranks.reports(tick)
        # Read again: what the hosts said a moment ago is what the switches say now.
        reading = since(read_quiet(running.fabric, tick, _AFTER), before)
        drops = target.hidden_drops(running.place)
        console.print("the network is quiet; computing the same in one process", style="dim")
        collected = Collected(
            scenario=ranks.scenario,
            in_force=at_start.record(plan.scenario),
            changes=changes,
            fabric=running.fabric,
            hosts=plan.hosts,
            steps=[follower.log.steps[step] for step in sorted(follower.log.steps)],
            reports=reports,
            reference=reference_result(plan, folder),
            switches={name: switch_counts(counters) for name, counters in reading.items()},
            paths={name: {key: counters[key] for key in BY_PATH} for name, counters in reading.items()},
            failed_links=follower.schedule.failed_links | at_start.links_down,
            hidden_drops={place: count - drops_before.get(place, 0) for place, count in drops.items()},
            events=follower.schedule.fired,
            restarts=restarts,
            background=background,
            timeline=series(running.fabric, sampler.samples, plan.scenario.ipv6),
        )
        ranks.stop()
        return collected, job_s
    except BaseException as error:
        for each in follower.traffic if follower else ():
            each.abandon()
        ranks.kill()
        if isinstance(error, Exception):
            _tell_the_cause(running)
        if isinstance(error, RunError):
            with suppress(RunError):  # what ended the job matters more than a reading that fails
                error.args = (f"{error}{overload(drops_before, target.hidden_drops(running.place))}",)
        raise
    finally:
        if follower is not None:  # at the prompt another job may come
            with suppress(RunError):
                follower.schedule.make_whole()


def _tell_the_cause(running: RunningFabric) -> None:
    """RunError when a service has ended: what fails after it, ranks or readings, may be heard of first."""
    # The kernel closes a process's sockets before it says that it has ended.
    deadline = time.monotonic() + _UNTIL_KNOWN_S
    while time.monotonic() < deadline:
        running.check()
        time.sleep(0.05)

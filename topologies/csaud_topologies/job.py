"""One job on a running fabric: workers, background, events; and everything that is measured of it."""

from __future__ import annotations

import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_controller.counters import read_counters
from rich.console import Console

from csaud_topologies.assemble import Collected
from csaud_topologies.background import RunningIncast, start_incast
from csaud_topologies.errors import RunError
from csaud_topologies.events import EventSchedule
from csaud_topologies.fabric_up import RunningFabric
from csaud_topologies.plan import Plan
from csaud_topologies.progress import JobProgress
from csaud_topologies.services import tail
from csaud_topologies.targets.base import P4Target
from csaud_topologies.telemetry import read_quiet, switch_counts
from csaud_topologies.workers import Event, Job, Worker, workload_command, workload_environment

_COUNTERS_EVERY_S = 2.0


@dataclass
class StepLog:
    """Step events of all ranks, and how far the slowest has come."""

    ranks: int
    steps: dict[int, dict[int, Event]] = field(default_factory=lambda: defaultdict(dict))
    finished: int = -1
    """Last step that every rank has finished; -1: none."""

    def add(self, rank: int, event: Event) -> None:
        """Take one rank's step event."""
        self.steps[event["step"]][rank] = event
        while len(self.steps.get(self.finished + 1, ())) == self.ranks:
            self.finished += 1

    def figures(self) -> dict[str, str]:
        """What progress shows of the last step that all ranks finished."""
        if self.finished < 0:
            return {}
        ranks = self.steps[self.finished]
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

    def __init__(self, running: RunningFabric) -> None:
        self._running = running
        self._due = time.monotonic() + _COUNTERS_EVERY_S

    def figures(self) -> dict[str, str]:
        """New figures when it is time for them."""
        if time.monotonic() < self._due:
            return {}
        counts = [switch_counts(reading) for reading in read_counters(self._running.fabric).values()]
        self._due = time.monotonic() + _COUNTERS_EVERY_S
        return {
            name: f"{sum(sum(getattr(count, name).values()) for count in counts):,}"
            for name in ("injected", "trimmed")
        }


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


def run_job(
    plan: Plan, running: RunningFabric, target: P4Target, folder: Path, console: Console
) -> tuple[Collected, float]:
    """Run the scenario's job to its end and collect everything; also its duration in seconds.

    WorkerError when a rank ends early, RunError when the fabric fails or the time limit is over.
    """
    logs = running.place.logs
    job = Job(plan.scenario)
    incasts: list[RunningIncast] = []
    deadline = time.monotonic() + plan.scenario.time_limit / 1e9

    def tick() -> None:
        running.check()
        if time.monotonic() > deadline:
            raise RunError(f"the job is not done after {plan.scenario.time_limit / 1e9:.0f} s (time_limit)")

    try:
        begun = time.monotonic()
        job.start(running.net, running.fabric, plan.hosts, folder, logs)
        log = StepLog(len(plan.hosts))
        with JobProgress(console, plan.scenario.workload.steps) as progress:
            schedule = EventSchedule(plan.scenario.events, running.net, progress.say)
            _follow(
                job,
                log,
                schedule,
                progress,
                LiveCounters(running),
                tick,
                lambda: incasts.extend(
                    start_incast(incast, running.fabric, running.net) for incast in plan.scenario.background
                ),
            )
        job_s = time.monotonic() - begun
        background = [incast.stop() for incast in incasts]
        incasts.clear()
        read_quiet(running.fabric, tick)
        reports = job.reports(tick)
        reading = read_quiet(
            running.fabric, tick
        )  # again: what the hosts said then is what the switches say now
        console.print("the network is quiet; computing the same in one process", style="dim")
        collected = Collected(
            scenario=plan.scenario,
            fabric=running.fabric,
            hosts=plan.hosts,
            steps=[log.steps[step] for step in sorted(log.steps)],
            reports=reports,
            reference=reference_result(plan, folder),
            switches={name: switch_counts(counters) for name, counters in reading.items()},
            path_buckets={name: counters["path_bucket"] for name, counters in reading.items()},
            failed_links=schedule.failed_links,
            hidden_drops=target.hidden_drops(running.place),
            events=schedule.fired,
            background=background,
        )
        return collected, job_s
    finally:
        for incast in incasts:
            incast.abandon()
        job.stop()


def _follow(
    job: Job,
    log: StepLog,
    schedule: EventSchedule,
    progress: JobProgress,
    counters: LiveCounters,
    tick: Callable[[], None],
    start_background: Callable[[], None],
) -> None:
    """Until every rank is done: note steps, fire events, show progress."""
    started: set[int] = set()

    def each(worker: Worker, event: Event) -> None:
        if event["event"] == "start":
            started.add(worker.rank)
            if len(started) == len(
                job.workers
            ):  # they have found each other: from now on there is a job to disturb
                schedule.restart_clock()
                start_background()
        elif event["event"] == "step":
            before = log.finished
            log.add(worker.rank, event)
            if log.finished != before:
                schedule.advance(log.finished)
                progress.update(log.finished + 1, **log.figures(), **counters.figures())

    for worker, event in job.events(lambda: job.all_done, tick):
        each(worker, event)

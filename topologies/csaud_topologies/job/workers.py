"""The job's processes: one worker a rank on its host, spoken to in JSON lines (workloads/protocol.py)."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_controller.inventory import Fabric
from csaud_runs.errors import RunError

from csaud_topologies.base.signals import signal_name
from csaud_topologies.fabric.services import start_on, tail
from csaud_topologies.fabric.targets.base import Place
from csaud_topologies.job.environment import job_secret, worker_environment
from csaud_topologies.scenario.model import Scenario

Event = dict[str, Any]
_TYPED_ERRORS_WITHIN_S = 8.0  # the others find a dead rank within 5 s


class WorkerError(RunError):
    """A worker ended before its work was done; the message tells what every rank said."""


@dataclass
class Worker:
    """One rank."""

    rank: int
    host: str
    process: subprocess.Popen[str]
    log: Path
    is_done: bool = False
    result: Event = field(default_factory=dict)
    error: Event | None = None

    def send(self, line: str) -> None:
        """Write one line to its stdin; a worker that has ended is found by its exit status instead."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def verdict(self) -> str | None:
        """How it ended too early; None while it runs or when it is done."""
        status = self.process.poll()
        if self.error is not None:
            return f"{self.error['type']}: {self.error['message']}"
        if status is None or self.is_done:
            return None
        if status < 0:
            return f"killed by {signal_name(-status)}"
        return f"ended with status {status}{tail(self.log, with_path=False)}"


def workload_command(scenario: Scenario, mode: str, folder: Path, *more: str) -> list[str]:
    """The command line of the scenario's workload module."""
    spec = scenario.workload
    return [
        *(sys.executable, "-m", f"csaud_topologies.workloads.{spec.name}", mode),
        *("--spec", spec.model_dump_json(), "--seed", str(scenario.seed), "--folder", str(folder), *more),
    ]


def _by_verdict(workers: list[Worker]) -> list[str]:
    """One entry for all ranks that ended in the same way."""
    same: dict[str, list[Worker]] = {}
    for worker in workers:
        verdict = worker.verdict() or ("done" if worker.is_done else "still running")
        same.setdefault(verdict, []).append(worker)
    return [
        f"  rank {', '.join(f'{w.rank} ({w.host})' for w in those)}: {verdict}"
        for verdict, those in same.items()
    ]


class Ranks:
    """All workers of a run."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.workers: list[Worker] = []
        self._events: queue.Queue[tuple[int, Event]] = queue.Queue()

    def start(self, net: Any, fabric: Fabric, hosts: list[str], folder: Path, place: Place) -> None:
        """Start one worker on each of `hosts`, in rank order."""
        control = place.run.control_socket
        secret = job_secret()
        for rank, host in enumerate(hosts):
            log = place.logs / f"rank{rank}.log"
            with log.open("wb") as errors:
                process = start_on(
                    net[host],
                    workload_command(self.scenario, "worker", folder),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=worker_environment(self.scenario, fabric, hosts, rank, control) | secret,
                )
            worker = Worker(rank, host, process, log)
            self.workers.append(worker)
            threading.Thread(target=self._read, args=(worker,), daemon=True).start()

    def _read(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                event = {"event": "garbage", "line": line.rstrip()}
            self._events.put((worker.rank, event))
        self._events.put((worker.rank, {"event": "closed"}))

    def events(self, until: Callable[[], bool], tick: Callable[[], None]) -> Iterator[tuple[Worker, Event]]:
        """Events as they come, until `until`; `tick` is called at least every 100 ms and may raise.

        WorkerError as soon as it is clear what every rank says of an early end.
        """
        while not until():
            try:
                rank, event = self._events.get(timeout=0.1)
            except queue.Empty:
                tick()
                self._check()
                continue
            worker = self.workers[rank]
            self._note(worker, event)
            yield worker, event
            tick()

    def _note(self, worker: Worker, event: Event) -> None:
        match event["event"]:
            case "done":
                worker.is_done, worker.result = True, event
            case "error":
                worker.error = event
                self._check()
            case "closed":
                worker.process.wait()
                self._check()
            case "garbage":
                raise WorkerError(
                    f"rank {worker.rank} ({worker.host}) wrote what is not JSON: {event['line']!r}"
                )

    def _check(self) -> None:
        """WorkerError when a rank has ended early, after the others had time to say what they saw of it."""
        if all(worker.verdict() is None for worker in self.workers):
            return
        deadline = time.monotonic() + _TYPED_ERRORS_WITHIN_S
        while time.monotonic() < deadline and any(
            w.verdict() is None and not w.is_done for w in self.workers
        ):
            try:
                rank, event = self._events.get(timeout=0.1)
            except queue.Empty:
                continue
            if event["event"] == "error":
                self.workers[rank].error = event
            elif event["event"] == "done":
                self.workers[rank].is_done = True
        said = _by_verdict(self.workers)
        raise WorkerError("\n".join(["the job ended early:", *said, f"  logs: {self.workers[0].log.parent}"]))

    @property
    def all_done(self) -> bool:
        """Whether every rank has finished its work."""
        return all(worker.is_done for worker in self.workers)

    def reports(self, tick: Callable[[], None]) -> list[Event]:
        """Ask every rank for its counters; they stay alive."""
        answers: dict[int, Event] = {}
        for worker in self.workers:
            worker.send("report")
        for worker, event in self.events(lambda: len(answers) == len(self.workers), tick):
            if event["event"] == "report":
                answers[worker.rank] = event
        return [answers[worker.rank] for worker in self.workers]

    def kill(self) -> None:
        """End every rank at once."""
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Let every rank end by itself; kill what has not ended in time."""
        for worker in self.workers:
            worker.send("exit")
        deadline = time.monotonic() + timeout_s
        for worker in self.workers:
            try:
                worker.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()

"""Jobs of several worker processes on one machine, started as torchrun would, and what they tell."""

import json
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
SLOWER = float(os.environ.get("CSAUD_SLOWER", "1"))
"""How many times slower than usual: a sanitizer is at work (tests/sanitize.py), or the machine is."""
PATIENCE = 120.0 * SLOWER  # s; a job that takes longer hangs

Event = dict[str, Any]


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def loopback_address() -> str:
    """An address that no other test's ranks use: modes without raw sockets have one rank an address."""
    return f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.1"


class Worker:
    """One rank's process."""

    def __init__(self, command: Sequence[str], environ: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._seen: list[Event] = []
        self.errors: list[str] = []
        self._readers = [threading.Thread(target=reader) for reader in (self._read_events, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def wait_for(self, event: str, timeout: float = PATIENCE) -> Event:
        """The next event of this name. AssertionError: the worker ended without it, or took too long."""
        for seen in self._seen:
            if seen["event"] == event:
                return seen
        deadline = time.monotonic() + timeout
        while True:
            try:
                told = self._events.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {event!r} within {timeout:g} s, only {self._seen}") from None
            assert told is not None, f"ended without {event!r}: {self._seen}\n{''.join(self.errors)}"
            self._seen.append(told)
            if told["event"] == event:
                return told

    def events(self, event: str) -> list[Event]:
        """Those of this name that it has told so far; all, once it has ended."""
        if self.process.poll() is not None:
            self._readers[0].join()
        told = [self._events.get() for _ in range(self._events.qsize())]
        self._seen += [one for one in told if one is not None]
        if None in told:
            self._events.put(None)
        return [one for one in self._seen if one["event"] == event]

    def send_line(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(number)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _read_events(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


class Job:
    """`world` workers that run `case` of tests.hostlib.workers; a context manager that ends them.

    Args:
        arguments: for the case; its key "settings" goes to csaud.init.
        master: address of rank 0.
        prefix: rank -> command words in front of the worker's (to enter a namespace, to drop privileges).
        spawn: rank -> context manager around the start of its process.
    """

    def __init__(
        self,
        world: int,
        case: str,
        arguments: dict[str, Any] | None = None,
        *,
        master: str | None = None,
        port: int | None = None,
        prefix: Sequence[str] = (),
        spawn: Callable[[int], Any] | None = None,
        environ: dict[str, str] | None = None,
    ) -> None:
        address = master or loopback_address()
        self.workers: list[Worker] = []
        shared = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "WORLD_SIZE": str(world),
            "LOCAL_WORLD_SIZE": str(world),
            "MASTER_ADDR": address,
            "MASTER_PORT": str(port if port is not None else free_port(address)),
            # one thread is enough for a sum, and the machine is small
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **(environ or {}),
        }
        command = [*prefix, sys.executable, "-m", "tests.hostlib.workers", case, json.dumps(arguments or {})]
        for rank in range(world):
            variables = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            if spawn is None:
                self.workers.append(Worker(command, variables))
            else:
                with spawn(rank):
                    self.workers.append(Worker(command, variables))

    def newcomer(self, case: str, arguments: dict[str, Any]) -> Worker:
        """One more process, which is ended with the job; `arguments["join"]` says where it comes in."""
        command = [sys.executable, "-m", "tests.hostlib.workers", case, json.dumps(arguments)]
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        self.workers.append(Worker(command, variables))
        return self.workers[-1]

    def ends(self, ranks: Sequence[int] | None = None, timeout: float | None = None) -> list[Event]:
        """The "end" events, by rank; each within `timeout` s of a machine that is not SLOWER."""
        chosen = range(len(self.workers)) if ranks is None else ranks
        timeout = PATIENCE if timeout is None else timeout * SLOWER
        return [self.workers[rank].wait_for("end", timeout) for rank in chosen]

    def wait_for(self, event: str) -> None:
        for worker in self.workers:
            worker.wait_for(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.close()


def run(world: int, case: str, arguments: dict[str, Any] | None = None, **options: Any) -> list[Event]:
    """Run a job to its end; the end events by rank, all without error."""
    with Job(world, case, arguments, **options) as job:
        ends = job.ends()
        for rank, end in enumerate(ends):
            assert end["error"] is None, f"rank {rank}: {end['error']}: {end['message']}"
        return ends

"""The controller's sessions with many switches: written from nothing, read back again and again, and kept in
memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from csaud_controller.base.garbage import collect_little
from csaud_controller.base.pace import Pace
from csaud_controller.base.rotation import Rotation
from csaud_controller.base.stretches import Stretches
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.entities import TableState, call, entry, table_state
from csaud_controller.switches.task import Hooks, SwitchTask, shared_schema
from csaud_controller.targets import target_named

from bench.controller_sink import READY
from bench.rig import RigError

_PATIENCE_S = 600.0
_TICK_S = 0.001


@dataclass(frozen=True)
class Load:
    """What was found of so many switches with so many entries each."""

    switches: int
    entries: int
    written_s: float
    computed_us: float
    """Processor time of an entry, microseconds: of this process, whatever else the machine does."""
    sink_share: float
    """Of the time of writing, that the sink's process computed."""
    writing_p99_ms: float
    """How late the event loop came to what was due at any moment, while it wrote all tables."""
    stall_p99_ms: float
    """The same while it read all tables back."""
    returned_p99_ms: float
    """The same while sessions with switches that have their tables are opened and these are read."""
    audit_core: float
    """Of a core, for reading all tables back again and again."""
    audit_every_s: float
    """From one time that a switch's tables were read back to the next."""
    bytes_an_entry: float
    """By which this process grew."""


@contextmanager
def sinks(count: int) -> Iterator[tuple[list[str], int]]:
    """Addresses of so many, and their process; RigError."""
    with tempfile.TemporaryDirectory(prefix="csaud-") as name:
        folder, names = Path(name), [f"s{number}" for number in range(count)]
        command = [sys.executable, "-m", "bench.controller_sink", name, *names]
        with subprocess.Popen(command) as process:
            try:
                deadline = time.monotonic() + _PATIENCE_S
                while not (folder / READY).exists():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RigError("the sink does not come up")
                    time.sleep(0.02)
                yield [f"unix:{folder / each}.sock" for each in names], process.pid
            finally:
                process.kill()


def state_of(switch: int, entries: int) -> TableState:
    """Routes of hosts, each switch's its own."""
    first = 10 << 24 | switch << 14
    return table_state(
        entry("route.ipv4_lpm", {"dst": (first + number, 32)}, call("route.set_group", group=number % 32 + 1))
        for number in range(entries)
    )


@asynccontextmanager
async def sessions(
    addresses: list[str], states: dict[str, TableState], audit_s: float
) -> AsyncIterator[tuple[list[SwitchTask], asyncio.Event, list[int]]]:
    """Tasks of them all; the event is set when each has its state, the list counts how often one had."""
    settled, done, counted = set[str](), asyncio.Event(), [0]

    def on_settled(name: str) -> None:
        counted[0] += 1
        settled.add(name)
        if len(settled) == len(states):
            done.set()

    def nothing(*_: Any) -> None:
        pass

    # With frozen tables and one schema, as in the controller's process (`csaud_controller.control`).
    hooks = Hooks(
        desired=lambda name: (1, states[name]),
        ready=lambda _: collect_little(), lost=nothing, unheard=nothing, settled=on_settled,
        probed=nothing, probe=nothing, counted=nothing, alarm=nothing,
    )  # fmt: skip
    artifacts, target = find_artifacts(), target_named("soft")
    stretches, opening, rotation = Stretches(), Pace(), Rotation()
    tasks = [
        SwitchTask(
            name, address, 1, artifacts, target, hooks,
            audit_s=audit_s, stretches=stretches, opening=opening, rotation=rotation,
        )
        for name, address in zip(states, addresses, strict=True)
    ]  # fmt: skip
    with shared_schema():
        running = [asyncio.create_task(task.run()) for task in tasks]
        try:
            yield tasks, done, counted
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def measure(switches: int, entries: int, watched_s: float, audit_s: float = 3.0) -> Load:
    """RigError where the switches do not get their tables."""
    with sinks(switches) as (addresses, sink):
        return asyncio.run(_measure(addresses, sink, entries, watched_s, audit_s))


async def _measure(addresses: list[str], sink: int, entries: int, watched_s: float, audit_s: float) -> Load:
    before = _resident()
    states = {f"s{number}": state_of(number, entries) for number in range(len(addresses))}
    collect_little()
    began, of_sink, of_us = time.monotonic(), _computed(sink), time.process_time()
    async with sessions(addresses, states, audit_s) as (tasks, done, counted):
        writing = await _late_until(done, tasks)
        written_s, of_sink = time.monotonic() - began, _computed(sink) - of_sink
        of_us = time.process_time() - of_us
        refused = sum(task.status.refused_total for task in tasks)
        if refused:
            raise RigError(f"{refused} updates were refused: {tasks[0].status.refused[:1]}")
        await asyncio.sleep(4 * audit_s)  # what was written is read once; from then on bytes are compared
        grown = _resident() - before
        auditing = await lateness(watched_s)
        counted[0], since = 0, time.process_time()
        await asyncio.sleep(watched_s)  # without a tick every millisecond, which computes, too
        computed, audits = time.process_time() - since, counted[0]
        if audits == 0:
            raise RigError(f"no table was read back within {watched_s:g} s")
    async with sessions(addresses, states, audit_s) as (tasks, done, _):
        returned = await _late_until(done, tasks)
    total = len(addresses) * entries
    return Load(
        len(addresses), entries, written_s, 1e6 * of_us / total, of_sink / written_s,
        _p99_ms(writing), _p99_ms(auditing), _p99_ms(returned),
        computed / watched_s, watched_s * len(addresses) / audits, grown / total,
    )  # fmt: skip


def _p99_ms(late: list[float]) -> float:
    return 1e3 * float(np.percentile(late, 99))


async def _late_until(done: asyncio.Event, tasks: list[SwitchTask]) -> list[float]:
    """How late the loop was until all tables were there; RigError where they do not come."""
    ending, found = time.monotonic() + _PATIENCE_S, list[float]()
    while not done.is_set():
        if time.monotonic() > ending:
            raise RigError(f"no tables: {[task.status.error for task in tasks if task.status.error][:1]}")
        found += await lateness(0.5)
    return found


async def lateness(seconds: float) -> list[float]:
    """How late the event loop came to what was due at each millisecond, s; a loop that stands for a second is
    late for a thousand of them."""
    found, end = list[float](), time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        await asyncio.sleep(_TICK_S)
        late = time.monotonic() - now - _TICK_S
        found += (late - number * _TICK_S for number in range(1 + int(late / _TICK_S)))
    return found


def _computed(pid: int) -> float:
    """Processor time of a process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident() -> int:
    """Bytes of this process in memory."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0

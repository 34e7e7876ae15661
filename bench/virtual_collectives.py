"""Collectives by their schedules on the virtual network of the tests: what their messages took.

Endpoints, executors and schedules are the library's; a network of made-up links carries the packets. The same
arguments give the same outcome.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import csaud_testnet
import numpy as np
import numpy.typing as npt
from csaud import _core
from csaud.collectives import gather, pairwise, ring
from csaud.collectives.plan import compiled
from csaud.collectives.schedule import Schedule
from csaud.collectives.timing import StepTimes

_ELEMENT = np.dtype(np.int32)
_DATA_CLASS, _URGENT_CLASS = 4, 0
_MEASURED, _BESIDE = 0, 1  # communicators


@dataclasses.dataclass(frozen=True)
class Workload:
    """One pattern, several times; times in nanoseconds.

    Attributes:
        pattern: "ring" (all-reduce), "all_to_all", "incast" (gather) or "urgent" (a ring of short messages of
            class 0 beside an all-to-all; only the ring is measured).
        ranks: how many.
        packets: of a message, all full.
        urgent_packets: of a message of the ring beside an all-to-all.
        iterations: one after the other, with all ranks ready for it.
        warm_up: of them, which are not measured.
        pause: between two.
        limit: of an iteration.
    """

    pattern: str
    ranks: int
    packets: int = 32
    urgent_packets: int = 2
    iterations: int = 1
    warm_up: int = 0
    pause: int = 50_000
    limit: int = 10_000_000_000


def _ring(rank: int, size: int, count: int) -> Schedule:
    return ring.all_reduce(rank, size, size * count, count)


def _all_to_all(rank: int, size: int, count: int) -> Schedule:
    each = [0 if other == rank else count for other in range(size)]
    return pairwise.all_to_all(rank, size, each, each, count)


def _gather(rank: int, size: int, count: int) -> Schedule:
    return gather.gather(rank, size, count, count)


@dataclasses.dataclass(frozen=True)
class _Part:
    """A collective of the workload: its schedule of a rank for messages of so many elements."""

    schedule: Callable[[int, int, int], Schedule]
    packets: int
    comm: int = _MEASURED
    cls: int = _DATA_CLASS


def _parts(work: Workload) -> list[_Part]:
    patterns = {"ring": _ring, "all_to_all": _all_to_all, "incast": _gather}
    if work.pattern == "urgent":
        beside = _Part(_all_to_all, work.packets, _BESIDE)
        return [beside, _Part(_ring, work.urgent_packets, _MEASURED, _URGENT_CLASS)]
    return [_Part(patterns[work.pattern], work.packets)]


class _Run:
    """One part of one rank: made once, started each iteration."""

    def __init__(self, part: _Part, rank: int, size: int, payload: int) -> None:
        count = part.packets * payload // _ELEMENT.itemsize
        schedule = part.schedule(rank, size, count)
        self._native = _core.Collective(
            compiled(schedule), _ELEMENT.itemsize, list(range(size)), part.comm, 0, 0, part.cls, False,
            "sum", _ELEMENT.name, StepTimes(),
        )  # fmt: skip
        self._buffers = [np.zeros(size * count * _ELEMENT.itemsize, np.uint8) for _ in range(2)]
        self._buffers.append(np.zeros(schedule.scratch * _ELEMENT.itemsize, np.uint8))

    def execution(self, number: int) -> _core.Execution:
        return _core.Execution(self._native, number, *self._buffers)


@dataclasses.dataclass
class Outcome:
    """What a workload took, and what became of its packets; times in nanoseconds.

    Attributes:
        flows: from the post of a send to its last packet's arrival.
        completions: of the measured iterations, to the last arrival.
        sends: messages, of all iterations and of what is not measured, too.
        sends_open: those whose senders did not learn that they arrived.
        finished: all iterations did within the limit.
        stats: counters summed over all ranks.
        fabric: counters of the network.
    """

    flows: npt.NDArray[np.float64]
    completions: npt.NDArray[np.float64]
    sends: int
    sends_open: int
    finished: bool
    stats: dict[str, int]
    fabric: dict[str, int]


def run(
    work: Workload,
    config: _core.EndpointConfig,
    link: csaud_testnet.LinkModel,
    chance: csaud_testnet.Chance,
) -> Outcome:
    """All iterations, until one of them does not end within the limit."""
    job = csaud_testnet.Job(work.ranks, config, link, chance)
    network = job.network
    runs = [
        [_Run(part, rank, work.ranks, network.payload) for part in _parts(work)] for rank in range(work.ranks)
    ]
    flows: list[int] = []
    completions: list[int] = []
    finished = True
    for iteration in range(work.iterations):
        began = network.now
        for rank, parts in enumerate(runs):
            for part in parts:
                job.start(rank, part.execution(iteration + 1))
        finished = job.run(began + work.limit)
        arrivals = [(posted, at) for comm, posted, at in job.take_arrivals() if comm == _MEASURED]
        if iteration >= work.warm_up:
            flows += [at - posted for posted, at in arrivals]
            completions.append(max((at for _, at in arrivals), default=began) - began)
        network.run_until(network.now + work.pause)
        if not finished:
            break
    counters = [network.stats(rank) for rank in range(work.ranks)]
    return Outcome(
        flows=np.array(flows, np.float64),
        completions=np.array(completions, np.float64),
        sends=job.sends,
        sends_open=job.sends_open,
        finished=finished,
        stats={name: sum(of[name] for of in counters) for name in counters[0]},
        fabric=network.counts(),
    )

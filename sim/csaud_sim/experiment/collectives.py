"""Collectives of an experiment: the host library's schedules, one after the other, with time for computing
between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from csaud import _core
from csaud.collectives import gather, pairwise, registry
from csaud.collectives.plan import compiled
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.schedule import Schedule
from csaud.collectives.timing import StepTimes

from csaud_sim.experiment.model import ALL_TO_ALL, GATHER, Collectives
from csaud_sim.network import Network
from csaud_sim.transports.network import PlainNetwork

_ELEMENT = np.dtype(np.float32)
_REDUCING = ("all_reduce.", "reduce_scatter.")
_NEW_DATA, _CONTROL = 4, 0  # criticality classes, as of the host library

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Completion:
    """One element a collective, ns of virtual time; those that were not over when the run ended are left out.

    Attributes:
        started_ns: when the first rank called it.
        completion_ns: from then until the last rank had its result.
        waited_ns: from when the last rank called it until then.
    """

    started_ns: Times
    completion_ns: Times
    waited_ns: Times


class RunningCollectives:
    """All of them, started.

    Args:
        network: its hosts `ranks` take part, in this order.
        seed: of the computing times.
    """

    def __init__(
        self, network: Network | PlainNetwork, asked: Collectives, ranks: Sequence[int], seed: int
    ) -> None:
        self._asked = asked
        self._computing = computing_times(asked, len(ranks), seed)
        count = asked.bytes // _ELEMENT.itemsize
        longest = network.max_message_bytes // _ELEMENT.itemsize
        self._runs: list[list[_core.Execution]] = []
        shares = shares_of(count, len(ranks), asked.skew, seed)
        uneven = asked.operation == GATHER or asked.skew > 0
        whole = asked.bytes * (len(ranks) if uneven else 1)
        data, source = network.length_only(whole), network.length_only(asked.bytes)
        for place, rank in enumerate(ranks):
            schedule = schedule_of(asked.operation, place, len(ranks), count, longest, shares)
            native = network.without_reduction(_collective(schedule, asked, ranks))
            room = network.length_only(schedule.scratch * _ELEMENT.itemsize) if schedule.scratch else None
            runs = [_core.Execution(native, number, data, source, room) for number in range(asked.repeats)]
            network.start(rank, runs[0], at=int(self._computing[0, place]))
            for number, run in enumerate(runs[1:], 1):
                network.follow(rank, run, int(self._computing[number, place]))
            self._runs.append(runs)

    def completed(self) -> Completion:
        """What is over of those that are measured."""
        over = [all(runs[n].ended for runs in self._runs) for n in range(self._asked.repeats)]
        done = over.index(False) if False in over else len(over)
        ended = np.array([[runs[n].ended_ns for runs in self._runs] for n in range(done)], np.int64)
        ended = ended.reshape(done, len(self._runs))
        called = np.vstack([np.zeros((1, ended.shape[1]), np.int64), ended])[:done] + self._computing[:done]
        started, last = called.min(axis=1, initial=np.iinfo(np.int64).max), ended.max(axis=1, initial=0)
        waited = last - called.max(axis=1, initial=0)
        measured = slice(self._asked.warmup, None)
        return Completion(started[measured], (last - started)[measured], waited[measured])


def _collective(schedule: Schedule, asked: Collectives, ranks: Sequence[int]) -> _core.Collective:
    usual = _CONTROL if schedule.barrier else _NEW_DATA
    reduces = asked.operation.startswith(_REDUCING)
    return _core.Collective(
        compiled(schedule), _ELEMENT.itemsize, list(ranks), 0, 0, 0,
        usual if asked.criticality is None else asked.criticality, schedule.barrier,
        REDUCTIONS["sum"].native if reduces else "", _ELEMENT.name if reduces else "", StepTimes(),
    )  # fmt: skip


def shares_of(count: int, size: int, skew: float, seed: int) -> list[int]:
    """Elements of each rank's array that go to each rank: equal, or as Zipf's law has it, in an order by the
    seed, the same for all that send."""
    if not skew:
        return [count // size] * size
    weights = 1 / np.arange(1, size + 1) ** skew
    weights = np.random.default_rng([seed, 0x21FF]).permutation(weights / weights.sum())
    return [int(each) for each in count * weights]


def schedule_of(
    operation: str, rank: int, size: int, count: int, longest: int, shares: Sequence[int] | None = None
) -> Schedule:
    """A schedule by name; of `all_to_all.pairwise`, `shares` for all ranks, by default equal ones; of
    `gather.direct`, to rank 0."""
    if operation == GATHER:
        return gather.gather(rank, size, count, longest)
    if operation == ALL_TO_ALL:
        sent = shares or shares_of(count, size, 0, 0)
        return pairwise.all_to_all(rank, size, sent, [sent[rank]] * size, longest)
    return registry.build(operation, rank, size, count, longest)


def computing_times(asked: Collectives, ranks: int, seed: int) -> Times:
    """(repeats, ranks), ns: normal, not below 0; in each row one rank, drawn, takes `straggler` more."""
    random = np.random.default_rng([seed, 0xC0])
    drawn = random.normal(asked.compute, asked.deviation, (asked.repeats, ranks))
    times = np.maximum(drawn, 0)
    times[np.arange(asked.repeats), random.integers(0, ranks, asked.repeats)] += asked.straggler
    return times.astype(np.int64)

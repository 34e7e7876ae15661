"""Schedules of the host library on simulated hosts, at times that computing is said to take."""

import numpy as np
import pytest
from csaud._core import Collective, Execution
from csaud.collectives.plan import compiled
from csaud.collectives.registry import build
from csaud_controller.inventory import leaf_spine
from csaud_sim._core import length_only, without_reduction

from tests.sim.worlds import SECOND, World

RANKS = 4
COUNT = 200_000  # float32
LONGEST = 512 * 4000 // 4


class Ring:
    """All-reduces by the ring on all hosts of a fabric, in buffers of no content."""

    def __init__(self, **options: object) -> None:
        self.world = World(leaf_spine(2, 2, 2), payloads=False, **options)
        self.plans = []
        self.scratch = 0
        for rank in range(RANKS):
            schedule = build("all_reduce.ring", rank, RANKS, COUNT, LONGEST)
            self.scratch = max(self.scratch, schedule.scratch * 4)
            self.plans.append(
                without_reduction(
                    Collective(compiled(schedule), 4, list(range(RANKS)), op="sum", element="float32")
                )
            )
        self.data, self.room = length_only(4 * COUNT), length_only(self.scratch)

    def execution(self, rank: int, number: int) -> Execution:
        return Execution(self.plans[rank], number, self.data, None, self.room)


def test_a_rank_computes_before_its_next_collective() -> None:
    ring = Ring()
    compute = [0, 100_000, 40_000, 7]
    first = [ring.execution(rank, 0) for rank in range(RANKS)]
    then = [ring.execution(rank, 1) for rank in range(RANKS)]
    alone = Ring()
    for rank in range(RANKS):
        ring.world.simulation.start(rank, first[rank], at=1_000)
        ring.world.simulation.follow(rank, then[rank], compute[rank])
        alone.world.simulation.start(rank, alone.execution(rank, 0), at=1_000)
    assert alone.world.simulation.run(SECOND)
    took = alone.world.simulation.now - 1_000
    assert ring.world.simulation.run(SECOND)
    assert all(run.ended for run in (*first, *then))
    assert max(run.ended_ns for run in first) == 1_000 + took
    slowest = max(end.ended_ns + wait for end, wait in zip(first, compute, strict=True))
    last = max(run.ended_ns for run in then)
    assert slowest + took / 2 < last < slowest + 2 * took


def test_a_collective_takes_the_bandwidth_of_its_links() -> None:
    ring = Ring()
    for rank in range(RANKS):
        ring.world.simulation.start(rank, ring.execution(rank, 0))
    assert ring.world.simulation.run(SECOND)
    least = 2 * (RANKS - 1) / RANKS * COUNT * 4 * 8 / 100  # ns: bytes through each NIC at 100 Gb/s
    assert least < ring.world.simulation.now < 2 * least


def test_a_host_that_is_killed_ends_the_collective_of_the_others() -> None:
    ring = Ring(settings={"dead_after": 1_000_000})
    runs = [ring.execution(rank, 0) for rank in range(RANKS)]
    for rank in range(RANKS):
        ring.world.simulation.start(rank, runs[rank])
    ring.world.simulation.advance(5_000)
    ring.world.simulation.kill(2)
    while ring.world.simulation.open:
        assert ring.world.simulation.run(SECOND)
    for rank in (0, 1, 3):
        failure = runs[rank].failure
        assert failure is not None
        assert (failure.status.name, failure.rank) == ("peer_unreachable", 2)


def test_what_starts_in_the_past_is_refused() -> None:
    ring = Ring()
    ring.world.simulation.advance(10)
    with pytest.raises(ValueError, match="time 9 lies before the present, 10"):
        ring.world.simulation.start(0, ring.execution(0, 0), at=9)
    with pytest.raises(ValueError, match="delay_ns cannot be negative"):
        ring.world.simulation.follow(0, ring.execution(0, 0), -1)
    assert ring.world.simulation.open == 0


def test_buffers_without_content_are_as_long_as_asked() -> None:
    for size in (1, 65_536, 65_537, 10**9):
        buffer = length_only(size)
        assert (buffer.size, buffer.dtype) == (size, np.uint8)
        buffer[-1] = 7
        assert buffer[-1] == 7

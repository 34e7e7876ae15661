"""Whoever dies, and whenever: workers that are left have the weights of a run without deaths, bit by bit."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import Counter
from collections.abc import Sequence

import numpy as np
from csaud.errors import ConfigError
from csaud.recover.buckets import Buckets
from csaud.recover.job import Job
from csaud.recover.state import Arrays
from csaud.recover.tree import cover, merged
from hypothesis import strategies as st

from tests.recover.epochs import Epoch, Network, Worker
from tests.support.drawn import batches, drawn

SCHEDULES = int(os.environ.get("CSAUD_RECOVER_SCHEDULES", "400"))
A_BATCH = 200
SIZES = (5, 1, 3)


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Attributes:
    deaths: by worker, the number of the call in which it dies; at least one worker lives.
    newcomers: how many come while the others train.
    by_step: each step is asked for by a call of its own, as epochs are.
    stranger: the last newcomer has other arguments.
    """

    world: int
    newcomers: int
    microbatches: int
    steps: int
    in_order: bool
    sharded: bool
    by_step: bool
    stranger: bool
    deaths: dict[int, int]
    seed: int


@st.composite
def schedules(draw) -> Schedule:
    world, newcomers = draw(st.integers(1, 5)), draw(st.integers(0, 2))
    mortal = st.integers(1, world + newcomers)  # the first one lives, the last one is nobody
    return Schedule(
        world, newcomers, draw(st.integers(1, 9)), draw(st.integers(1, 3)), draw(st.booleans()),
        draw(st.booleans()), draw(st.booleans()), draw(st.booleans()),
        draw(st.dictionaries(mortal, st.integers(1, 70), max_size=4)), draw(st.integers(0, 1 << 16)),
    )  # fmt: skip


def gradients(weights: list[np.ndarray], step: int, number: int) -> list[np.ndarray]:
    random = np.random.default_rng([step, number])
    return [
        (random.normal(size=array.size) * 10.0 ** random.integers(-3, 3, array.size) + array).astype("f4")
        for array in weights
    ]


class Sharded:
    """Momenta: one array's is one shard."""

    def __init__(self, weights: list[np.ndarray]) -> None:
        self.weights, self.gradients = weights, weights
        self.momenta = {shard: np.zeros_like(array) for shard, array in enumerate(weights)}
        self.count = len(weights)

    @property
    def held(self) -> set[int]:
        return set(self.momenta)

    def update(self) -> None:
        for shard, momentum in self.momenta.items():
            momentum += self.gradients[shard]
            self.weights[shard] -= np.float32(0.1) * momentum

    def values(self, shard: int) -> list[np.ndarray]:
        return [self.weights[shard]]

    def pack(self, shard: int) -> np.ndarray:
        return self.momenta[shard].view(np.uint8)

    def unpack(self, shard: int, state: np.ndarray) -> None:
        self.momenta[shard] = state.copy().view(np.float32)

    def drop(self, shard: int) -> None:
        del self.momenta[shard]


def train(
    job: Job, weights: list[np.ndarray], calls: Sequence[int], computed: list[tuple[int, int]],
    sharded: Sharded | None,
) -> None:  # fmt: skip
    for step in itertools.chain.from_iterable(map(job.steps, calls)):
        for number in step:
            computed.append((step.index, number))
            step.add(gradients(weights, step.index, number))
        if sharded is None:
            for array, gradient in zip(weights, step.gradients, strict=True):
                array -= np.float32(0.1) * gradient
        else:
            sharded.gradients = step.gradients
            job._update()


def run(schedule: Schedule) -> tuple[list[Worker], list[list[np.ndarray]], list[list[tuple[int, int]]]]:
    names = range(schedule.world + schedule.newcomers)
    network = Network(schedule.seed, schedule.deaths)
    states = [[np.full(size, name, np.float32) for size in SIZES] for name in names]
    computed: list[list[tuple[int, int]]] = [[] for _ in names]

    def program(worker: Worker) -> None:
        joins = worker.name >= schedule.world
        comm = network.join(worker) if joins else network.enter(worker)
        weights = states[worker.name]
        buckets = Buckets([array.shape for array in weights], [array.dtype for array in weights], 12)
        sharded = Sharded(weights) if schedule.sharded else None
        stranger = joins and worker.name == names[-1] and schedule.stranger
        job = Job(
            comm, joins, schedule.microbatches + stranger, buckets, buckets.make(), Arrays(weights),
            in_order=schedule.in_order, timeout=1.0, watch=None, shards=sharded,
        )  # fmt: skip
        calls = range(1, schedule.steps + 1) if schedule.by_step else [schedule.steps]
        train(job, weights, calls, computed[worker.name], sharded)

    network.workers = [Worker(name, program) for name in names]
    first = Epoch(network.workers[: schedule.world])
    for worker in first.members:
        worker.epoch = first
    network.run()
    return network.workers, states, computed


def check(schedule: Schedule) -> None:
    workers, states, computed = run(schedule)
    _, (expected, *_), _ = run(dataclasses.replace(schedule, world=1, newcomers=0, deaths={}))
    trained = [worker for worker in workers if worker.alive and worker.epoch is not None]
    assert trained
    if schedule.stranger and schedule.newcomers and workers[-1] in trained:
        assert isinstance(trained.pop().error, ConfigError), "and all others go on"
    if schedule.sharded and any("all ranks that had shard" in str(worker.error) for worker in trained):
        assert len(schedule.deaths) >= 2, "both copies of a shard are gone, and so all others know it"
        return
    for worker in trained:
        assert worker.error is None, repr(worker.error)
        for found, right in zip(states[worker.name], expected, strict=True):
            if schedule.in_order:
                assert found.tobytes() == right.tobytes()
            else:
                np.testing.assert_allclose(found, right, rtol=1e-3, atol=1e-3)
    living = Counter(one for worker in trained for one in computed[worker.name])
    assert max(living.values()) == 1, "what a worker that lives has computed is not computed again"
    everybody = {one for of in computed for one in of}
    assert everybody == {(s, n) for s in range(schedule.steps) for n in range(schedule.microbatches)}


@batches(SCHEDULES, A_BATCH)
def test_weights_are_those_of_a_run_without_deaths(batch: int) -> None:
    drawn(batch, min(SCHEDULES, A_BATCH), schedules(), check)


def test_sums_are_put_together_where_the_tree_says_so_and_nowhere_else() -> None:
    assert cover([0, 1, 2, 4, 5, 7], 8) == [(0, 2), (2, 3), (4, 6), (7, 8)]
    assert cover(range(6), 6) == [(0, 6)]
    assert cover([], 3) == []
    added = merged(
        {(0, 1): "a", (3, 4): "d", (1, 2): "b", (4, 5): "e"}, 6, lambda one, other: f"({one}{other})"
    )
    assert added == {(0, 1): "a", (1, 2): "b", (3, 4): "d", (4, 5): "e"}
    assert merged({(2, 3): "c", **added}, 6, lambda one, other: f"({one}{other})") == {
        (0, 3): "(a(bc))", (3, 4): "d", (4, 5): "e",
    }  # fmt: skip

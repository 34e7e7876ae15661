"""Workloads without a network: ranks and reference agree to the bit, and one wrong element is noticed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from csaud.collectives.reference import reference_sum
from csaud_topologies.record.checks import equal_results
from csaud_topologies.workloads.allreduce import AllReduceWorkload
from csaud_topologies.workloads.mlp import Mlp, MomentumSgd
from csaud_topologies.workloads.specs import AllReduce, TrainDigits
from csaud_topologies.workloads.train_digits import Digits, TrainDigitsWorkload

WORLD = 3
SEED = 5


class Meeting:
    """Threads in the place of ranks: each brings an array, all get the sum in the ring's order.

    One works at a time: CPython's parser, by which numpy reads the header of a file, fails now and then where
    two threads are in it ("AST constructor recursion depth mismatch").
    """

    def __init__(self, world: int) -> None:
        self.world = world
        self.arrays = [np.zeros(0, np.float32)] * world
        self.total = np.zeros(0, np.float32)
        self._barrier = threading.Barrier(world)
        self._turn = threading.Lock()

    @contextmanager
    def turn(self):
        """A rank's work; where that fails, the others do not wait for it."""
        with self._turn:
            try:
                yield
            except BaseException:
                self._barrier.abort()
                raise

    def sum(self, rank: int, array):
        self.arrays[rank] = array.copy()
        if self._met() == 0:
            self.total = reference_sum(self.arrays)
        self._met()
        array[:] = self.total
        self._met()

    def _met(self) -> int:
        self._turn.release()
        try:
            return self._barrier.wait()
        finally:
            self._turn.acquire()


class ThreadCommunicator:
    """What workloads use of csaud.Communicator; `damage` may spoil what a rank brings."""

    def __init__(self, meeting: Meeting, rank: int, damage=None) -> None:
        self.meeting, self.rank, self.size = meeting, rank, meeting.world
        self.damage = damage or (lambda call, array: None)
        self.calls = 0

    def all_reduce(self, array, op="sum"):
        self.damage(self.calls, array)
        self.calls += 1
        self.meeting.sum(self.rank, array)


def run_ranks(workload, spec, folder, damage=None):
    meeting = Meeting(WORLD)
    events = [[] for _ in range(WORLD)]

    def one(rank):
        comm = ThreadCommunicator(meeting, rank, damage if rank == 1 else None)
        emit = lambda event, **fields: events[rank].append((event, fields))  # noqa: E731
        with meeting.turn():
            return workload.work(comm, spec, SEED, folder, emit)

    with ThreadPoolExecutor(WORLD) as pool:
        return list(pool.map(one, range(WORLD))), events


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    TrainDigitsWorkload().prepare(TrainDigits(), SEED, folder)
    return folder


SMALL = TrainDigits(steps=4, hidden=[33, 17], batch=16)


def test_training_ends_with_the_references_bits_on_every_rank(digits):
    workload = TrainDigitsWorkload()
    results, events = run_ranks(workload, SMALL, digits)
    reference = workload.reference(SMALL, SEED, WORLD, digits, reference_sum)
    assert equal_results(results, reference).passed
    assert [fields["step"] for _, fields in events[0]] == [0, 1, 2, 3]
    assert events[0][-1][1]["accuracy"] == pytest.approx(reference["accuracy"])
    assert events[1][-1][1]["accuracy"] is None


@pytest.mark.parametrize("element", [0, 1000, -1])
def test_gradient_wrong_in_one_element_fails_the_check(digits, element):
    def damage(call, array):
        if call == 2:
            array[element] += np.float32(1e-6)

    workload = TrainDigitsWorkload()
    results, _ = run_ranks(workload, SMALL, digits, damage)
    reference = workload.reference(SMALL, SEED, WORLD, digits, reference_sum)
    assert not equal_results(results, reference).passed


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_training_that_diverges_to_nan_is_equal_whatever_bits_its_nans_have(digits):
    def other_nans(arrays):
        total = reference_sum(arrays)
        total.view(np.uint32)[np.isnan(total)] ^= 1 << 31
        return total

    spec = SMALL.model_copy(update={"learning_rate": 1e30})
    workload = TrainDigitsWorkload()
    results, events = run_ranks(workload, spec, digits)
    assert np.isnan(events[0][-1][1]["loss"])
    assert equal_results(results, workload.reference(spec, SEED, WORLD, digits, other_nans)).passed


def test_sum_in_another_order_fails_the_check():
    spec = AllReduce(sizes=[4001])
    workload = AllReduceWorkload()
    right = workload.reference(spec, SEED, WORLD, None, reference_sum)
    wrong = workload.reference(spec, SEED, WORLD, None, lambda arrays: sum(arrays[1:], arrays[0].copy()))
    assert right["digest"] != wrong["digest"]


def test_all_reduce_results_are_those_of_the_reference():
    spec = AllReduce(sizes=[1, 7, 1021], repeats=2)
    workload = AllReduceWorkload()
    results, events = run_ranks(workload, spec, None)
    assert equal_results(results, workload.reference(spec, SEED, WORLD, None, reference_sum)).passed
    assert len(events[0]) == spec.steps == 6


def test_shards_cover_the_training_part_once(digits):
    data = Digits(digits / "digits.npz", SEED)
    whole = sum(len(data.batch(rank, WORLD, 0, 10_000)[0]) for rank in range(WORLD))
    assert whole == 30_000  # a batch may be larger than the shard: it goes round
    first = {data.batch(rank, WORLD, 0, 5)[0].tobytes() for rank in range(WORLD)}
    assert len(first) == WORLD


def test_gradient_is_that_of_finite_differences():
    model = Mlp([5, 7, 3], seed=2)
    random = np.random.default_rng(3)
    x = random.standard_normal((4, 5), np.float32)
    labels = random.integers(0, 3, 4)
    model.loss_and_gradient(x, labels)
    analytic = model.gradient.copy()
    step = np.float32(1e-2)
    for index in random.integers(0, model.size, 12):
        kept = model.parameters[index]
        model.parameters[index] = kept + step
        above = model.loss_and_gradient(x, labels)
        model.parameters[index] = kept - step
        below = model.loss_and_gradient(x, labels)
        model.parameters[index] = kept
        assert analytic[index] == pytest.approx((above - below) / (2 * step), abs=5e-3)


def test_momentum_follows_its_definition():
    optimizer = MomentumSgd(2, rate=0.5, momentum=0.5)
    weights = np.array([1.0, 2.0], np.float32)
    for _ in range(2):
        optimizer.step(weights, np.array([4.0, 8.0], np.float32), ranks=4)
    assert weights.tolist() == [1 - 0.5 * 1 - 0.5 * 1.5, 2 - 0.5 * 2 - 0.5 * 3]

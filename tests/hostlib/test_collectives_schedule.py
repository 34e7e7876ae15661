"""Schedules as data, and the executor over a network in memory that delivers in any order."""

import numpy as np
import pytest
from csaud.collectives import barrier, registry, ring
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.schedule import (
    MAX_STEPS,
    Buffer,
    Recv,
    Reduce,
    Region,
    Schedule,
    Send,
    messages,
    split,
)
from csaud.collectives.signature import marks
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.testing import assert_bit_equal
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostlib.memory_network import run_everywhere


def gradients(size: int, count: int, dtype: str, seed: int) -> list[np.ndarray]:
    """Values whose sum depends on the order of addition, where floats are asked for."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return [random.integers(-1000, 1000, count).astype(dtype) for _ in range(size)]
    return [
        (random.normal(size=count) * 10.0 ** random.integers(-6, 6, count)).astype(dtype) for _ in range(size)
    ]


def all_reduce_everywhere(size: int, count: int, longest: int, dtype: str, seed: int) -> list[np.ndarray]:
    arrays = gradients(size, count, dtype, seed)
    schedules = [ring.all_reduce(rank, size, count, longest) for rank in range(size)]
    run_everywhere(schedules, arrays, REDUCTIONS["sum"], seed)
    return arrays


@settings(max_examples=40)
@given(
    size=st.integers(1, 8),
    count=st.integers(0, 70),
    longest=st.integers(1, 12),
    dtype=st.sampled_from(["float32", "float64", "int32", "int64"]),
    seed=st.integers(0, 1 << 30),
)
def test_ring_all_reduce_gives_the_reference_bits_in_any_order_of_arrival(size, count, longest, dtype, seed):
    expected = ring.reference_sum(gradients(size, count, dtype, seed))
    for rank, result in enumerate(all_reduce_everywhere(size, count, longest, dtype, seed)):
        assert_bit_equal(result, expected, f"rank {rank}")


def test_the_reference_adds_each_chunk_from_its_own_rank_on():
    arrays = gradients(3, 3, "float32", seed=5)
    a, b, c = arrays
    expected = np.array([(a[0] + b[0]) + c[0], (b[1] + c[1]) + a[1], (c[2] + a[2]) + b[2]], dtype=np.float32)
    assert_bit_equal(ring.reference_sum(arrays), expected)


def test_the_order_of_addition_matters_for_the_values_that_these_tests_use():
    arrays = gradients(8, 1000, "float32", seed=3)
    in_rank_order = arrays[0].copy()
    for array in arrays[1:]:
        in_rank_order += array
    with pytest.raises(AssertionError):
        assert_bit_equal(in_rank_order, ring.reference_sum(arrays))


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize(("count", "longest"), [(1, 4), (7, 4), (64, 3), (0, 4)])
def test_every_message_that_is_sent_is_expected_and_no_other(size, count, longest):
    schedules = [ring.all_reduce(rank, size, count, longest) for rank in range(size)]
    sent, expected = {}, {}
    for rank, schedule in enumerate(schedules):
        for op in schedule.operations:
            if isinstance(op, Send):
                sent[rank, op.dst, op.step, op.chunk] = op.region.count
            elif isinstance(op, Recv):
                expected[op.src, rank, op.step, op.chunk] = op.region.count
    assert sent == expected
    steps = {step for _, _, step, _ in sent}
    assert steps == set(range(2 * (size - 1)))
    # Each rank passes on all data but its own chunk, twice: what a ring all-reduce costs.
    for rank in range(size):
        assert sum(n for (src, *_), n in sent.items() if src == rank) <= 2 * (size - 1) * -(-count // size)


def test_dependencies_point_backwards_and_reductions_keep_their_operand_order():
    operations = ring.all_reduce(1, 4, 40, 4).operations
    for index, op in enumerate(operations):
        if isinstance(op, Recv):
            continue
        assert all(earlier < index for earlier in op.after)
        if isinstance(op, Reduce):
            assert op.first.buffer is Buffer.SCRATCH and op.second == op.into
            assert op.second.buffer is Buffer.DATA


def overlap(one: Region, other: Region) -> bool:
    together = min(one.start + one.count, other.start + other.count) - max(one.start, other.start)
    return one.buffer is other.buffer and together > 0


@pytest.mark.parametrize(("count", "longest"), [(7, 64), (400, 64), (7, 7 * 512)])  # the last is sent whole
@pytest.mark.parametrize("size", range(2, 10))
@pytest.mark.parametrize(
    "name", ["all_reduce.halving_doubling", "reduce.ring", "reduce.tree", "reduce_scatter.ring"]
)
def test_what_is_sent_stays_as_it_is_until_it_has_arrived(name, size, count, longest):
    """It is read again where it is lost. (A ring's all-reduce gets nothing back before.)"""
    for rank in range(size):
        operations = registry.build(name, rank, size, count, longest).operations
        over: list[set[int]] = []  # by operation: what is over when it begins
        for op in operations:
            over.append({earlier for i in getattr(op, "after", ()) for earlier in ({i} | over[i])})
        for index, op in enumerate(operations):
            if isinstance(op, Reduce):
                earlier = enumerate(operations[:index])
                sent = [i for i, one in earlier if isinstance(one, Send) and overlap(one.region, op.into)]
                assert over[index].issuperset(sent)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("name", registry.names())
def test_steps_are_numbered_as_they_come_and_none_is_left_out(name, size):
    """So that who waits is told in which one, and times of steps are those of one each."""
    schedules = [registry.build(name, rank, size, 7 * 64, 64) for rank in range(size)]
    used = {op.step for each in schedules for op in each.operations if isinstance(op, Send | Recv)}
    for schedule in schedules:
        assert used == set(range(schedule.steps))
        steps = [op.step for op in schedule.operations if isinstance(op, Send | Recv)]
        assert steps == sorted(steps)


def test_chunks_have_the_sizes_of_array_split():
    for count, parts in [(10, 3), (2, 5), (0, 2), (17, 8)]:
        expected = [len(piece) for piece in np.array_split(np.arange(count), parts)]
        assert [length for _, length in split(count, parts)] == expected


def test_messages_cover_a_region_without_gap_and_an_empty_one_is_one_message():
    pieces = list(messages(Region(Buffer.DATA, 5, 10), 4))
    assert [(piece.start, piece.count) for piece in pieces] == [(5, 4), (9, 4), (13, 2)]
    assert list(messages(Region(Buffer.DATA, 5, 0), 4)) == [Region(Buffer.DATA, 5, 0)]
    with pytest.raises(ValueError, match="longest=0"):
        list(messages(Region(Buffer.DATA, 0, 1), 0))


@pytest.mark.parametrize("size", range(1, 18))
def test_nobody_leaves_a_barrier_before_all_have_come(size):
    """Follow who has heard of whom: after the last round everyone has heard of everyone."""
    schedules = [barrier.barrier(rank, size) for rank in range(size)]
    assert {schedule.steps for schedule in schedules} == {(size - 1).bit_length()}
    heard = [{rank} for rank in range(size)]
    for step in range(schedules[0].steps):
        before = [set(ranks) for ranks in heard]
        for rank, schedule in enumerate(schedules):
            for op in schedule.operations:
                if isinstance(op, Send) and op.step == step:
                    earlier = {schedule.operations[i].step for i in op.after}
                    assert earlier == set(range(step))
                    heard[op.dst] |= before[rank]
    assert all(ranks == set(range(size)) for ranks in heard)


def test_a_barrier_runs():
    schedules = [barrier.barrier(rank, 6) for rank in range(6)]
    nothing = [np.empty(0, np.uint8) for _ in range(6)]
    assert run_everywhere(schedules, nothing, None, seed=1).messages == 6 * 3


def test_the_registry_knows_names_and_takes_new_ones_once():
    assert {"all_reduce.ring", "barrier.dissemination"} <= set(registry.names())
    with pytest.raises(ConfigError, match=r"no collective 'all_reduce.tree'; there are all_gather.ring"):
        registry.build("all_reduce.tree", 0, 2, 1, 1)
    with pytest.raises(ConfigError, match="registered already"):
        registry.register("all_reduce.ring", ring.all_reduce)
    assert registry.build("all_reduce.ring", 0, 2, 8, 4) == ring.all_reduce(0, 2, 8, 4)


def test_a_reference_of_unlike_arrays_is_refused():
    with pytest.raises(ValueError, match="differ"):
        ring.reference_sum([np.zeros(2), np.zeros(3)])
    with pytest.raises(ValueError, match="no arrays"):
        ring.reference_sum([])


def test_steps_and_messages_that_can_be_numbered_are_taken_and_no_more() -> None:
    call = Call("barrier")
    region = Region(Buffer.DATA, 0, 1)
    last = Send(0, MAX_STEPS - 1, 65_535, region)
    for schedule in (Schedule((), 0, MAX_STEPS), Schedule((last,), 0, MAX_STEPS)):
        step, chunk = marks(call, schedule, 1)
        assert step < MAX_STEPS and chunk < MAX_STEPS
    beyond = Send(0, 0, 65_536, region)
    for schedule in (Schedule((), 0, MAX_STEPS + 1), Schedule((beyond,), 0, 1)):
        with pytest.raises(ConfigError, match="65536 each can be numbered"):
            marks(call, schedule, 1)

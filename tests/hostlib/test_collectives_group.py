"""Groups of ranks over a network in memory: every collective and element type, in any order of arrival."""

from typing import Any

import csaud_testnet
import numpy as np
import pytest
from csaud import _core
from csaud.collectives import direct, gather, halving_doubling, registry
from csaud.collectives.engine import Engine
from csaud.collectives.executor import DIRECT, Collective, Execution
from csaud.collectives.reductions import REDUCED, REDUCTIONS
from csaud.collectives.reference import reference_sum
from csaud.collectives.schedule import Recv
from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.groups.job_state import JobState
from csaud.testing import assert_bit_equal
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostlib.group_ranks import LONGEST, dtype_of, everywhere, values
from tests.hostlib.memory_network import run_everywhere


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling"])
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("name", REDUCED)
def test_all_reduce_of_every_kind(op: str, name: str, algorithm: str) -> None:
    """The same bits on every rank; the exact value where the order does not matter, a near one otherwise."""
    dtype, size, count = dtype_of(name), 5, 201
    if name not in REDUCTIONS[op].dtypes:
        with pytest.raises(ConfigError, match=f"op='{op}' is not supported for"):
            everywhere(1, lambda g: g.all_reduce(np.zeros(3, dtype), op))
        return

    def mine(rank: int) -> np.ndarray:
        array = values(rank, count, dtype)
        near_one = op == "product" and array.dtype.kind not in "ib"  # or float16 overflows
        return (np.abs(array) % 1 + 0.5).astype(dtype) if near_one else array

    results = everywhere(size, lambda g: g.all_reduce(mine(g.rank), op, algorithm=algorithm))
    for rank, result in enumerate(results):
        assert result.dtype == np.dtype(dtype)
        assert_bit_equal(result, results[0], f"rank {rank}")
    inputs = [mine(rank) for rank in range(size)]
    combine = REDUCTIONS[op].combine
    expected = inputs[0]
    for other in inputs[1:]:
        expected = combine(expected, other)
    if op == "average":
        expected = expected / size
    if name.startswith(("float", "bfloat")) and op in ("sum", "product", "average"):
        wide = [one.astype(np.float64) for one in inputs]
        exact = np.prod(wide, axis=0) if op == "product" else np.sum(wide, axis=0)
        scale = np.abs(exact) if op == "product" else np.sum(np.abs(wide), axis=0)
        if op == "average":
            exact, scale = exact / size, scale / size
        bits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[name]
        assert (np.abs(results[0].astype(np.float64) - exact) <= size * 2.0**-bits * scale + 1e-6).all()
    else:
        assert_bit_equal(results[0], np.asarray(expected, dtype=dtype))


@settings(max_examples=30)
@given(
    size=st.integers(1, 9),
    count=st.integers(0, 70),
    longest=st.one_of(
        st.integers(1, 12), st.just(512 * 35)
    ),  # by halves; up to 105 elements are three packets
    seed=st.integers(0, 1 << 30),
)
def test_halving_doubling_has_the_same_bits_everywhere(
    size: int, count: int, longest: int, seed: int
) -> None:
    inputs = [values(rank, count, "float32", seed) for rank in range(size)]
    arrays = [one.copy() for one in inputs]
    schedules = [halving_doubling.all_reduce(rank, size, count, longest) for rank in range(size)]
    run_everywhere(schedules, arrays, REDUCTIONS["sum"], seed)
    for array in arrays:
        assert_bit_equal(array, halving_doubling.reference_sum(inputs))
    exact = np.sum([one.astype(np.float64) for one in inputs], axis=0)
    scale = np.sum([np.abs(one.astype(np.float64)) for one in inputs], axis=0)
    assert (np.abs(arrays[0] - exact) <= 1e-6 * scale + 1e-30).all()


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8, 16])
def test_halving_doubling_takes_two_logarithms_of_steps(size: int) -> None:
    power = 1 << (size.bit_length() - 1)
    steps = halving_doubling.all_reduce(0, size, 64, 100).steps
    assert steps == 2 * (power.bit_length() - 1) + (0 if power == size else 2)
    whole = halving_doubling.all_reduce(0, size, 64, 512 * 32).steps
    assert whole == power.bit_length() - 1 + (0 if power == size else 2)


def test_small_arrays_take_few_steps_and_large_ones_few_bytes() -> None:
    def both(group: Group) -> tuple[str, str]:
        return group._algorithm("", 128), group._algorithm("", 32_768)

    assert everywhere(4, both) == [("halving_doubling", "ring")] * 4
    assert everywhere(2, both, all_reduce="ring") == [("ring", "ring")] * 2


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("count", [0, 1, 7, 250])
def test_reduce_scatter_and_all_gather_make_an_all_reduce(size: int, count: int) -> None:
    def work(group: Group) -> Any:
        array = values(group.rank, count, "int64")
        kept = array.copy()
        mine = group.reduce_scatter(array)
        assert_bit_equal(array, kept)
        padded = np.zeros(-(-count // group.size) if count else 0, np.int64)
        padded[: mine.size] = mine
        return mine, group.all_gather(padded)

    expected = np.array_split(np.sum([values(rank, count, "int64") for rank in range(size)], axis=0), size)
    results = everywhere(size, work)
    for rank, (mine, gathered) in enumerate(results):
        assert_bit_equal(mine, expected[rank])
        for other, part in enumerate(expected):
            assert_bit_equal(gathered[other][: part.size], part)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_all_to_all(size: int) -> None:
    results = everywhere(
        size, lambda g: g.all_to_all(np.arange(size * 100).reshape(size, 100) + 100_000 * g.rank)
    )
    for rank, result in enumerate(results):
        for source in range(size):
            assert_bit_equal(result[source], np.arange(rank * 100, rank * 100 + 100) + 100_000 * source)


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_all_to_all_of_sizes_that_receivers_do_not_know(size: int) -> None:
    def part(src: int, dst: int) -> np.ndarray:
        return values(100 * src + dst, (src * 37 + dst * 11) % 90, "float32")

    results = everywhere(size, lambda g: g.all_to_all_v([part(g.rank, dst) for dst in range(size)]))
    for rank, result in enumerate(results):
        for src in range(size):
            assert_bit_equal(result[src], part(src, rank))


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8, 9])
@pytest.mark.parametrize("root", [0, 1, 5])
def test_broadcast(size: int, root: int) -> None:
    if root >= size:
        with pytest.raises(ConfigError, match=f"rank {root}"):
            everywhere(size, lambda g: g.broadcast(np.zeros(3), root))
        return
    results = everywhere(size, lambda g: g.broadcast(values(g.rank, 333, "float64"), root))
    for result in results:
        assert_bit_equal(result, values(root, 333, "float64"))


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("root", [0, 4])
def test_gather(size: int, root: int) -> None:
    root = min(root, size - 1)
    results = everywhere(size, lambda g: g.gather(values(g.rank, 333, "float64"), root))
    assert [result is None for result in results] == [rank != root for rank in range(size)]
    assert_bit_equal(results[root], np.array([values(rank, 333, "float64") for rank in range(size)]))


def test_gather_tells_both_ends_how_many_send() -> None:
    schedules = [gather.gather(rank, 5, 100, 30, root=2) for rank in range(5)]
    assert {op.fan_in for schedule in schedules for op in schedule.operations} == {4}
    assert sum(isinstance(op, Recv) for op in schedules[2].operations) == 4 * 4


def test_more_than_2_to_the_32_collectives_of_a_group() -> None:
    """The number on the wire begins again at 0."""

    def work(group: Group) -> list[int]:
        group._collectives = (1 << 32) - 2
        return [int(group.all_reduce(np.array([turn + group.rank]))[0]) for turn in range(4)]

    assert everywhere(3, work) == [[3 * turn + 3 for turn in range(4)]] * 3


def test_a_ring_of_more_steps_than_can_be_numbered_is_refused() -> None:
    with pytest.raises(ConfigError, match="a ring of 32770 ranks takes 65538 steps, and at most 65536 can"):
        registry.build("all_reduce.ring", 0, 32_770, 10, 10)
    assert registry.choose_all_reduce(4096, 40_000) == "halving_doubling"


def test_auto_takes_the_ring_as_long_as_its_steps_can_be_numbered() -> None:
    assert registry.choose_all_reduce(1 << 40, 32_769) == "ring"
    assert registry.choose_all_reduce(1 << 40, 32_770) == "halving_doubling"


def test_receives_are_posted_before_anything_is_sent() -> None:
    """What a send is answered with may come at once, and must find its receive."""
    for algorithm in ("ring", "halving_doubling"):
        schedule = registry.build(f"all_reduce.{algorithm}", 0, 4, 400, 50)
        collective = Collective(schedule, np.dtype(float), REDUCTIONS["sum"], ranks=range(4))
        run = Execution(collective, 0, np.zeros(400))
        executor = csaud_testnet.Executor(0)
        executor.start(run.native, 0)
        sends = [post.is_send for post in executor.take()]
        first_send = sends.index(True)
        assert first_send > 1 and all(sends[first_send:])
        assert first_send == sum(isinstance(op, Recv) for op in schedule.operations)


def test_receives_are_told_whether_a_schedule_waits_for_them() -> None:
    """Nobody is known to wait for what one rank sends another."""
    told = {}
    for comm, schedule in (
        (7, registry.build("broadcast.tree", 3, 4, 400, 50)),
        (7 | DIRECT, direct.receive(1, 400, 50)),
    ):
        collective = Collective(schedule, np.dtype(float), ranks=range(4), comm=comm)
        executor = csaud_testnet.Executor(3)
        executor.start(Execution(collective, 0, np.zeros(400)).native, 0)
        told[comm] = {post.hints.scheduled for post in executor.take() if not post.is_send}
    assert told == {7: {True}, 7 | DIRECT: {False}}


def test_what_collectives_return_holds_no_more_memory_than_it_shows() -> None:
    """And the room that reductions take is reused: ten calls keep, and register, what one does."""

    def work(group: Group) -> tuple[Any, int, int, int]:
        array = np.ones(10_000)
        first = group.reduce_scatter(array)
        group.all_reduce(array)
        kept, pinned = group._job.scratch.nbytes, group._job.transport.pinned
        for _ in range(10):
            group.reduce_scatter(array)
            group.all_reduce(array)
        return first.base, kept, group._job.scratch.nbytes, group._job.transport.pinned - pinned

    for base, kept, after, pinned in everywhere(4, work):
        assert pinned == 0
        assert base is None
        assert 0 < kept == after <= 4 * 131_072


def test_from_rank_to_rank_with_and_without_known_sizes() -> None:
    def work(group: Group) -> Any:
        if group.rank == 0:
            group.send(values(0, 500, "int32"), 1)
            group.send_sized(values(1, 77, "int64"), 1)
            return group.recv_sized(2, "float32")
        if group.rank == 1:
            first = group.recv(np.zeros(500, np.int32), 0)
            return first, group.recv_sized(0, "int64")
        group.send_sized(values(2, 0, "float32"), 0)
        return None

    zero, one, _ = everywhere(3, work)
    assert zero.size == 0
    assert_bit_equal(one[0], values(0, 500, "int32"))
    assert_bit_equal(one[1], values(1, 77, "int64"))


def test_messages_between_the_same_ranks_keep_their_order() -> None:
    def work(group: Group) -> Any:
        if group.rank == 0:
            handles = [group.send(np.full(10, i), 1, wait=False) for i in range(20)]
            return all(handle.wait(60) for handle in handles)
        return [int(group.recv(np.zeros(10, np.int64), 0)[0]) for _ in range(20)]

    assert everywhere(2, work) == [True, list(range(20))]


def test_a_rank_does_not_send_to_itself() -> None:
    with pytest.raises(ConfigError, match="itself"):
        everywhere(1, lambda g: g.send(np.zeros(1), 0))


def test_several_in_flight_and_waited_for_in_any_order() -> None:
    def work(group: Group) -> Any:
        arrays = [values(group.rank, 100 + i, "float32", seed=i) for i in range(12)]
        handles = [group.all_reduce(array, algorithm="ring", wait=False) for array in arrays]
        gathered, last = group.all_gather(np.array([group.rank]), wait=False)
        assert last.wait(60)
        assert gathered.reshape(-1).tolist() == list(range(group.size))
        for i in np.random.default_rng(group.rank).permutation(12):
            assert handles[i].wait(60)
            assert handles[i].done
        return arrays

    for results in everywhere(4, work):
        for i, array in enumerate(results):
            expected = reference_sum([values(rank, 100 + i, "float32", seed=i) for rank in range(4)], "ring")
            assert_bit_equal(array, expected)


@pytest.mark.parametrize("algorithm", ["auto", "ring", "halving_doubling"])
@pytest.mark.parametrize("count", [10, 5000])
def test_the_reference_has_the_bits_of_the_algorithm_that_is_taken(algorithm: str, count: int) -> None:
    inputs = [values(rank, count, "float32") for rank in range(3)]
    for result in everywhere(3, lambda g: g.all_reduce(inputs[g.rank].copy()), all_reduce=algorithm):
        assert_bit_equal(result, reference_sum(inputs, algorithm))
    assert not np.array_equal(reference_sum(inputs, "ring"), reference_sum(inputs, "halving_doubling"))


def test_groups_of_some_ranks_work_at_the_same_time() -> None:
    def work(group: Group) -> Any:
        color = -1 if group.rank == 6 else group.rank % 2
        part = group.split(color, key=-group.rank)
        if part is None:
            return None
        total = part.all_reduce(np.array([group.rank]))
        again = part.split(0, key=part.rank)
        assert again is not None
        gathered = again.all_gather(np.array([group.rank]))
        part.barrier()
        return part.ranks, part.rank, int(total[0]), gathered.reshape(-1).tolist()

    results = everywhere(7, work)
    assert results[6] is None
    evens, odds = (4, 2, 0), (5, 3, 1)
    for rank in range(6):
        ranks = odds if rank % 2 else evens
        assert results[rank] == (ranks, ranks.index(rank), sum(ranks), list(ranks))


def test_a_failure_reaches_all_that_wait() -> None:
    class Broken:
        def pin(self, memory: np.ndarray) -> object: ...

        def start(self, execution: _core.Execution) -> None:
            pass

        def wait(self, execution: _core.Execution, timeout: float) -> bool:
            raise ConfigError("broken")

    job = JobState(Broken(), LONGEST, None, "ring", lambda _: None, lambda: None)
    assert isinstance(job.engine, Engine)
    group = Group(job, 0, range(2), 0)
    handle = group.all_reduce(np.zeros(4), wait=False)
    for _ in range(2):
        with pytest.raises(ConfigError, match="broken"):
            handle.wait(60)


def test_a_wait_ends_with_its_time_and_one_without_a_limit_does_not() -> None:
    class Never:
        """Nothing ever ends on it, until its patience is over."""

        def __init__(self) -> None:
            self.waits: list[float] = []
            self.patience = 3

        def pin(self, memory: np.ndarray) -> object: ...

        def start(self, execution: _core.Execution) -> None:
            pass

        def wait(self, execution: _core.Execution, timeout: float) -> bool:
            self.waits.append(timeout)
            self.patience -= 1
            if self.patience == 0:
                raise ConfigError("out of patience")
            return False

    runner = Never()
    job = JobState(runner, LONGEST, None, "ring", lambda _: None, lambda: None)
    handle = Group(job, 0, range(2), 0).all_reduce(np.zeros(4), wait=False)
    assert handle.wait(0.0) is False
    assert runner.waits in ([], [0.0])
    runner.waits.clear()
    with pytest.raises(ConfigError, match="out of patience"):
        handle.wait()
    assert runner.waits and min(runner.waits) >= 60, "it looks up now and then, not all the time"


def _strided(array: np.ndarray) -> np.ndarray:
    room = np.zeros(2 * array.size, array.dtype)
    room[::2] = array
    return room[::2]


AVERAGES = {
    "all_reduce": lambda g, a: g.all_reduce(a, "average"),
    "all_reduce, strided": lambda g, a: g.all_reduce(_strided(a), "average"),
    "all_reduce, out": lambda g, a: g.all_reduce(a, "average", out=np.empty_like(a)),
    "reduce": lambda g, a: g.reduce(a, "average", root=1),
    "reduce_scatter": lambda g, a: g.reduce_scatter(a, "average"),
    "sparse_all_reduce": lambda g, a: g.sparse_all_reduce(a, np.ones(a.shape, bool), "average"),
    "sparse_reduce_scatter": lambda g, a: g.sparse_reduce_scatter(a, np.ones(a.shape, bool), "average"),
}


@pytest.mark.parametrize("call", AVERAGES)
def test_an_average_of_float16_is_there_though_the_sum_is_more_than_float16_has(call):
    values = np.array([30_000, 65_504, 2.0**-24, -1.5] * 5, np.float16)  # its largest and smallest, too
    results = everywhere(4, lambda g: AVERAGES[call](g, values.copy()))
    parts = np.array_split(values, 4) if "scatter" in call else [values] * 4
    for rank, (result, expected) in enumerate(zip(results, parts, strict=True)):
        if call == "reduce" and rank != 1:
            assert result is None
            continue
        assert result.dtype == np.float16
        assert_bit_equal(result, expected, f"rank {rank}")

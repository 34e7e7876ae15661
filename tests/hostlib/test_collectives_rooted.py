"""Reduce, gather and scatter, and the collectives of parts of any lengths."""

from typing import Any

import numpy as np
import pytest
from csaud.collectives import ring, scatter, tree_reduce
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.reference import reference_sum
from csaud.collectives.schedule import Send
from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.testing import assert_bit_equal

from tests.hostlib.group_ranks import everywhere, values

SIZES = [1, 2, 3, 5, 8]


@pytest.mark.parametrize("algorithm", ["ring", "tree", "auto"])
@pytest.mark.parametrize("size", [*SIZES, 7])
def test_reduce_gives_the_root_the_bits_of_an_all_reduce(size: int, algorithm: str) -> None:
    """Whichever rank is the root, in a new array or in place; the arrays of the others keep their values."""
    inputs = [values(rank, 333, "float32") for rank in range(size)]
    asked = {"tree": "halving_doubling"}.get(algorithm, algorithm)
    expected = reference_sum(inputs, asked)

    def work(group: Group) -> Any:
        results = []
        for root in range(size):
            mine = inputs[group.rank].copy()
            results.append(group.reduce(mine, root=root, algorithm=algorithm))
            assert_bit_equal(mine, inputs[group.rank])
        mine = inputs[group.rank].copy()
        at_last = group.reduce(mine, root=size - 1, algorithm=algorithm, out=mine)
        assert (at_last is mine) == (group.rank == size - 1)
        return [*results, at_last]

    for rank, results in enumerate(everywhere(size, work)):
        for root, found in enumerate([*results[:-1]]):
            if rank == root:
                assert_bit_equal(found, expected, f"root {root} of {size}")
            else:
                assert found is None
        if rank == size - 1:
            assert_bit_equal(results[-1], expected, "in place")


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduce_of_every_op(op: str) -> None:
    dtype = "float64" if op == "average" else "int64"
    inputs = [values(rank, 40, dtype) % 7 + 1 for rank in range(3)]
    expected = inputs[0]
    for other in inputs[1:]:
        expected = REDUCTIONS[op].combine(expected, other)
    found = everywhere(3, lambda g: g.reduce(inputs[g.rank], op, 1))
    np.testing.assert_allclose(found[1], expected / 3 if op == "average" else expected)


@pytest.mark.parametrize("size", range(1, 18))
def test_a_tree_takes_a_logarithm_of_steps_and_each_rank_sends_once(size: int) -> None:
    for root in {0, size // 2, size - 1}:
        schedules = [tree_reduce.reduce(rank, size, 10, 4, root) for rank in range(size)]
        sends = [sum(isinstance(op, Send) for op in schedule.operations) for schedule in schedules]
        assert sends == [0 if rank == root else 3 for rank in range(size)]
        assert schedules[0].steps == (size - 1).bit_length()


def test_a_ring_reduce_sends_little_more_than_once_what_a_rank_has() -> None:
    for rank in range(4):
        sent = [op for op in ring.reduce(rank, 4, 400, 50, 2).operations if isinstance(op, Send)]
        assert sum(op.region.count for op in sent) == (300 if rank == 2 else 400)


@pytest.mark.parametrize("size", SIZES)
def test_scatter_and_gather_are_each_others_reverse(size: int) -> None:
    root = size // 2
    whole = values(0, size * 333, "float64").reshape(size, 3, 111)

    def work(group: Group) -> Any:
        block = np.empty((3, 111)) if group.rank != root or size % 2 else None
        mine = group.scatter(whole if group.rank == root else None, root, out=block)
        assert_bit_equal(mine, whole[group.rank])
        out = np.empty_like(whole) if group.rank == root and size % 2 else None
        return group.gather(mine, root, out=out)

    results = everywhere(size, work)
    assert_bit_equal(results[root], whole)
    assert [result is None for result in results] == [rank != root for rank in range(size)]


def test_a_scatter_sends_to_all_in_turn() -> None:
    schedule = scatter.scatter_v(1, 4, [100, 0, 250, 90], 100, root=1)
    assert [(op.dst, op.chunk) for op in schedule.operations if isinstance(op, Send)] == [
        (2, 0), (3, 0), (0, 0), (2, 1), (2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("known", [True, False])
def test_parts_of_any_lengths(size: int, known: bool) -> None:
    """Of which some are empty; lengths that all ranks know, and lengths that they tell each other."""
    counts = [(rank * 97 + 61) % 200 if rank % 3 != 1 else 0 for rank in range(size)]
    parts = [values(rank, count, "int32") for rank, count in enumerate(counts)]
    told = counts if known else None
    root = size - 1

    def work(group: Group) -> Any:
        mine = parts[group.rank]
        for rank, part in enumerate(group.all_gather_v(mine, told)):
            assert_bit_equal(part, parts[rank], "all_gather_v")
        gathered = group.gather_v(mine, told, root)
        assert (gathered is None) == (group.rank != root)
        for rank, part in enumerate(gathered or []):
            assert_bit_equal(part, parts[rank], "gather_v")
        whole = np.concatenate(parts)
        out = np.empty(counts[group.rank], np.int32)
        scattered = group.scatter_v(whole if group.rank == root else None, counts, root, out=out)
        assert scattered is out
        assert_bit_equal(out, mine, "scatter_v")
        summed = group.reduce_scatter_v(whole + group.rank, counts)
        assert_bit_equal(summed, mine * size + sum(range(size)), "reduce_scatter_v")

    everywhere(size, work)


def test_all_to_all_of_one_array_with_known_lengths() -> None:
    def count(src: int, dst: int) -> int:
        return (src * 37 + dst * 11) % 90

    def work(group: Group) -> Any:
        sent = [count(group.rank, dst) for dst in range(4)]
        received = [count(src, group.rank) for src in range(4)]
        source = np.repeat(np.arange(4) + 10 * group.rank, sent)
        out = np.empty(sum(received), source.dtype)
        handle = group.all_to_all_v(source, sent, received, out=out, wait=False)
        assert handle.wait(60) and handle.result is out
        return out, np.repeat(10 * np.arange(4) + group.rank, received)

    for found, expected in everywhere(4, work):
        assert_bit_equal(found, expected)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda g: g.all_gather_v(np.zeros(3), [2]), "counts say 2 elements of rank 0, its array has 3"),
        (lambda g: g.gather_v(np.zeros(3), [3, 3]), r"gather_v: counts \[3, 3\], expected 1 numbers"),
        (lambda g: g.scatter_v(np.zeros(3), [-3]), r"scatter_v: counts \[-3\], expected 1"),
        (lambda g: g.scatter_v(np.zeros(3), [4]), "counts make 4 elements, and the array has 3"),
        (lambda g: g.reduce_scatter_v(np.zeros(3), [4]), "counts make 4 elements, and the array has 3"),
        (lambda g: g.all_to_all_v(np.zeros(3), [2]), "sent makes 2 elements, and the array has 3"),
        (lambda g: g.all_to_all_v(np.zeros(3), [3], [2]), "rank 0 sends itself 3 elements and receives 2"),
        (lambda g: g.scatter(np.zeros(3)), r"scatter: shape \(3,\), expected \(1, ...\)"),
        (lambda g: g.scatter(), "rank 0 is the root and gives no array"),
        (lambda g: g.reduce(np.zeros(3), out=np.zeros(2)), "out has 2 x float64, expected 3 x float64"),
        (lambda g: g.reduce(np.zeros(3), root=1), "rank 1: expected 0 to 0"),
        (lambda g: g.reduce(np.zeros(3), algorithm="star"), "there is no collective 'reduce.star'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_sent(call: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        everywhere(1, call)


def test_who_only_receives_of_a_scatter_needs_out() -> None:
    def work(group: Group) -> Any:
        if group.rank == 0:
            return None
        with pytest.raises(ConfigError, match="out is needed at every rank but the root"):
            group.scatter(None, 0)
        with pytest.raises(ConfigError, match="out has 4 elements, counts say 3"):
            group.scatter_v(None, [2, 3], 0, out=np.zeros(4))
        return None

    everywhere(2, work)


def test_what_a_rank_gives_without_a_result_of_its_own_is_counted() -> None:
    def work(group: Group) -> list[int]:
        group.reduce(np.ones(10), root=1)
        group.gather(np.ones(10), root=1)
        return [of.nbytes for of in group.collective_stats().values()]

    assert everywhere(2, work) == [[80, 80], [80, 160]]

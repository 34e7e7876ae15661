"""Arguments of collectives that are nearly right: taken for what they are, or refused at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.groups.words import counts_in_words

from tests.hostlib.group_ranks import everywhere


def test_roots_and_members_may_be_numbers_of_numpy() -> None:
    def work(group: Group) -> Any:
        root = np.array([3, 1, 2]).argmin()
        given = np.full(5, float(group.rank))
        group.broadcast(given, root=root)
        both = group.new_group(np.arange(2)) if group.rank < 2 else None
        return given.tolist(), group.gather(np.zeros(1), root=root) is not None, both is not None

    found = everywhere(3, work)
    assert found == [([1.0] * 5, rank == 1, rank < 2) for rank in range(3)]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda g: g.all_to_all(np.zeros(3)), "all_to_all: shape (3,), expected (2, ...)"),
        (lambda g: g.all_to_all(np.zeros(())), "all_to_all: shape (), expected (2, ...)"),
        (lambda g: g.all_to_all_v([np.zeros(1)]), "all_to_all_v: 1 parts for 2 ranks"),
        (lambda g: g.all_to_all_v([np.zeros(1)] * 3), "all_to_all_v: 3 parts for 2 ranks"),
        (lambda g: g.all_to_all_v(np.zeros(1) for _ in range(3)), "all_to_all_v: 3 parts for 2 ranks"),
        (lambda g: g.all_to_all_v(3), "all_to_all_v: parts=3: expected an array for each rank"),
        (
            lambda g: g.all_to_all_v([np.zeros(1), np.zeros((1, 1))]),
            "all_to_all_v: the parts are one-dimensional and of one dtype",
        ),
        (
            lambda g: g.all_to_all_v([np.zeros(1), np.zeros(1, np.int8)]),
            "all_to_all_v: the parts are one-dimensional and of one dtype",
        ),
    ],
)
def test_parts_that_cannot_be_exchanged_are_named_before_anything_is_sent(call: Any, why: str) -> None:
    def work(group: Group) -> Any:
        with pytest.raises(ConfigError) as raised:
            call(group)
        assert str(raised.value) == why
        return [part.tolist() for part in group.all_to_all_v([np.full(1, group.rank), np.zeros(0, int)])]

    assert everywhere(2, work) == [[[0], [1]], [[], []]]


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda g, a: g.all_to_all(a.reshape(2, 2), out=a), "all_to_all"),
        (lambda g, a: g.all_to_all_v(a, [2, 2], [2, 2], out=a), "all_to_all_v"),
        (lambda g, a: g.all_gather(a[1:3], out=a), "all_gather"),
        (lambda g, a: g.all_gather_v(a[1:3], [2, 2], out=a), "all_gather_v"),
        (lambda g, a: g.reduce_scatter(a, out=a[1:3]), "reduce_scatter"),
        (lambda g, a: g.reduce(a[:2], out=a[1:3]), "reduce"),
        (lambda g, a: g.gather(a[1:3], out=a), "gather"),
        (lambda g, a: g.scatter(a.reshape(2, 2), out=a[1:3]), "scatter"),
    ],
)
def test_a_result_over_what_is_still_to_be_sent_is_refused_before_it_overwrites_it(
    call: Any, where: str
) -> None:
    def work(group: Group) -> Any:
        array = np.arange(4.0)
        if group.rank == 0 or where not in ("reduce", "gather", "scatter"):  # the root's matter alone
            with pytest.raises(ConfigError, match=f"^{where}: out overlaps the array: they must lie apart"):
                call(group, array)
        assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
        return group.all_reduce(array)[3]

    assert everywhere(2, work) == [6.0, 6.0]


def test_a_result_may_be_where_this_rank_s_own_part_is_and_strides_are_copied() -> None:
    def work(group: Group) -> Any:
        rank, array = group.rank, np.arange(4.0)
        own = array[2 * rank : 2 * rank + 2]
        group.all_gather(own, out=array)
        group.reduce_scatter(array, out=own)
        group.gather(own, out=array if rank == 0 else None)
        group.scatter(array.reshape(2, 2) if rank == 0 else None, out=own)
        group.reduce(array, out=array)
        pairs = array.reshape(2, 2)
        group.all_to_all(pairs.T, out=pairs.T)
        return array.tolist()

    assert everywhere(2, work) == [[0.0, 0.0, 8.0, 4.0], [3.0, 1.0, 12.0, 6.0]]


def test_long_lists_of_lengths_are_cut_and_told_apart() -> None:
    short, one, other = ([1000] * 8, [1000] * 9, [1000] * 8 + [1001])
    assert counts_in_words(short) == "counts " + ",".join(["1000"] * 8)
    words = [counts_in_words(counts) for counts in (one, other)]
    assert words[0] != words[1] and all(len(text) <= len("counts ") + 40 for text in words)
    assert all(text.startswith("counts 1000,1000,") for text in words)


@pytest.mark.parametrize("root", [0.0, None, "0", -1, 2])
def test_what_is_no_rank_is_refused_by_name(root: Any) -> None:
    def work(group: Group) -> None:
        with pytest.raises(ConfigError, match=f"rank {root}: expected 0 to 1"):
            group.broadcast(np.zeros(3), root=root)

    everywhere(2, work)


@pytest.mark.parametrize("color", [1.5, None, 1 << 70])
def test_a_color_that_cannot_be_is_refused_before_others_wait_for_it(color: Any) -> None:
    def work(group: Group) -> int:
        with pytest.raises(ConfigError, match=r"split: color .*: expected an integer"):
            group.split(color)
        part = group.split(np.int64(group.rank % 2))
        assert part is not None
        return part.size

    assert everywhere(4, work) == [2, 2, 2, 2]


@pytest.mark.parametrize("counts", [[2.5, 2.5], ["2", "3"], 5, [5], [6, -1], np.array([2.0, 3.0])])
def test_lengths_that_cannot_be_are_refused_before_anything_is_sent(counts: Any) -> None:
    """Among them fractions: none is rounded."""

    def work(group: Group) -> Any:
        expected = pytest.raises(ConfigError, match=r"reduce_scatter_v: counts .*, expected 2 numbers of")
        with expected:
            group.reduce_scatter_v(np.ones(5), counts)
        return group.reduce_scatter_v(np.ones(5), np.array([2, 3])).tolist()

    assert everywhere(2, work) == [[2.0] * 2, [2.0] * 3]


@pytest.mark.parametrize("timeout", ["1", timedelta(seconds=1), [1]])
def test_a_limit_that_is_no_number_is_named(timeout: Any) -> None:
    def work(group: Group) -> None:
        with pytest.raises(ConfigError, match=r"timeout=.*: expected seconds"):
            group.barrier(timeout=timeout)

    everywhere(2, work)


def test_members_that_are_no_list_are_named() -> None:
    def work(group: Group) -> None:
        with pytest.raises(ConfigError, match="new_group: ranks 2: expected a sequence"):
            group.new_group(2)  # type: ignore[arg-type]

    everywhere(2, work)


def test_masked_arrays_are_refused_and_other_subclasses_taken() -> None:
    class Named(np.ndarray):
        pass

    def work(group: Group) -> Any:
        with pytest.raises(ConfigError, match="a masked array"):
            group.all_reduce(np.ma.masked_array(np.ones(4), mask=[0, 1, 0, 0]))
        given = np.ones(4).view(Named)
        group.all_reduce(given)
        return given.tolist()

    assert everywhere(2, work) == [[2.0] * 4] * 2

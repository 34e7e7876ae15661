"""All-reduce inside hosts first: its bits, what leaves a host, and which groups have it."""

import numpy as np
import pytest
from csaud.collectives import hierarchical, ring
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.reference import reference_sum
from csaud.collectives.schedule import Recv, Send
from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.rendezvous.table import Card, Table
from csaud.start.sharing import hosts_of
from csaud.testing import assert_bit_equal
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostlib.group_ranks import everywhere, values
from tests.hostlib.memory_network import run_everywhere

TWO_BY_TWO = ((0, 3), (1, 2))


@settings(max_examples=60)
@given(
    shape=st.sampled_from([(1, 1), (1, 4), (4, 1), (2, 2), (2, 3), (3, 2), (4, 2)]),
    count=st.integers(0, 90),
    longest=st.integers(1, 12),
    seed=st.integers(0, 1 << 30),
)
def test_the_same_bits_everywhere_in_any_order_of_arrival(shape, count, longest, seed):
    many, local = shape
    size = many * local
    order = np.random.default_rng(seed).permutation(size).reshape(many, local)
    hosts = tuple(tuple(sorted(map(int, members))) for members in order)
    inputs = [values(rank, count, "float32", seed) for rank in range(size)]
    arrays = [one.copy() for one in inputs]
    schedules = [hierarchical.all_reduce(rank, size, count, longest, hosts) for rank in range(size)]
    run_everywhere(schedules, arrays, REDUCTIONS["sum"], seed)
    for rank, array in enumerate(arrays):
        assert_bit_equal(array, reference_sum(inputs, "hierarchical", hosts), f"rank {rank}")
    exact = np.sum([one.astype(np.float64) for one in inputs], axis=0)
    scale = np.sum([np.abs(one.astype(np.float64)) for one in inputs], axis=0)
    assert (np.abs(arrays[0] - exact) <= 1e-6 * scale + 1e-30).all()


def test_every_message_that_is_sent_is_expected_and_no_other():
    hosts = ((0, 1, 5), (2, 3, 4))
    ends = {Send: {}, Recv: {}}
    for rank in range(6):
        for op in hierarchical.all_reduce(rank, 6, 100, 7, hosts).operations:
            if isinstance(op, Send | Recv):
                pair = (rank, op.dst) if isinstance(op, Send) else (op.src, rank)
                name = (*pair, op.step, op.chunk)
                assert name not in ends[type(op)]
                ends[type(op)][name] = op.region.count
    assert ends[Send] == ends[Recv]


def leaving(schedules, hosts):
    """(elements that leave the first host, steps in which some go between hosts)."""
    host_of = {rank: host for host, members in enumerate(hosts) for rank in members}
    between = [
        (rank, op)
        for rank, schedule in enumerate(schedules)
        for op in schedule.operations
        if isinstance(op, Send) and host_of[rank] != host_of[op.dst]
    ]
    elements = sum(op.region.count for rank, op in between if host_of[rank] == 0)
    return elements, len({op.step for _, op in between})


@pytest.mark.parametrize("numbered", ["in a row", "in turn"])
def test_little_leaves_a_host_in_few_steps_whatever_the_ranks_numbers(numbered):
    rows = np.arange(12).reshape(4, 3) if numbered == "in a row" else np.arange(12).reshape(3, 4).T
    hosts = tuple(tuple(map(int, row)) for row in rows)
    ours = [hierarchical.all_reduce(rank, 12, 1200, 100, hosts) for rank in range(12)]
    assert leaving(ours, hosts) == (1200 * 2 * 3 // 4, 2 * 3)
    whole = leaving([ring.all_reduce(rank, 12, 1200, 100) for rank in range(12)], hosts)
    assert whole == ((2200, 22) if numbered == "in a row" else (3 * 2200, 22))


def test_it_is_taken_where_it_is_asked_for():
    inputs = [values(rank, 300, "float32") for rank in range(4)]
    expected = reference_sum(inputs, "hierarchical", TWO_BY_TWO)
    assert not np.array_equal(expected, reference_sum(inputs))

    def by_argument(group: Group) -> np.ndarray:
        return group.all_reduce(inputs[group.rank].copy(), algorithm="hierarchical")

    def by_setting(group: Group) -> np.ndarray:
        return group.all_reduce(inputs[group.rank].copy())

    def under_a_mask(group: Group) -> np.ndarray:
        array = inputs[group.rank].copy()
        group.sparse_all_reduce(array, np.ones(300, bool), algorithm="hierarchical")
        return array

    for work, setting in ((by_argument, "auto"), (by_setting, "hierarchical"), (under_a_mask, "auto")):
        for result in everywhere(4, work, all_reduce=setting, hosts=(7, 8, 8, 7)):
            assert_bit_equal(result, expected)
    reduced = everywhere(
        4, lambda group: group.reduce(inputs[group.rank]), all_reduce="hierarchical", hosts=(7, 8, 8, 7)
    )
    assert_bit_equal(reduced[0], reference_sum(inputs))


def test_a_group_whose_hosts_have_unlike_numbers_of_ranks_is_refused_or_goes_by_its_size():
    inputs = [values(rank, 300, "float32") for rank in range(3)]

    def by_argument(group: Group) -> str:
        with pytest.raises(ConfigError) as error:
            group.all_reduce(inputs[group.rank], algorithm="hierarchical")
        return str(error.value)

    said = everywhere(3, by_argument, hosts=(0, 0, 2))
    assert set(said) == {
        "all_reduce: algorithm 'hierarchical' wants as many ranks on each host, and there are 2, 1"
    }

    def by_setting(group: Group) -> np.ndarray:
        return group.all_reduce(inputs[group.rank].copy())

    summed = everywhere(3, by_setting, all_reduce="hierarchical", hosts=(0, 0, 2))
    assert_bit_equal(summed[2], reference_sum(inputs))


def test_ranks_share_a_host_where_they_say_the_same_of_its_memory():
    memories = ["a", "b", "", "a", "", "b"]
    cards = tuple(
        Card(rank, "10.0.0.1", 1, 1024, "udp", memory=memory) for rank, memory in enumerate(memories)
    )
    assert hosts_of(Table(cards, 1, 1, 1024)) == [0, 1, 2, 0, 4, 1]

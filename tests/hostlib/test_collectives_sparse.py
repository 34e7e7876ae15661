"""Collectives of the elements under a mask."""

from typing import Any

import numpy as np
import pytest
from csaud.collectives.reference import reference_sum
from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.testing import assert_bit_equal

from tests.fabric.virtual import VirtualRun, intent
from tests.hostlib.group_ranks import dtype_of, everywhere, values

COUNT = 1_234


def some(density: float, count: int = COUNT, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).random(count) < density


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("density", [0, 0.1, 1])
def test_a_sparse_sum_has_the_bits_of_a_sum_of_what_the_mask_leaves(
    size: int, density: float, algorithm: str
) -> None:
    """Whole, or by reduce-scatter and all-gather; what lies outside the mask stays as it was."""
    inputs = [values(rank, COUNT, "float32") for rank in range(size)]
    mask = some(density)
    expected = reference_sum([one[mask] for one in inputs], algorithm)
    parts = np.array_split(mask, size)

    def work(group: Group) -> Any:
        mine = inputs[group.rank].copy()
        assert group.sparse_all_reduce(mine, mask, algorithm=algorithm) is mine
        shards = inputs[group.rank].copy()
        own = group.sparse_reduce_scatter(shards, mask)
        assert_bit_equal(shards, inputs[group.rank])
        np.array_split(shards, size)[group.rank][parts[group.rank]] = own
        assert group.sparse_all_gather(shards, mask) is shards
        return mine, shards

    for rank, (mine, shards) in enumerate(everywhere(size, work)):
        for found in (mine, shards):
            assert_bit_equal(found[~mask], inputs[rank][~mask], "outside the mask")
        assert_bit_equal(mine[mask], expected)
        np.testing.assert_allclose(shards[mask], expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("op", ["max", "average"])
@pytest.mark.parametrize("name", ["float64", "bfloat16"])
def test_operations_types_and_shapes(op: str, name: str) -> None:
    inputs = [values(rank, 600, dtype_of(name)).reshape(20, 30) for rank in range(2)]
    mask = some(0.3, 600).reshape(20, 30)

    def work(group: Group) -> Any:
        whole, sparse = (inputs[group.rank].copy() for _ in range(2))
        group.all_reduce(whole, op)
        view = sparse[:, ::2]
        assert group.sparse_all_reduce(view, mask[:, ::2], op, wait=False).wait(60)
        part = np.empty(np.array_split(mask.reshape(-1), 2)[group.rank].sum(), dtype_of(name))
        assert group.sparse_reduce_scatter(inputs[group.rank], mask, op, out=part) is part
        return whole, sparse, part

    parts = []
    for rank, (whole, sparse, part) in enumerate(everywhere(2, work)):
        expected = inputs[rank].copy()
        expected[:, ::2][mask[:, ::2]] = whole[:, ::2][mask[:, ::2]]
        assert_bit_equal(sparse, expected)
        parts.append(part)
    assert_bit_equal(np.concatenate(parts), whole[mask])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_each_rank_chooses_its_part_of_a_mask(size: int) -> None:
    expected = some(0.2, 101)

    def work(group: Group) -> Any:
        mask = np.array_split(expected, size)
        mask = np.concatenate([part if rank == group.rank else ~part for rank, part in enumerate(mask)])
        assert group.all_gather_mask(mask) is mask
        return mask

    for mask in everywhere(size, work):
        assert mask.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (
            lambda g: g.sparse_all_reduce(np.zeros(3), np.ones(4, bool)),
            r"shape \(4,\) of bool, expected \(3,",
        ),
        (
            lambda g: g.sparse_all_gather(np.zeros(3), np.ones(3)),
            r"\(3,\) of float64, expected \(3,\) of bool",
        ),
        (lambda g: g.sparse_reduce_scatter(np.zeros(3), np.ones(3, bool), out=np.zeros(2)), "out has 2 x"),
        (lambda g: g.sparse_all_reduce(np.zeros(3), np.ones(3, bool), "mean"), "op='mean'"),
        (lambda g: g.all_gather_mask(np.zeros(3)), "expected an array of bool, got float64"),
    ],
)
def test_what_is_no_mask_is_named(call: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        everywhere(1, call)


RETRANSMISSIONS = ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")


@pytest.mark.parametrize("lost", [1, 4])
def test_exact_where_masks_are_lost_or_values(lost: int) -> None:
    """Eight ranks; of packets of one class of criticality 20 % are lost: of masks alone, or of bulk data."""
    count = 40_000
    run = VirtualRun(intent("random", 0, "trim", seed=11))
    inputs = [values(rank, count, "float32") for rank in range(8)]
    mask = some(0.1, count)
    for seat in run.job.network.seats:
        at = run.job.network.inventory.attachment(seat.host)
        run.job.network.impair(at.node, at.port, loss=0.2, kinds=2, classes=1 << lost, seed=3)
    masks, results = [np.zeros(count, bool) for _ in range(8)], [one.copy() for one in inputs]
    parts = [slice(5_000 * rank, 5_000 * (rank + 1)) for rank in range(8)]

    def agree(comm: Any) -> None:
        masks[comm.rank][parts[comm.rank]] = mask[parts[comm.rank]]
        comm.all_gather_mask(masks[comm.rank])

    def add(comm: Any) -> None:
        comm.sparse_all_reduce(results[comm.rank], masks[comm.rank], algorithm="ring")

    def again() -> int:
        return sum(run.job.total(name) for name in RETRANSMISSIONS)

    run.job.run(agree)
    of_masks = again()
    run.job.run(add)
    of_values = again() - of_masks
    assert (of_masks > 0, of_values > 0) == (lost == 1, lost == 4)
    expected = reference_sum([one[mask] for one in inputs], "ring")
    for rank in range(8):
        assert masks[rank].tolist() == mask.tolist()
        assert_bit_equal(results[rank][mask], expected, f"rank {rank}")
        assert_bit_equal(results[rank][~mask], inputs[rank][~mask], f"rank {rank}")

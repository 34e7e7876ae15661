"""Schedules over links that lose and reorder packets: what arrives is what was sent."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from csaud.collectives import gather, ring, scatter, tree_reduce
from csaud.collectives.executor import Collective, Execution
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.reference import reference_sum
from csaud.collectives.schedule import Schedule
from csaud.testing import assert_bit_equal
from csaud_controller.inventory import leaf_spine

from tests.hostlib.group_ranks import values
from tests.sim.worlds import SECOND, World

COUNT = 3_000  # float32, of which 16 are a packet
LONGEST = 500
Arrays = list[np.ndarray]


def over_lossy_links(
    schedules: Sequence[Schedule], sources: Arrays, data: Arrays, seed: int, reduces: bool = False
) -> None:
    """Run one collective; packets of it are lost."""
    size = len(schedules)
    world = World(leaf_spine(size, 2, 1), settings={"path_mtu": 32 + 64}, ledger=True)
    for switch, port in world.places.values():
        world.simulation.impair(switch, port, loss=0.1, jitter_ns=2_000, seed=seed)
    runs = []
    for rank, schedule in enumerate(schedules):
        reduction = REDUCTIONS["sum"] if reduces else None
        collective = Collective(schedule, np.dtype(np.float32), reduction, ranks=range(size))
        runs.append(Execution(collective, 7, data[rank], source=sources[rank]))
        world.simulation.start(rank, runs[-1].native)
    assert world.simulation.run(60 * SECOND), "it hangs"
    assert all(run.ended for run in runs)
    assert world.simulation.figures()["link_lost"] > 0


def inputs(size: int, count: int = COUNT) -> Arrays:
    return [values(rank, count, "float32") for rank in range(size)]


def nothing(size: int) -> Arrays:
    return [np.empty(0, np.float32) for _ in range(size)]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("reduce", "bits"), [(ring.reduce, "ring"), (tree_reduce.reduce, "halving_doubling")]
)
def test_a_reduction_to_one_rank(reduce: Callable[..., Schedule], bits: str, seed: int) -> None:
    size, root = 5, 3
    sources, data = inputs(size), nothing(size)
    data[root] = sources[root]  # in place
    expected = reference_sum(inputs(size), bits)
    over_lossy_links(
        [reduce(rank, size, COUNT, LONGEST, root) for rank in range(size)], sources, data, seed, True
    )
    assert_bit_equal(data[root], expected)


@pytest.mark.parametrize("seed", [1, 2])
def test_parts_of_any_lengths(seed: int) -> None:
    counts = (2_000, 0, 1, 450)
    size, root = len(counts), 2
    whole = values(0, sum(counts), "float32")
    parts = np.split(whole, np.cumsum(counts)[:-1])
    schedules = [scatter.scatter_v(rank, size, counts, LONGEST, root) for rank in range(size)]
    sources, data = nothing(size), [np.zeros(count, np.float32) for count in counts]
    sources[root] = whole
    over_lossy_links(schedules, sources, data, seed)
    for rank in set(range(size)) - {root}:
        assert_bit_equal(data[rank], parts[rank], f"scatter, rank {rank}")
    schedules = [gather.gather_v(rank, size, counts, LONGEST, root) for rank in range(size)]
    data = nothing(size)
    data[root] = np.zeros_like(whole)
    data[root][counts[0] : counts[0] + counts[1] + counts[2]] = np.concatenate(parts[1:3])
    over_lossy_links(schedules, parts, data, seed)
    assert_bit_equal(data[root], whole, "gather")
    schedules = [ring.reduce_scatter_v(rank, size, counts, LONGEST) for rank in range(size)]
    data = [np.zeros(count, np.float32) for count in counts]
    over_lossy_links(schedules, [whole] * size, data, seed, True)
    for rank in range(size):
        np.testing.assert_allclose(data[rank], size * parts[rank], rtol=1e-5)

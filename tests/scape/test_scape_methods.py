"""Methods of training with sparse averages: in one process, over groups, and over a fabric that loses."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from csaud.errors import ConfigError, MismatchError, PeerUnreachable
from csaud.groups.group import Group
from csaud.scape.baselines import ByGradients, Chance, Dense, EightBits, Momenta, TopK
from csaud.scape.exchange import Ask, Traffic, lockstep, over
from csaud.scape.local import Local, Sparsity
from csaud.scape.rules import AdamS, AdamW, Rates
from csaud.testing import assert_bit_equal

from tests.fabric.virtual import VirtualRun, intent
from tests.hostlib.group_ranks import everywhere
from tests.recover.jobs import Workers

pytest.importorskip("ml_dtypes")

COUNT, STEPS, SIZE = 1_501, 6, 3
RATES = Rates(weight_decay=0.1)
Make = Callable[[np.ndarray, int, int], Any]


def by_gradients(mean: Callable[[int, int], Any], rule: Any = AdamS) -> Make:
    return lambda weights, rank, size: ByGradients(weights, rule(weights.size, RATES), mean(rank, size))


def local(**named: Any) -> Make:
    return lambda weights, rank, size: Local(weights, rank, size, Sparsity(**named), RATES)


METHODS: dict[str, Make] = {
    "AdamS": by_gradients(lambda rank, size: Dense()),
    "AdamW": by_gradients(lambda rank, size: Dense(), AdamW),
    "top-k": by_gradients(lambda rank, size: TopK(COUNT, 0.1)),
    "chance": by_gradients(lambda rank, size: Chance(COUNT, rank, size, 0.1)),
    "8 bits": by_gradients(lambda rank, size: EightBits(COUNT, rank, size)),
    "momenta": lambda weights, rank, size: Momenta(weights, rank, size, 0.1, RATES),
    "scape": local(),
    "scape at 99 %": local(density=0.01),
    "same step": local(late=False, statistic="gradient"),
    "refreshed": local(refresh=4, statistic="momentum", values="float32"),
    "by chance": local(statistic="chance", synchronised=False),
}


def start(count: int = COUNT) -> np.ndarray:
    return np.random.default_rng(1).normal(size=count).astype(np.float32)


def gradient(weights: np.ndarray, rank: int, step: int) -> np.ndarray:
    """Of |weights|^2 / 2, by samples that are a rank's own."""
    noise = np.random.default_rng([step, rank]).normal(size=weights.size)
    return (weights + noise).astype(np.float32)


def trained_in_one_process(
    make: Make, size: int, *, steps: int = STEPS, count: int = COUNT, together: bool = True
) -> tuple[list[Any], Traffic]:
    ranks = [make(start(count), rank, size) for rank in range(size)]
    traffic = Traffic()
    for step in range(steps):
        gradients = [gradient(each.weights, rank, step) for rank, each in enumerate(ranks)]
        lockstep([each.step(own, 0.01) for each, own in zip(ranks, gradients, strict=True)], traffic)
    if together:
        lockstep([each.together() for each in ranks])
    return ranks, traffic


@pytest.mark.parametrize("name", METHODS)
def test_ranks_in_one_process_have_the_bits_of_a_group(name: str) -> None:
    def work(group: Group) -> Any:
        method = METHODS[name](start(), group.rank, group.size)
        for step in range(STEPS):
            over(group, method.step(gradient(method.weights, group.rank, step), 0.01))
        own = method.weights.copy()
        over(group, method.together())
        return own, method.weights

    apart, _ = trained_in_one_process(METHODS[name], SIZE, together=False)
    ranks, traffic = trained_in_one_process(METHODS[name], SIZE)
    found = everywhere(SIZE, work)
    for rank, (own, weights) in enumerate(found):
        assert_bit_equal(own, apart[rank].weights, f"rank {rank}, before they are together")
        assert_bit_equal(weights, ranks[rank].weights, f"rank {rank}")
        assert_bit_equal(weights, found[0][1], "all ranks have the same")
        assert ranks[rank].steps == STEPS
    assert not np.array_equal(found[0][1], start()) and traffic.total > 0


@pytest.mark.parametrize("name", METHODS)
def test_every_method_comes_nearer_to_the_minimum(name: str) -> None:
    ranks, _ = trained_in_one_process(METHODS[name], 4, steps=60)
    assert np.linalg.norm(ranks[0].weights) < 0.97 * np.linalg.norm(start())


def test_a_tenth_is_over_8_times_fewer_bytes_and_a_hundredth_nearly_40() -> None:
    sent = {}
    for density in (0.1, 0.01):
        _, traffic = trained_in_one_process(local(density=density), 4, count=40_000, together=False)
        sent[density] = traffic.total / STEPS
        assert traffic.sent["all_gather_mask"] / STEPS == pytest.approx(0.75 * 40_000 / 8)
    _, traffic = trained_in_one_process(METHODS["AdamS"], 4, count=40_000)
    dense = traffic.total / STEPS
    assert dense / sent[0.1] == pytest.approx(8.65, rel=0.01)
    assert dense / sent[0.01] == pytest.approx(39.0, rel=0.01)


def test_masks_by_chance_need_no_message() -> None:
    _, traffic = trained_in_one_process(local(statistic="chance"), 4, together=False)
    assert set(traffic.sent) == {"sparse_all_reduce"}


def test_what_is_not_averaged_is_lost_to_nobody() -> None:
    """The mean of the ranks' weights is that of ranks that never heard of each other, where gradients do not
    depend on weights and momenta are each rank's own."""

    def end(make: Make) -> np.ndarray:
        ranks = [make(start(), rank, 4) for rank in range(4)]
        for step in range(STEPS):
            steps = [each.step(gradient(start(), rank, step), 0.01) for rank, each in enumerate(ranks)]
            lockstep(steps)
        return np.mean([each.weights for each in ranks], axis=0)

    def alone(weights: np.ndarray, rank: int, size: int) -> Any:
        return Local(weights, 0, 1, Sparsity(synchronised=False, values="float32"), Rates())

    def sparse(weights: np.ndarray, rank: int, size: int) -> Any:
        return Local(weights, rank, size, Sparsity(synchronised=False, values="float32"), Rates())

    ranks = [alone(start(), rank, 1) for rank in range(4)]
    for step in range(STEPS):
        for rank, each in enumerate(ranks):
            lockstep([each.step(gradient(start(), rank, step), 0.01)])
    np.testing.assert_allclose(end(sparse), np.mean([each.weights for each in ranks], axis=0), atol=1e-6)


def test_at_density_1_of_equal_gradients_it_is_adams() -> None:
    one, other = start(), start()
    rule = AdamS(COUNT, Rates())
    ranks = [Local(other, 0, 1, Sparsity(density=1, values="float32"), Rates())]
    for step in range(STEPS):
        rule.update(one, gradient(start(), 0, step), 0.01)
        lockstep([ranks[0].step(gradient(start(), 0, step), 0.01)])
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_adams_is_as_written() -> None:
    weights, rule = np.array([1.0, -2.0], np.float32), AdamS(2, Rates(0.9, 0.95, 1e-8, 0.5))
    m, w = np.zeros(2), weights.astype(float)
    for each in ([0.5, 1.0], [-0.25, 2.0], [4.0, 0.0]):
        g = np.array(each)
        v = 0.95 * m**2 + 0.05 * g**2
        m = 0.9 * m + 0.1 * g
        w = w - 0.1 * 0.5 * w - 0.1 * m / (np.sqrt(v) + 1e-8)
        rule.update(weights, g.astype(np.float32), 0.1)
    np.testing.assert_allclose(weights, w, rtol=1e-5)


def test_adamw_is_as_written() -> None:
    weights, rule = np.array([1.0, -2.0], np.float32), AdamW(2, Rates(0.9, 0.95, 0.01, 0.5))
    m, v, w = np.zeros(2), np.zeros(2), weights.astype(float)
    for step, each in enumerate(([0.5, 1.0], [-0.25, 2.0], [4.0, 0.0]), 1):
        g = np.array(each)
        m = 0.9 * m + 0.1 * g
        v = 0.95 * v + 0.05 * g**2
        corrected = m / (1 - 0.9**step), v / (1 - 0.95**step)
        w = w - 0.1 * 0.5 * w - 0.1 * corrected[0] / (np.sqrt(corrected[1]) + 0.01)
        rule.update(weights, g.astype(np.float32), 0.1)
    np.testing.assert_allclose(weights, w, rtol=1e-5)


def test_a_mask_is_used_in_the_step_after_the_one_it_was_chosen_in() -> None:
    """Rank 0's part is places 0 to 9, of which 3 moves most in the first step."""
    for late, averaged in ((False, [0]), (True, [1])):
        ranks = [
            Local(np.zeros(20, np.float32), rank, 2, Sparsity(0.1, "gradient", late=late)) for rank in (0, 1)
        ]
        own = np.zeros(20, np.float32)
        own[[3, 15]] = 1
        apart = []
        for _ in range(2):
            lockstep([each.step(own * (1 + rank), 0.01) for rank, each in enumerate(ranks)])
            apart.append(bool(ranks[0]._common[3] != 0))
        assert apart.index(True) in averaged


def test_eight_bits_are_near_and_their_errors_come_later() -> None:
    gradients = [gradient(start(), rank, 0) for rank in range(SIZE)]
    means = [EightBits(COUNT, rank, SIZE) for rank in range(SIZE)]
    total = np.zeros(COUNT)
    for _ in range(50):
        found: list[np.ndarray] = []

        def step(mean: EightBits, own: np.ndarray, found: list[np.ndarray] = found) -> Any:
            found.append((yield from mean.of(own)))

        lockstep([step(mean, own) for mean, own in zip(means, gradients, strict=True)])
        assert np.abs(found[0] - np.mean(gradients, axis=0)).max() < 0.15
        total += found[0]
    np.testing.assert_allclose(total / 50, np.mean(gradients, axis=0), atol=0.005)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Local(start(), 0, 2, Sparsity(density=0)), "density=0: expected above 0"),
        (lambda: Local(start(2), 0, 3), "2 weights for 3 ranks"),
        (lambda: Sparsity(statistic="size"), "statistic='size': expected 'moments' or"),  # type: ignore[arg-type]
        (lambda: Sparsity(values="int8"), "values='int8': expected 'float32' or"),  # type: ignore[arg-type]
        (lambda: Sparsity(refresh=0), "refresh=0: expected 1 or more"),
        (lambda: list(METHODS["top-k"](start(), 0, 1).restart(0, 1)), "does not go on after a death"),
    ],
)
def test_what_cannot_be_is_named(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        make()


def test_ranks_that_do_not_agree_are_found() -> None:
    def asks(name: str, mask: np.ndarray) -> Any:
        yield Ask(name, (np.zeros(3, np.float32), mask))

    one, other = np.array([True, False, True]), np.array([True, True, False])
    for names, masks, why in (
        (("all_reduce", "sparse_all_reduce"), (one, one), "different collectives"),
        (("sparse_all_reduce",) * 2, (one, other), "masks of sparse_all_reduce differ"),
    ):
        with pytest.raises(MismatchError, match=why):
            lockstep([asks(*each) for each in zip(names, masks, strict=True)])


def test_who_is_left_goes_on_with_the_same_weights() -> None:
    """One of three is gone in the middle of a step that another one has ended."""
    ranks, _ = trained_in_one_process(local(), 3, together=False)
    lockstep([ranks[0].step(gradient(ranks[0].weights, 0, STEPS), 0.01)])  # the others never ended it
    left = ranks[:2]
    lockstep([each.restart(rank, 2) for rank, each in enumerate(left)])
    assert_bit_equal(left[0].weights, left[1].weights)
    assert left[0].steps == left[1].steps
    for step in range(STEPS):
        lockstep([each.step(gradient(each.weights, rank, step), 0.01) for rank, each in enumerate(left)])
    lockstep([each.together() for each in left])
    assert_bit_equal(left[0].weights, left[1].weights)


@pytest.mark.parametrize(
    ("call", "failing"), [("together", 0), ("together", 1), ("restart", 0), ("restart", 1), ("restart", 2)]
)
def test_a_collective_that_fails_leaves_weights_and_momentum_as_they_were(call: str, failing: int) -> None:
    """What came of it before that are sums of some ranks' values, which the next restart would spread."""
    ranks, _ = trained_in_one_process(local(values="float32"), 2, together=False)
    before = [(each.weights.copy(), each._rule.momentum.copy()) for each in ranks]
    asking = ranks[0].together() if call == "together" else ranks[0].restart(0, 2)
    with pytest.raises(PeerUnreachable):
        ask = next(asking)
        for _ in range(failing):
            ask = asking.send(None)
        ask.arrays[0][:] = 1e9
        asking.throw(PeerUnreachable(1))
    lockstep([each.restart(rank, 2) for rank, each in enumerate(ranks)])
    for index, found in enumerate((ranks[0].weights, ranks[0]._rule.momentum)):
        np.testing.assert_allclose(found, (before[0][index] + before[1][index]) / 2, rtol=1e-6, atol=1e-7)
    assert ranks[0].steps == STEPS


def test_the_bits_of_a_run_over_a_fabric_that_loses() -> None:
    """Eight ranks; 2 % of the packets between switches are lost in silence."""
    count = 20_000
    run = VirtualRun(intent("random", 0.02, "drop", seed=7))
    methods = [local()(start(count), rank, 8) for rank in range(8)]
    for step in range(3):
        own = [gradient(each.weights, rank, step) for rank, each in enumerate(methods)]
        run.job.run(lambda comm: over(comm, methods[comm.rank].step(own[comm.rank], 0.01)))  # noqa: B023
    assert sum(run.job.total(name) for name in ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")) > 0
    expected, _ = trained_in_one_process(local(), 8, steps=3, count=count, together=False)
    for rank, method in enumerate(methods):
        assert_bit_equal(method.weights, expected[rank].weights, f"rank {rank}")


@pytest.mark.parametrize("moment", ["before", "within"])
def test_a_worker_dies_and_the_others_go_on(moment: str) -> None:
    """Rank 1 of four is killed before its fifth step, or when it has made its own part of it."""
    arguments = {"steps": 8, "doomed": 1, "at": 4, "moment": moment}
    with Workers(4, arguments, module="tests.scape.worker") as workers:
        ends = workers.trained({1})
    assert {end["size"] for end in ends} == {3}
    assert len({end["weights"] for end in ends}) == 1
    assert all(end["loss"] < end["first"] for end in ends)

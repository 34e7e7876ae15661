"""Figures over seeds, and what tables make of them."""

import numpy as np
import pytest
from csaud_sim.experiment.columns import TOTALS
from csaud_sim.experiment.page import packets_of
from csaud_sim.experiment.statistics import mean_over_seeds, reduction


def test_intervals_hold_the_mean_and_grow_with_the_spread() -> None:
    print("seed 20")
    values = np.random.default_rng(20).normal(10, 1, 20)
    narrow, wide = mean_over_seeds(values), mean_over_seeds(10 + (values - 10) * 5)
    assert narrow.low < values.mean() < narrow.high
    assert wide.high - wide.low == pytest.approx(5 * (narrow.high - narrow.low))
    assert narrow.high - narrow.low == pytest.approx(2 * 2.093 * values.std(ddof=1) / np.sqrt(20), rel=1e-3)
    assert not mean_over_seeds(values[:2]).has_interval


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_hold_the_true_figure_as_often_as_they_say(seeds: int) -> None:
    """Of few seeds, too: 19 of 20 experiments, whatever decided one seed for both."""
    print("seed 21")
    draws = np.random.default_rng(21)
    means, reductions = 0, 0
    for _ in range(4000):
        estimate = mean_over_seeds(draws.normal(10, 1, seeds))
        means += estimate.low < 10 < estimate.high
        theirs = np.exp(draws.normal(0, 1, seeds))
        reduced = reduction(theirs * np.exp(draws.normal(np.log(0.6), 0.1, seeds)), theirs)
        reductions += reduced.low < 0.4 < reduced.high
    assert 0.94 < means / 4000 < 0.96
    assert 0.94 < reductions / 4000 < 0.96


def test_what_a_transport_has_not_is_a_dash_beside_what_it_has() -> None:
    totals = dict.fromkeys(TOTALS, float("nan")) | {"tx_data": 110.0, "rx_data": 100.0, "unfinished": 2.0}
    totals |= {"rtx_timeout": 15.0, "rtx_gap": 0.0, "lost": 7.0}
    assert packets_of(totals) == ("2", "110", "7", "0", "-", "15", "-", "-")
    assert packets_of(totals | {"unfinished": 0.0}) == ("0", "110", "7", "0", "-", "15", "-", "8")

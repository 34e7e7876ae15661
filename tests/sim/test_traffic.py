"""Which flows start when: sizes as published, loads as asked for, patterns that are what they are called."""

import numpy as np
import pytest
from csaud_sim.experiment.model import Traffic
from csaud_sim.experiment.sizes import PUBLISHED, draw, mean_bytes
from csaud_sim.experiment.traffic import make_flows

RATES = np.full(16, 100_000_000_000)


@pytest.mark.parametrize(
    ("name", "mean"),
    [("AliStorage2019", 40_900), ("WebSearch", 1_710_000), ("FbHdp", 120_400), ("Solar2022", 39_400)],
)
def test_sizes_have_the_published_means(name: str, mean: int) -> None:
    print("seed 5")
    drawn = draw(PUBLISHED[name], 200_000, np.random.default_rng(5))
    assert mean_bytes(PUBLISHED[name]) == pytest.approx(mean, rel=0.002)
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert drawn.min() >= 1
    assert drawn.max() <= PUBLISHED[name][-1][0]


@pytest.mark.parametrize("pattern", ["random", "permutation", "matching", "all-to-all", "incast"])
def test_load_is_the_share_of_all_links_that_payload_takes(pattern: str) -> None:
    flows = make_flows(Traffic(pattern=pattern, sizes=50_000, load=0.8, flows=40_000), RATES, None, 3)
    offered = flows.bytes.sum() * 8e9 / flows.start_ns[-1] / RATES.sum()
    assert offered == pytest.approx(0.8, rel=0.02)
    assert (flows.src != flows.dst).all()
    assert (np.diff(flows.start_ns) >= 0).all()
    assert max(flows.src.max(), flows.dst.max()) == len(RATES) - 1


def test_load_of_an_incast_on_one_host_is_that_of_its_link() -> None:
    asked = Traffic(pattern="incast", sizes=50_000, load=0.5, flows=40_000, to="h3", senders=4)
    flows = make_flows(asked, RATES, 2, 3)
    assert set(flows.dst) == {2}
    assert flows.bytes.sum() * 8e9 / flows.start_ns[-1] / RATES[2] == pytest.approx(0.5, rel=0.03)


def test_an_incast_has_different_senders_at_one_moment() -> None:
    flows = make_flows(Traffic(pattern="incast", flows=700, senders=7), RATES, None, 1)
    for group in np.split(np.arange(700), 100):
        assert len(set(flows.src[group])) == 7
        assert len(set(flows.dst[group])) == len(set(flows.start_ns[group])) == 1


def test_a_permutation_gives_every_host_one_sender_and_one_receiver() -> None:
    flows = make_flows(Traffic(pattern="permutation", flows=5_000), RATES, None, 1)
    pairs = set(zip(flows.src.tolist(), flows.dst.tolist(), strict=True))
    assert len(pairs) == len({src for src, _ in pairs}) == len({dst for _, dst in pairs}) == len(RATES)


def test_a_matching_is_a_round_of_all_hosts_at_one_moment() -> None:
    rates = np.full(1024, 100_000_000_000)
    flows = make_flows(Traffic(pattern="matching", matching=13, flows=2048), rates, None, 1)
    for start in (0, 1024):
        turn = slice(start, start + 1024)
        assert len(set(flows.src[turn])) == len(set(flows.dst[turn])) == 1024
        assert len(set(flows.start_ns[turn])) == 1
    # As in uet-htsim's perm_1024n_1024c_0u_2000000b.cm.
    assert list(zip(flows.src[:3], flows.dst[:3], strict=True)) == [(334, 395), (404, 414), (135, 874)]


def test_all_to_all_has_every_pair_once_before_any_comes_again() -> None:
    flows = make_flows(Traffic(pattern="all-to-all", flows=3 * 240), RATES, None, 1)
    pairs = list(zip(flows.src.tolist(), flows.dst.tolist(), strict=True))
    for turn in range(3):
        assert len(set(pairs[turn * 240 : (turn + 1) * 240])) == 240


def test_seeds_decide() -> None:
    asked = Traffic(flows=100)
    first, again, other = (make_flows(asked, RATES, None, seed) for seed in (1, 1, 2))
    assert (first.src == again.src).all() and (first.start_ns == again.start_ns).all()
    assert (first.start_ns != other.start_ns).any() and (first.bytes != other.bytes).any()

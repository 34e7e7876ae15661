"""Random networks and random messages, by seed: all data arrives exactly and the books balance."""

import csaud_testnet

from tests.hostlib.core_support import content, network, retransmitted, total

SEEDS = range(1, 3001)
DETECTORS = ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")


def test_every_seed_holds() -> None:
    """To repeat one: `csaud_testnet.soak(seed)`."""
    failures, sums = [], dict.fromkeys(DETECTORS, 0)
    for seed in SEEDS:
        failure, totals = csaud_testnet.soak(seed)
        if failure:
            failures.append(f"seed {seed}: {failure}")
        for name in DETECTORS:
            sums[name] += totals[name]
    assert not failures, "\n".join(failures[:10])
    # The runs exercised what they are for.
    assert all(count > 500 for count in sums.values()), sums


def test_the_same_seed_is_the_same_run() -> None:
    assert all(csaud_testnet.soak(seed) == csaud_testnet.soak(seed) for seed in (3, 14, 159))


def test_a_ring_of_eight_under_five_per_cent_loss() -> None:
    """As an all-reduce sends: each rank to the next, step after step, every kind of loss at once."""
    world, steps, size = 8, 14, 64 * 37 + 5
    net = network(world, link={"jitter": 20_000})
    chance = csaud_testnet.Chance()
    chance.drop_data, chance.drop_control, chance.trim, chance.seed = 0.05, 0.05, 0.05, 11
    net.set_chance(chance)
    for step in range(steps):
        receives = []
        for rank in range(world):
            receives.append(net.post_recv(rank, (rank - 1) % world, size, coll_seq=1, step=step))
            net.post_send(rank, (rank + 1) % world, content(size, 100 * step + rank), coll_seq=1, step=step)
        assert net.settle(net.now + 60_000_000_000)
        for rank, receive in enumerate(receives):
            assert net.received(rank, receive) == content(size, 100 * step + (rank - 1) % world)
    assert net.unbalanced() == ""
    assert sum(retransmitted(net, world).values()) + total(net, "rx_by_parity", world) > 400

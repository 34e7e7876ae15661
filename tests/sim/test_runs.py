"""A run is a function of its seeds, and of nothing else that is said to make no difference."""

from collections.abc import Callable

import numpy as np
import pytest
from csaud_controller.inventory import fat_tree, leaf_spine

from tests.fabric.virtual import intent
from tests.sim.worlds import SECOND, World

SEED = 7
DETECTORS = ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")


def digest(policy_seed: int = SEED, flow_seed: int = SEED, **options: object) -> int:
    print("seeds", policy_seed, flow_seed)
    world = World(leaf_spine(2, 2, 2), intent("random", 0.02, "drop", policy_seed), trace=0, **options)
    world.add_random(60, 20 * 4064, 3_000, flow_seed)
    world.run()
    assert sum(world.total(detector) for detector in DETECTORS) > 0
    return world.simulation.trace_digest


def test_runs_of_one_seed_do_the_same() -> None:
    assert digest() == digest()
    assert digest() != digest(policy_seed=SEED + 1)
    assert digest() != digest(flow_seed=SEED + 1)


def test_payloads_make_no_difference_to_what_is_sent() -> None:
    assert digest() == digest(payloads=False)


def test_clocks_that_drift_cause_no_retransmission() -> None:
    world = World(fat_tree(4), drift_ppm=200, payloads=False)
    world.add_random(300, 40 * 4064, 2_000, SEED)
    flows = world.run()
    assert not np.isnan(flows["finished_ns"]).any()
    assert world.total("rx_duplicates") == 0
    straight = World(fat_tree(4), payloads=False)
    straight.add_random(300, 40 * 4064, 2_000, SEED)
    assert (straight.run()["finished_ns"] != flows["finished_ns"]).any(), "nobody's clock was off"


def test_clocks_that_were_set_apart_change_nothing() -> None:
    """By hours: whoever compares times of two hosts would wait that long, or not at all."""
    finished = []
    for apart in (0, 3600 * SECOND):
        world = World(fat_tree(4), clock_offset_ns=apart, payloads=False)
        world.add_random(300, 40 * 4064, 2_000, SEED)
        finished.append(world.run()["finished_ns"])
    assert (finished[0] == finished[1]).all()


def test_a_flow_may_be_longer_than_a_message() -> None:
    world = World(leaf_spine(1, 0, 2), payloads=False)
    world.add((0, 1, 5_000_000, 1_000), (1, 0, 1, 500))
    flows = world.run()
    rate = 4064 / (4064 + 102 + 24) * 100 / 8  # bytes of payload a nanosecond
    assert 5_000_000 / rate < flows["finished_ns"][0] - 1_000 < 1.05 * 5_000_000 / rate
    assert flows["finished_ns"][1] < 10_000
    world.simulation.advance(10**7)
    assert (world.simulation.flows()["acked_ns"] > flows["finished_ns"]).all()
    assert world.total("messages_received") == 4


def test_what_is_not_over_has_no_time() -> None:
    world = World(leaf_spine(1, 0, 2), payloads=False)
    world.add((0, 1, 1_000, 0), (1, 0, 1_000, 1_000_000))
    assert not world.simulation.run(500_000)
    flows = world.simulation.flows()
    assert np.isnan(flows["finished_ns"]).tolist() == [False, True]
    assert (world.simulation.open, world.simulation.now) == (1, 500_000)


def test_flows_with_a_killed_host_fail() -> None:
    world = World(leaf_spine(1, 0, 3), payloads=False, settings={"dead_after": 1_000_000})
    world.simulation.kill(1)
    world.add((0, 1, 1_000, 0))
    flows = world.run()
    assert flows["status"].tolist() == [1]  # peer_unreachable
    assert (world.simulation.failures, world.simulation.open) == (1, 0)


def test_a_fabric_is_its_own_again_after_a_simulation() -> None:
    world = World(leaf_spine(1, 0, 2))
    world.add((0, 1, 10 * 4064, 0))
    world.run()
    ended = world.simulation.now
    frames = world.fabric.switch("l1").port_stats()[1]["rx_packets"]
    del world.simulation
    world.fabric.advance(ended + 1_000)
    world.fabric.inject("l1", 1, bytes(60), ended + 2_000)
    assert world.fabric.switch("l1").port_stats()[1]["rx_packets"] == frames + 1


def flow(src: int = 0, dst: int = 1, size: int = 100, start: int = 5_000) -> Callable[[World], None]:
    return lambda world: world.add((0, 1, 100, 5_000), (src, dst, size, start))


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (flow(dst=2), ValueError, "flow 1: there is no host 2"),
        (flow(dst=0), ValueError, "flow 1: it goes from host 0 to itself"),
        (flow(size=0), ValueError, "flow 1: 0 bytes, of 1 to"),
        (flow(start=999), ValueError, "flow 1: its start, 999 ns, lies before the present, 1000"),
        (lambda world: world.simulation.kill(5), IndexError, "there is no host 5"),
        (lambda _: World(leaf_spine(1, 0, 2), payloads=False, settings={"auth_key": bytes(16)}),
         ValueError, "authenticated"),
        (lambda world: world.simulation.trace_digest, ValueError, "without a trace"),
        (lambda world: type(world.simulation)(world.fabric), ValueError, "carried by something else"),
        (lambda world: type(world.simulation)(world.fabric, pipeline_ns=-1), ValueError, "pipeline_ns"),
        (lambda world: world.fabric.advance(10**9), LookupError, "is simulated"),
        (lambda world: world.fabric.inject("l1", 1, bytes(60), 10**9), LookupError, "is simulated"),
        (lambda world: world.fabric.start(), LookupError, "is simulated"),
    ],
)  # fmt: skip
def test_misuse_is_refused_by_name(
    misuse: Callable[[World], object], error: type[Exception], message: str
) -> None:
    world = World(leaf_spine(1, 0, 2))
    world.simulation.advance(1_000)
    with pytest.raises(error, match=message):
        misuse(world)
    assert world.simulation.open == 0

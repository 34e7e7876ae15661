"""Flow control where queues are those of the P4 program: an incast is shaped from its first packet, windows
react to marks, what is cut is recovered, and nothing deadlocks."""

from typing import Any

import numpy as np
import pytest
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.faults import Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_sim.experiment.collectives import RunningCollectives
from csaud_sim.experiment.links import impair
from csaud_sim.experiment.measure import Measured, fabric_of, measure
from csaud_sim.experiment.model import Experiment
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.network import SECOND, Network, Seat

from tests.sim.worlds import World

SENDERS = 16
SHARED = 64  # packets; several bandwidth-delay products of the links below
PACKET = 4064
PACKET_NS = 335  # at 100 Gbit/s
TINY = {"trim_at": 4, "no_trim_at": 16, "drop_at": 64}
SIGNALS = ["trim", "bounce", "both"]


def run(**keys: Any) -> Measured:
    asked = {
        "name": "test",
        "fabric": "leaf-spine-3x2x6",
        "link_rate": "100Gbit",
        "link_delay": "500ns",
        **keys,
    }
    found = measure(Experiment.model_validate(asked))
    assert found.totals["unfinished"] == 0
    return found


def incast(
    senders: int = SENDERS, packets: int = 100, limits: int = 1500, core: Any = None, **keys: Any
) -> Measured:
    gather = {"operation": "gather.direct", "bytes": packets * PACKET, "ranks": senders + 1, "repeats": 1}
    policy = {
        "spray": "random",
        "loss_signal": "drop",
        "ecn": False,
        "limits": {"trim_at": limits, "no_trim_at": limits, "drop_at": 2000},
    }
    found = run(
        **{
            "collectives": gather,
            "policy": policy,
            "host": {"shared_window": SHARED},
            "core": core or {},
            **keys,
        }
    )
    assert len(found.collectives["completion_ns"]) == 1
    assert len(found.flows["dst"]) == senders
    return found


def deepest(found: Measured) -> float:
    """Packets: the longest wait of DATA in a queue before the receiver."""
    waits = zip(found.links["to"], found.links["queue_max_ns"], strict=True)
    return max(wait for to, wait in waits if to == "h1") / PACKET_NS


def test_an_incast_is_shaped_from_its_first_packet() -> None:
    """No queue ever holds more than the shared window, so one that has room for it loses nothing."""
    found = incast(limits=SHARED)
    assert deepest(found) < SHARED
    assert found.totals["congestion_dropped"] == 0
    assert found.totals["tx_data"] == SENDERS * 100 + found.totals["rx_duplicates"]


@pytest.mark.parametrize(("senders", "fabric"), [(80, "leaf-spine-3x2x27"), (512, "leaf-spine-9x4x57")])
def test_more_senders_than_packets_that_may_be_under_way_take_turns(senders: int, fabric: str) -> None:
    """From the first packet on, and without letting the link idle: within 6 % of what its bytes take."""
    packets = 6
    found = incast(senders, packets, fabric=fabric)
    assert deepest(found) < SHARED
    assert found.totals["rx_duplicates"] == 0
    assert found.collectives["completion_ns"][0] < 1.06 * senders * packets * PACKET_NS + 15_000


def test_turns_of_clocks_that_differ_need_no_deep_queue() -> None:
    """Senders begin whenever they are ready, within some 400 us: turns meet at random."""
    gather = {"operation": "gather.direct", "bytes": 4 * PACKET, "ranks": 201, "repeats": 1}
    ready = {"compute": "200us", "deviation": "100us"}
    found = incast(200, collectives={**gather, **ready}, fabric="leaf-spine-6x2x34", seed=11)
    assert deepest(found) < SHARED


def test_a_fixed_window_overruns_the_same_queue() -> None:
    fixed = {"shaping": False}
    assert incast(limits=SHARED, core=fixed).totals["congestion_dropped"] > SHARED
    assert deepest(incast(core=fixed)) > 4 * SHARED


def test_the_shaped_incast_keeps_the_link_busy() -> None:
    """Within 10 % of the time that its bytes take on the receiver's link; the round trip is unknown yet."""
    found = incast()
    assert found.collectives["completion_ns"][0] < 1.1 * SENDERS * 100 * PACKET_NS + 15_000


def test_marks_on_late_packets_shrink_the_window() -> None:
    """Two senders of which nobody foretold, a queue that marks at 8 packets and has room for 100."""

    def dropped(**settings: Any) -> list[int]:
        policy = Policy.model_validate(
            {
                "spray": "random",
                "loss_signal": "drop",
                "ecn": {"low": 8, "high": 8},
                "limits": {"trim_at": 100, "no_trim_at": 100, "drop_at": 1000},
            }
        )
        world = World(
            leaf_spine(1, 1, 3), Intent(policy=policy, faults=Faults()), payloads=False, rate=10**10,
            settings={"shared_window": 1000, "window": 128, **settings},
        )  # fmt: skip
        after = []
        for _ in range(4):
            now = world.simulation.now
            world.add((1, 0, 400 * PACKET, now), (2, 0, 400 * PACKET, now))
            world.run()
            assert world.simulation.open == 0
            world.simulation.advance(world.simulation.now + 1_000_000)
            after.append(world.total("tx_data") - world.total("rx_data"))
        return after

    shaped, fixed = dropped(), dropped(shaping=False)
    assert shaped[0] < fixed[0]  # until the first news
    assert shaped[-1] == shaped[0]  # and never again
    assert fixed[-1] > 3 * fixed[0]


@pytest.mark.parametrize("operation", ["all_reduce.ring", "all_to_all.pairwise", "gather.direct"])
@pytest.mark.parametrize("shared", [1, 5])
def test_the_smallest_windows_under_loss_end(operation: str, shared: int) -> None:
    """And every sender learns so, by its probes if nothing else says it."""
    asked = {
        "name": "x",
        "fabric": "leaf-spine-3x2x2",
        "link_rate": "100Gbit",
        "collectives": {"operation": operation, "bytes": 40 * 6 * PACKET, "repeats": 3},
        "impairments": [{"where": "all", "loss": 0.1, "seed": 7}, {"where": "hosts", "loss": 0.1}],
        "host": {"shared_window": shared, "window": 4},
        "time_limit": "60s",
    }
    experiment = Experiment.model_validate(asked)
    assert measure(experiment).totals["collectives"] == 3


@pytest.mark.parametrize("operation", ["all_reduce.ring", "all_to_all.pairwise"])
def test_senders_learn_the_end_of_every_message(operation: str) -> None:
    """After the last rank has its result, too; a tenth of all packets is lost."""
    experiment = Experiment.model_validate(
        {
            "name": "x",
            "fabric": "leaf-spine-4x2x2",
            "link_rate": "100Gbit",
            "collectives": {"operation": operation, "bytes": 8 * 8 * PACKET, "repeats": 3},
            "impairments": [{"where": "hosts", "loss": 0.1}],
        }
    )
    fabric = fabric_of(experiment)
    network = Network(
        SimulatedFabric(fabric, experiment.intent()), [Seat(host) for host in fabric.hosts], payloads=False
    )
    impair(network, experiment.impairments, 3)
    assert experiment.collectives is not None
    running = RunningCollectives(network, experiment.collectives, range(8), 1)
    network.run_all(60 * SECOND)
    assert len(running.completed().started_ns) == 3
    assert network.settle()
    stats = [network.stats(rank) for rank in range(8)]
    sent, received = (sum(each[f"messages_{what}"] for each in stats) for what in ("sent", "received"))
    assert sent == received > 100


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("icrc", [False, True])
def test_incast_overflows_are_all_recovered(signal: str, icrc: bool) -> None:
    """Seven senders that nobody foretold, a link with room for a few packets: much is cut, nothing lost."""
    limits = {"trim_at": 16, "no_trim_at": 256, "drop_at": 500}
    found = run(
        fabric="leaf-spine-2x2x4",
        traffic={"pattern": "incast", "senders": 7, "to": "h1", "sizes": 100 * PACKET, "flows": 7},
        policy={"spray": "random", "loss_signal": signal, "trim_icrc": icrc, "limits": limits},
    )
    totals = found.totals
    cut = max(totals["trimmed"], totals["bounced"])
    assert cut > 100
    assert totals["trimmed"] == (cut if signal != "bounce" else 0)
    assert totals["bounced"] == (cut if signal != "trim" else 0)
    again = sum(totals[f"rtx_{name}"] for name in ("loss", "gap", "interval", "probe"))
    assert again - totals["rx_duplicates"] == totals["tx_data"] - totals["rx_data"] >= cut
    assert totals["rtx_loss"] > 0.95 * again
    # The bottleneck is busy all the time: 700 packets with cut ones between them.
    assert found.flows["fct_ns"].max() < 1.5 * 700 * PACKET_NS


@pytest.mark.parametrize("seed", range(6))
def test_whatever_queues_cut_and_links_lose_the_books_balance(seed: int) -> None:
    """Shallow queues, every signal, losses, bursts, jitter, marks: drawn by seed."""
    random = np.random.default_rng(seed)
    signal = str(random.choice(SIGNALS))
    found = run(
        fabric="leaf-spine-2x2",
        seed=seed,
        traffic={"sizes": "AliStorage2019", "load": 0.8, "flows": 150},
        policy={
            "spray": str(random.choice(["random", "ecmp", "host"])),
            "loss_signal": signal,
            "limits": TINY,
        },
        impairments=[
            {
                "loss": float(random.choice([0.001, 0.05])),
                "burst": int(random.integers(1, 9)),
                "jitter": "5us",
            }
        ],
        host={"window": int(random.integers(1, 48)), "shared_window": int(random.integers(1, 96))},
        time_limit="60s",
    )
    totals = found.totals
    again = sum(totals[f"rtx_{name}"] for name in ("loss", "gap", "interval", "probe"))
    lost = totals["link_lost"] + totals["congestion_dropped"] + max(totals["trimmed"], totals["bounced"])
    sent, received = (totals[f"{way}_data"] + totals[f"{way}_parity"] for way in ("tx", "rx"))
    # What is under way when the last flow is over has left its sender and is not lost.
    assert 0 <= sent - received - lost <= 50
    assert again + totals["rx_by_parity"] >= totals["rx_duplicates"]
    assert (found.flows["status"] == 0).all()

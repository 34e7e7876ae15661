"""What a run is measured by beyond the counters of hosts and switches; the oracle that tells of losses."""

from typing import Any

import numpy as np
import pytest
from csaud_controller.inventory import leaf_spine
from csaud_sim.experiment.measure import Measured, measure
from csaud_sim.experiment.model import Experiment

from tests.sim.worlds import DELAY, SECOND, World

PAYLOAD, FRAME = 4064, 4162
RING = {"operation": "all_reduce.ring", "bytes": 4 * 32 * PAYLOAD, "repeats": 4, "warmup": 1}
ORACLE = {"oracle": True, "policy": {"spray": "random", "loss_signal": "drop"}}
SILENT = [{"where": "uplinks", "probability": 0.02, "kinds": ["data"]}]
ON_LINKS = [{"loss": 0.02, "kinds": ["data"]}]


def run(**keys: Any) -> Measured:
    asked = {"name": "test", "fabric": "leaf-spine-2x2", "link_rate": "100Gbit", "collectives": RING, **keys}
    return measure(Experiment.model_validate(asked))


def lost(found: Measured) -> float:
    return found.totals["tx_data"] - found.totals["rx_data"]


def test_without_loss_nothing_is_sent_again() -> None:
    totals = run().totals
    data = 4 * 4 * 6 * 32  # packets: repeats, ranks, steps
    assert totals["data_bytes"] == data * FRAME
    assert totals["control_bytes"] > 0
    for name in ("retransmitted_bytes", "spurious_bytes", "duplicate_bytes", "recovered", "recovery_p99_us"):
        assert totals[name] == 0, name


@pytest.mark.parametrize("losses", [{"faults": SILENT}, {"impairments": ON_LINKS}])
def test_each_loss_is_followed_to_the_copy_that_arrives(losses: dict[str, Any]) -> None:
    """Of packets that are lost several times, once."""
    found = run(**losses, seed=5, host={"parity": False})
    totals = found.totals
    again = sum(totals[f"rtx_{name}"] for name in ("loss", "gap", "interval", "probe"))
    assert lost(found) > 20
    assert totals["retransmitted_bytes"] == again * FRAME
    assert totals["duplicate_bytes"] == totals["rx_duplicates"] * FRAME
    assert totals["spurious_bytes"] == (again - lost(found)) * FRAME
    assert 0.9 * lost(found) <= totals["recovered"] <= lost(found)
    assert 0 < totals["recovery_p50_us"] <= totals["recovery_p99_us"]


@pytest.mark.parametrize("signal", ["trim", "bounce", "both"])
def test_what_is_cut_is_a_loss_and_its_recovery_is_measured(signal: str) -> None:
    incast = {"pattern": "incast", "senders": 3, "to": "h1", "sizes": 200_000, "flows": 30, "load": 0.9}
    policy = {"limits": {"trim_at": 4}, "loss_signal": signal}
    found = run(collectives=None, traffic=incast, policy=policy)
    assert lost(found) > 50
    assert found.totals["trimmed"] == (0 if signal == "bounce" else lost(found))
    assert 0.5 * lost(found) < found.totals["recovered"] <= lost(found)
    assert found.totals["spurious_bytes"] == 0


def test_copies_sent_for_nothing_are_spurious_and_duplicates() -> None:
    """The interval is shorter than the way of a packet. The last ones are under way when the run ends."""
    late = [{"where": "all", "jitter": "60us"}]
    totals = run(core={"fixed_interval": 1000}, impairments=late, host={"parity": False}).totals
    assert totals["spurious_bytes"] > 0
    assert totals["spurious_bytes"] == totals["retransmitted_bytes"]
    assert totals["duplicate_bytes"] == totals["rx_duplicates"] * FRAME
    assert 0.9 * totals["spurious_bytes"] < totals["duplicate_bytes"] <= totals["spurious_bytes"]
    assert totals["recovered"] == 0


@pytest.mark.parametrize("losses", [{"faults": SILENT}, {"impairments": ON_LINKS}])
def test_an_oracle_tells_of_every_loss_and_of_nothing_else(losses: dict[str, Any]) -> None:
    found = run(**ORACLE, **losses, seed=2)
    totals = found.totals
    assert lost(found) > 20
    assert totals["told"] == totals["rtx_loss"] == lost(found)
    assert totals["rtx_gap"] == totals["rtx_interval"] == totals["rtx_probe"] == 0
    assert totals["spurious_bytes"] == 0
    assert totals["recovery_p50_us"] < run(**losses, seed=2).totals["recovery_p50_us"] / 1.5


def test_a_sender_hears_of_a_loss_when_it_was_said_to() -> None:
    """A packet is lost at the end of the link to its host; its next copy arrives so much later."""
    told_after = 5000
    world = World(
        leaf_spine(1, 1, 2), payloads=False, oracle_ns=told_after,
        settings={"detect_interval": False, "detect_gap": False},
    )  # fmt: skip
    switch, port = world.places["h2"]
    world.simulation.impair(switch, port, loss=0.5, kinds=2, seed=1)
    world.add(*((0, 1, PAYLOAD, n * 100_000) for n in range(40)))
    world.run(100 * SECOND)
    recoveries = world.simulation.recoveries()
    way = 2 * (335 + DELAY)
    assert len(recoveries) > 10
    # Each further loss of the same packet: a notice and a way more.
    assert set(recoveries % (told_after + way)) == {0}


def test_an_oracle_beside_switches_that_tell_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected policy.loss_signal drop"):
        run(oracle=True)


def test_messages_are_rows_of_their_own_and_a_warmup_is_in_no_figure() -> None:
    found = run(traffic={"flows": 10, "sizes": 8000, "load": 0.1})
    number = found.flows["collective"]
    assert (number == -1).sum() == 10 == found.totals["flows"]
    assert [(number == n).sum() for n in range(4)] == [4 * 6] * 4
    of_collectives = number >= 0
    np.testing.assert_array_equal(found.flows["measured"][of_collectives], number[of_collectives] >= 1)
    assert set(found.flows["bytes"][of_collectives]) == {32 * PAYLOAD}
    assert found.flows["slowdown"].min() >= 1
    assert len(found.collectives["completion_ns"]) == 3 == found.totals["collectives"]


def test_a_gather_is_an_incast_of_messages() -> None:
    found = run(collectives={"operation": "gather.direct", "bytes": 4 * PAYLOAD, "repeats": 1})
    assert set(found.flows["dst"]) == {0}
    assert len(found.flows["dst"]) == 3


def test_queues_and_paths_by_hand() -> None:
    """Two senders of one packet each to one host: one of them waits for the other, 335 ns."""
    world = World(leaf_spine(1, 1, 3), payloads=False, ledger=True)
    world.add((1, 0, PAYLOAD, 0), (2, 0, PAYLOAD, 0))
    world.run()
    links = world.simulation.links()
    _, port = world.places["h1"]
    at = links["port"].tolist().index(port)
    assert links["data"][at] == 2
    assert links["queue_p50_ns"][at] == 0
    assert links["queue_max_ns"][at] == pytest.approx(335, rel=0.016)
    ecmp = run(policy={"spray": "ecmp"}, collectives=None, traffic={"flows": 1, "sizes": 400_000})
    assert ecmp.totals["path_imbalance"] in (0, 2), "all on one of two uplinks, or within a leaf"
    assert run().totals["path_imbalance"] < 1.2


def test_without_a_ledger_there_are_no_figures() -> None:
    world = World(leaf_spine(1, 1, 2))
    for what in ("figures", "recoveries", "messages", "links"):
        with pytest.raises(ValueError, match="without a ledger"):
            getattr(world.simulation, what)()

"""Links that lose frames, one by one or in bursts, by kind and class, and that make some late."""

from itertools import groupby
from typing import Any

import numpy as np
import pytest
from csaud_controller.inventory import leaf_spine
from csaud_sim.experiment.measure import Measured, fabric_of, measure
from csaud_sim.experiment.model import Experiment

from tests.sim.worlds import SECOND, World

SENT, ARRIVED, LOST = range(3)
BIT = {"other": 1, "data": 2, "control": 4, "loss": 8}
RING = {"operation": "all_reduce.ring", "bytes": 4 * 32 * 4064, "repeats": 3}
QUIET = 7  # a seed of which nothing is under way when the last all-reduce ends


def run(**keys: Any) -> Measured:
    asked = {
        "name": "test",
        "fabric": "leaf-spine-2x2",
        "link_rate": "100Gbit",
        "link_delay": "500ns",
        **keys,
    }
    return measure(Experiment.model_validate(asked))


def lost_in_a_row(loss: float, burst: float, seed: int) -> tuple[float, float]:
    """Of a link with one sender of long flows: the share of DATA lost, and how many in a row on average."""
    world = World(leaf_spine(1, 1, 2), trace=1_000_000, payloads=False)
    switch, port = world.places["h2"]
    world.simulation.impair(switch, port, loss=loss, burst=burst, kinds=BIT["data"], seed=seed)
    world.add(*((0, 1, 2_000_000, 0) for _ in range(20)))
    world.run(100 * SECOND)
    trace = world.simulation.trace()
    (place,) = set(trace["place"][trace["kind"] == LOST].tolist())
    data = (trace["place"] == place) & (trace["bytes"] > 1000) & (trace["kind"] != SENT)
    fates = (trace["kind"][data] == LOST).tolist()
    rows = [len(list(row)) for lost, row in groupby(fates) if lost]
    return float(np.mean(fates)), float(np.mean(rows))


@pytest.mark.parametrize(("burst", "row"), [(1, 1.02), (8, 8)])
def test_losses_have_their_share_and_come_in_bursts(burst: float, row: float) -> None:
    """Some 10,000 packets: within four standard deviations."""
    share, found = lost_in_a_row(0.02, burst, seed=3)
    assert share == pytest.approx(0.02, rel=0.3 * burst**0.5)
    assert found == pytest.approx(row, rel=0.05 if burst == 1 else 0.5)


def test_a_run_with_impairments_is_a_function_of_their_seed() -> None:
    def digest(seed: int) -> int:
        world = World(leaf_spine(2, 2, 2), trace=0, payloads=False)
        for switch, port in world.places.values():
            world.simulation.impair(switch, port, loss=0.05, burst=3, jitter_ns=2000, seed=seed)
        world.add_random(40, 100_000, 3000, seed=1)
        world.run(100 * SECOND)
        return world.simulation.trace_digest

    assert digest(1) == digest(1) != digest(2)


@pytest.mark.parametrize("kind", ["data", "control"])
def test_kinds_that_are_not_meant_are_not_lost(kind: str) -> None:
    found = run(collectives=RING, impairments=[{"loss": 0.03, "kinds": [kind]}], seed=QUIET).totals
    assert found["collectives"] == 3
    assert (found["link_lost"] > 0) == (kind == "data")
    lost = found["tx_data"] + found["tx_parity"] - found["rx_data"] - found["rx_parity"]
    assert found["link_lost"] == lost
    assert found["injected"] == found["congestion_dropped"] == 0


def test_classes_that_are_not_meant_are_not_lost() -> None:
    """Flows are of class 4, the collectives here of class 1."""
    asked = {
        "collectives": {**RING, "criticality": 1},
        "traffic": {"flows": 100, "sizes": 40_000, "load": 0.2},
    }
    found = run(**asked, impairments=[{"loss": 0.2, "classes": [1], "kinds": ["data"], "where": "all"}])
    of_flows = found.flows["collective"] == -1
    calm = run(**asked)
    assert found.totals["link_lost"] > 100
    assert found.totals["unfinished"] == 0
    late = np.sort(found.flows["fct_ns"][of_flows]) / np.sort(calm.flows["fct_ns"][of_flows])
    assert late.max() < 2
    assert found.collectives["completion_ns"].sum() > 1.5 * calm.collectives["completion_ns"].sum()


def test_jitter_lets_frames_overtake_and_loses_none() -> None:
    traffic = {"flows": 20, "sizes": 400_000, "load": 0.1}
    asked = {"traffic": traffic, "policy": {"spray": "ecmp"}, "seed": 2}  # nothing is under way at the end
    calm, shaken = run(**asked), run(**asked, impairments=[{"where": "all", "jitter": "20us"}])
    assert calm.totals["tx_data"] - calm.totals["rx_data"] == 0
    assert shaken.totals["tx_data"] == shaken.totals["rx_data"]
    assert shaken.totals["unfinished"] == 0
    assert np.median(shaken.flows["fct_ns"] - calm.flows["fct_ns"]) > 10_000


def test_a_link_of_its_own_is_slow_in_both_directions() -> None:
    asked = Experiment.model_validate(
        {
            "name": "slow",
            "fabric": "leaf-spine-2x2",
            "link_rate": "100Gbit",
            "collectives": RING,
            "links": [{"where": "s1", "rate": "25Gbit"}, {"where": "l2-s1", "delay": "3us"}],
        }
    )
    fabric = fabric_of(asked)
    links = {
        frozenset((edge.a, edge.b)): fabric.link_of(fabric.edge_at[edge.ends[0]]) for edge in fabric.edges
    }
    assert links[frozenset(("l1", "s1"))].rate == links[frozenset(("l2", "s1"))].rate == 25_000_000_000
    assert links[frozenset(("l1", "s2"))].rate == 100_000_000_000
    assert links[frozenset(("l2", "s1"))].delay == 3000 != links[frozenset(("l1", "s1"))].delay
    found = measure(asked).links
    busy = {
        (switch, to): took / bytes_
        for switch, to, took, bytes_ in zip(
            found["switch"], found["to"], found["busy_ns"], found["bytes"], strict=True
        )
    }
    for there, back in ((("l1", "s1"), ("s1", "l1")), (("l2", "s1"), ("s1", "l2"))):
        assert busy[there] == pytest.approx(4 * busy["l1", "s2"], rel=0.05)
        assert busy[back] == pytest.approx(4 * busy["s2", "l1"], rel=0.05)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"loss": 1.5}, "between 0 and 1"),
        ({"burst": 0.5}, "at least 1 frame"),
        ({"loss": 0.9, "burst": 4.0}, "cannot lose more than a share of 0.8"),
        ({"jitter_ns": -1}, "cannot be negative"),
    ],
)
def test_what_cannot_be_is_refused(how: dict[str, float], told: str) -> None:
    world = World(leaf_spine(1, 1, 2))
    with pytest.raises(ValueError, match=told):
        world.simulation.impair(*world.places["h1"], **how)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="port 99"):
        world.simulation.impair("l1", 99, loss=0.1)
    with pytest.raises(KeyError):
        world.simulation.impair("l9", 1, loss=0.1)


def test_a_link_of_its_own_one_way_is_slow_from_its_ports_alone() -> None:
    found = run(collectives=RING, links=[{"where": "s1:1", "rate": "25Gbit", "one_way": True}]).links
    ends = zip(found["switch"], found["to"], strict=True)
    took = dict(zip(ends, np.array(found["busy_ns"]) / np.array(found["bytes"]), strict=True))
    assert took["s1", "l1"] == pytest.approx(4 * took["s2", "l1"], rel=0.05)
    assert took["l1", "s1"] == pytest.approx(took["l1", "s2"], rel=0.05)


def test_one_way_is_said_of_a_rate_alone() -> None:
    with pytest.raises(ValueError, match="expected a rate, and no delay or buffer"):
        run(links=[{"where": "s1", "delay": "1us", "one_way": True}])

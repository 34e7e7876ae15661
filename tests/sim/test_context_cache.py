"""Contexts of queue pairs in a NIC: what does not fit is fetched, and packets wait for it."""

from itertools import pairwise

import pytest
from csaud_sim.experiment.measure import measure
from csaud_sim.experiment.model import Experiment

from tests.sim.baseline_wire import Wire

MTU, SLOT, MISS, LONG = 4096, 335, 1_000, 10_000_000


def two_flows(**parameters: float) -> Wire:
    """Of 50 packets each, which take turns."""
    wire = Wire("rc", parameters)
    for flow in range(2):
        wire.ends[0].send(1, 50 * MTU, flow, now=0)
    wire.run(LONG)
    assert all(end.quiet for end in wire.ends)
    assert [nbytes for _, what, nbytes in wire.events if what == "delivered"] == 2 * [50 * MTU]
    return wire


def gaps(wire: Wire) -> list[int]:
    return [later - earlier for (earlier, _), (later, _) in pairwise(wire.data())]


def test_room_for_all_costs_what_no_cache_costs() -> None:
    """But for what is fetched once."""
    free, roomy = two_flows(), two_flows(qp_cache=2)
    assert [end.stats()["context_misses"] for end in roomy.ends] == [2, 2]
    assert [end.stats()["context_misses"] for end in free.ends] == [0, 0]
    assert set(gaps(free)) == {SLOT} and set(gaps(roomy)[1:]) == {SLOT}


def test_with_room_for_one_every_packet_of_another_waits_for_its_context() -> None:
    wire = two_flows(qp_cache=1)
    assert sum(gaps(wire)[:90]) / 90 == pytest.approx(MISS, rel=0.02)
    assert wire.ends[1].stats()["context_misses"] == 100
    assert wire.ends[0].stats()["context_misses"] >= 100
    assert wire.ends[0].stats()["tx_data"] == 100


def test_a_receiver_takes_packets_as_fast_as_it_fetches_and_in_their_order() -> None:
    """The sender has room, and the receiver has not: messages are over a miss a packet later, not earlier."""
    wire = Wire("rc", {"qp_cache": 2})
    roomless = Wire("rc", {"qp_cache": 1})
    wire.ends[1] = roomless.ends[1]
    for flow in range(2):
        wire.ends[0].send(1, 50 * MTU, flow, now=0)
    wire.run(LONG)
    assert set(gaps(wire)[1:]) == {SLOT} and wire.ends[0].stats()["rtx_gap"] == 0
    assert wire.ends[1].stats()["rx_discarded"] == 0
    last = max(time for time, what, _ in wire.events if what == "delivered")
    assert last >= wire.data()[0][0] + 100 * MISS


def test_fetches_under_way_at_a_time_hide_each_other() -> None:
    """Of three a microsecond with eight contexts in turn, all of which miss, none is felt."""
    times = {}
    for fetches in (1, 2, 4):
        wire = Wire("rc", {"qp_cache": 1, "qp_fetches": fetches})
        for flow in range(8):
            wire.ends[0].send(1, 20 * MTU, flow, now=0)
        wire.run(LONG)
        times[fetches] = sum(gaps(wire)) / len(gaps(wire))
    assert times[1] == pytest.approx(MISS, rel=0.02)
    assert times[2] == pytest.approx(MISS / 2, rel=0.02)
    assert times[4] == pytest.approx(SLOT, rel=0.02)


@pytest.mark.parametrize("transport", ["rc", "irn", "dcqcn"])
def test_flows_are_drawn_among_so_many_queue_pairs(transport: str) -> None:
    """100 flows over 4 of them: a cache of 4 is filled once at each end, one of 2 is not enough."""

    def misses(room: int) -> float:
        asked = {"name": transport, "qps": 4, "qp_cache": room}
        traffic = {"pattern": "permutation", "sizes": 4096, "load": 0.2, "flows": 100}
        keys = {"fabric": "leaf-spine-2x1x1", "link_rate": "100Gbit", "traffic": traffic, "transport": asked}
        return measure(Experiment.model_validate({"name": "test", **keys})).totals["context_misses"]

    assert misses(16) == 16, "4 to send and 4 to receive at both hosts"
    assert misses(2) > 100

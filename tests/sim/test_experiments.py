"""Experiments: ideal times, and what a run measures."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from csaud_sim.experiment.columns import COLLECTIVES, FLOWS, LINKS, TOTALS
from csaud_sim.experiment.measure import measure
from csaud_sim.experiment.model import (
    Experiment,
)
from csaud_sim.experiment.page import PACKETS, packets_of
from csaud_sim.transports.network import PlainNetwork

from tests.support.marks import thorough

DOCS = Path(__file__).parents[2] / "docs" / "simulation.md"


def experiment(**keys: object) -> Experiment:
    return Experiment.model_validate(
        {"name": "test", "fabric": "leaf-spine-2x2", "link_rate": "100Gbit", "traffic": {}, **keys}
    )


# A ring of 16 ranks, messages of 32 packets; a round trip takes 10 us without queues.
RING_OF_16: dict[str, object] = {
    "fabric": "leaf-spine-4x4x4",
    "link_delay": "775ns",
    "pipeline": "400ns",
    "traffic": None,
    "collectives": {"operation": "all_reduce.ring", "bytes": 16 * 32 * 4064, "repeats": 4},
}
SLOW_SPINE: dict[str, object] = {
    **RING_OF_16,
    "links": [{"where": "s1", "rate": "25Gbit"}],
    "policy": {"spray": "entropy"},
}


def mean_completion(keys: dict[str, object], **others: object) -> float:
    """Of an experiment's collectives, nanoseconds."""
    return float(measure(experiment(**keys, **others)).collectives["completion_ns"].mean())


@pytest.mark.parametrize("fabric", ["leaf-spine-2x2", "fat-tree-4"])
@pytest.mark.parametrize("size", [1, 4064, 20 * 4064, [[0, 0], [9000, 60], [120_000, 100]]])
def test_on_an_idle_fabric_every_flow_takes_its_ideal_time(fabric: str, size: object) -> None:
    """Flows far apart that fit a window. Beyond it, in some, lie control packets of the sender (12 ns each at
    100 Gbit/s); and a shorter last packet (335 ns are a full one's) is behind the one before it where both
    take the same way."""
    asked = {"sizes": size, "load": 1e-7 if size == 1 else 1e-3, "flows": 60}
    flows = measure(experiment(fabric=fabric, link_delay="700ns", pipeline="400ns", traffic=asked)).flows
    late = flows["fct_ns"] - flows["ideal_ns"]
    assert late.min() == 0
    assert late.max() <= 24 + (335 if isinstance(size, list) else 0)
    assert np.median(late) == 0


def test_ideal_time_of_a_packet_by_hand() -> None:
    """4,064 bytes are a frame of 4,162 and 24 more: 334.88 ns at 100 Gbit/s, 335 in whole ones; within a leaf
    two links and a switch, else four and three."""
    found = measure(
        experiment(link_delay="1us", pipeline="400ns", traffic={"sizes": 4064, "load": 0.001, "flows": 40})
    )
    near = (found.flows["src"] // 2) == (found.flows["dst"] // 2)
    assert set(found.flows["ideal_ns"][near]) == {2 * 1335 + 400}
    assert set(found.flows["ideal_ns"][~near]) == {4 * 1335 + 3 * 400}


def test_no_flow_is_faster_than_ideal_and_losses_are_made_good() -> None:
    found = measure(
        experiment(
            traffic={"load": 0.9, "flows": 400},
            policy={"spray": "random", "loss_signal": "drop"},
            faults=[{"where": "uplinks", "probability": 0.01}],
        )
    )
    assert found.flows["slowdown"].min() >= 1
    assert found.totals["injected"] > 10
    assert found.totals["unfinished"] == 0
    totals = found.totals
    again = sum(totals[f"rtx_{name}"] for name in ("loss", "gap", "interval", "probe"))
    made_good = again + totals["rx_by_parity"]
    assert made_good - totals["rx_duplicates"] == totals["tx_data"] - totals["rx_data"]


@pytest.mark.parametrize("ecn", [True, False])
def test_congestion_marks_are_counted_where_switches_make_them(ecn: bool) -> None:
    slow = experiment(
        traffic={"load": 0.9, "flows": 100},
        links=[{"where": "s1", "rate": "10Gbit"}],
        policy={"spray": "random", "ecn": ecn},
    )
    assert (measure(slow).totals["rx_ecn"] > 0) == ecn


def test_receivers_without_a_schedule_leave_asking_to_senders() -> None:
    """Of a flow of which nothing has come they know nothing: its sender finds the loss, and later."""
    faults = [{"where": "uplinks", "probability": 1e-2, "kinds": ["data"]}]
    flows = {"sizes": 4000, "load": 0.3, "flows": 1000}
    by_schedule, late = (
        measure(experiment(faults=faults, traffic={**flows, "receive_delay": delay}))
        for delay in ("0us", "9us")
    )
    assert by_schedule.totals["rtx_probe"] == 0 < by_schedule.totals["rtx_interval"]
    assert late.totals["rtx_interval"] < late.totals["rtx_probe"] + late.totals["rtx_gap"]
    assert late.totals["unfinished"] == 0


def test_what_is_not_over_at_the_limit_is_counted() -> None:
    found = measure(experiment(traffic={"sizes": 10_000_000, "flows": 20}, time_limit="1ms"))
    assert 0 < found.totals["unfinished"] <= 20
    assert np.isnan(found.flows["fct_ns"]).sum() == found.totals["unfinished"]


def test_collectives_wait_for_the_slowest_rank() -> None:
    """An all-reduce takes what its bytes take on a link and little more; a straggler puts off its start."""
    nbytes, ranks = 4_000_000, 4
    asked = {"bytes": nbytes, "repeats": 5, "compute": "100us", "straggler": "50us"}
    found = measure(experiment(traffic=None, collectives=asked)).collectives
    least = 2 * (ranks - 1) / ranks * nbytes * 8 / 100  # ns at 100 Gbit/s
    assert len(found["completion_ns"]) == 5
    assert (found["waited_ns"] > least).all() and (found["waited_ns"] < 1.5 * least).all()
    assert found["started_ns"][0] == 100_000
    assert found["completion_ns"][0] - found["waited_ns"][0] == 50_000


@pytest.mark.parametrize("seed", [1, thorough(2), thorough(3)])
def test_hosts_keep_away_from_a_slow_spine_by_default(seed: int) -> None:
    """By the marks that its queues bring; where each path has its turn, all wait for that spine."""
    default, in_turn = (
        mean_completion(SLOW_SPINE, seed=seed, host=host) for host in ({}, {"path_policy": "oblivious"})
    )
    assert default < 0.6 * in_turn


@pytest.mark.parametrize("operation", ["all_reduce.ring", "all_to_all.pairwise"])
def test_ranks_of_a_leaf_take_uplinks_in_turn(operation: str) -> None:
    """Each sends to the rank so many beyond itself, all at once, and each begins at another uplink: as if the
    leaf gave packets its uplinks in turn. Where all begin at the same one, they wait for each other."""
    keys = {**RING_OF_16, "collectives": {"operation": operation, "bytes": 16 * 32 * 4064, "repeats": 3}}
    hosts, switches = (mean_completion(keys, policy={"spray": spray}) for spray in ("host", "weighted"))
    assert hosts < 1.01 * switches


@pytest.mark.parametrize("transport", ["csa-ud", "irn"])
def test_a_skewed_all_to_all_sends_to_ranks_by_zipfs_law(transport: str) -> None:
    """Of 40,000 elements 19,200, 9,600, 6,400 and 4,800, to another rank with another seed."""
    asked = {"operation": "all_to_all.pairwise", "bytes": 160_000, "repeats": 1, "skew": 1}

    def received(seed: int) -> list[int]:
        found = measure(experiment(traffic=None, collectives=asked, seed=seed, transport=transport))
        assert found.totals["collectives"] == 1
        return [int(found.flows["bytes"][found.flows["dst"] == rank].sum()) for rank in range(4)]

    orders = [received(seed) for seed in (1, 2)]
    for order in orders:
        assert sorted(order) == [3 * 4 * elements for elements in (4800, 6400, 9600, 19_200)]
    assert orders[0] != orders[1]


@pytest.mark.parametrize("operation", ["all_reduce.ring", "all_to_all.pairwise"])
@pytest.mark.parametrize("round_trips", [1, 10, 50])
def test_a_rank_that_computes_for_longer_makes_nobody_send_again(operation: str, round_trips: int) -> None:
    """A straggler is no loss, of however many round trips (10 us)."""
    collectives = {**RING_OF_16["collectives"], "operation": operation}  # type: ignore[dict-item]
    late = {**collectives, "straggler": f"{10 * round_trips}us", "repeats": 6}
    totals = measure(experiment(**{**RING_OF_16, "collectives": late})).totals
    assert totals["collectives"] == 6
    assert totals["spurious_bytes"] == totals["rx_duplicates"] == 0
    assert totals["tx_data"] - totals["rx_data"] == totals["lost"]


def test_an_all_to_all_with_a_slow_spine_takes_what_the_links_take() -> None:
    """Once hosts know the spine: what comes late over it keeps nobody from other paths."""
    asked = {"operation": "all_to_all.pairwise", "bytes": 16 * 32 * 4064, "warmup": 2, "repeats": 4}
    keys = {**RING_OF_16, "collectives": asked}
    whole, slow = (mean_completion(keys, links=links) for links in ([], SLOW_SPINE["links"]))
    assert slow < 1.1 * whole * 4 / 3.25


def test_a_ring_that_loses_has_rounds_as_even_as_one_that_knows_nothing_of_paths() -> None:
    keys = {**RING_OF_16, "impairments": [{"loss": 0.01}]}
    default, in_turn = (mean_completion(keys, host=host) for host in ({}, {"path_policy": "oblivious"}))
    assert default < 1.02 * in_turn


def test_a_ring_of_long_messages_is_not_held_by_the_window_that_it_begins_with() -> None:
    """Of 32 packets, where the path holds 50; nobody else sends to a rank of a ring."""
    asked = {"operation": "all_reduce.ring", "bytes": 16 * 128 * 4064, "warmup": 1, "repeats": 2}
    keys = {**RING_OF_16, "link_delay": "1us", "collectives": asked}
    grows, stays = (mean_completion(keys, host={"shared_window": most}) for most in (128, 32))
    assert grows < 0.85 * stays


def test_marks_of_a_slow_spine_come_in_time() -> None:
    """After a queue that takes as long as that of another spine. The same number of packets takes four times
    as long, and a ring's step is over before they are marked."""
    late = {**SLOW_SPINE, "policy": {"spray": "entropy", "ecn": {"low": 32, "high": 64}}}
    assert mean_completion(SLOW_SPINE) < 0.85 * mean_completion(late)


@pytest.mark.parametrize(
    "operation", ["all_reduce.halving_doubling", "all_gather.ring", "broadcast.tree", "all_to_all.pairwise"]
)
def test_collectives_beside_traffic(operation: str) -> None:
    asked = {"operation": operation, "bytes": 400_000, "repeats": 3}
    found = measure(experiment(traffic={"flows": 50, "load": 0.3}, collectives=asked))
    assert found.totals["collectives"] == 3
    assert found.totals["unfinished"] == 0
    assert (found.collectives["completion_ns"] > 0).all()
    assert (np.diff(found.collectives["started_ns"]) > 0).all()


LOSSES: dict[str, dict[str, object]] = {
    "silently": {"faults": [{"where": "uplinks", "probability": 0.02}]},
    "told of": {"faults": [{"where": "uplinks", "probability": 0.02, "signalled": True}]},
    "on links": {"impairments": [{"loss": 0.02, "burst": 4}]},
}
SENDERS: dict[str, dict[str, object]] = {
    **{signal: {"policy": {"loss_signal": signal}} for signal in ("trim", "bounce", "both", "drop")},
    **{name: {"transport": name} for name in ("rc", "irn", "dcqcn", "ndp", "uec", "dcp")},
}


LOSERS = [
    (sender, losses)
    for sender, keys in SENDERS.items()
    for losses in LOSSES
    if "transport" not in keys or losses != "on links"
]


@pytest.mark.parametrize(("sender", "losses"), LOSERS)
def test_what_did_not_arrive_is_lost_by_a_cause_that_is_counted(sender: str, losses: str) -> None:
    """But for what is on its way when the last flow is over."""
    limits = {"limits": {"trim_at": 8}}
    policy = {**limits, **SENDERS[sender].get("policy", {})}  # type: ignore[dict-item]
    keys = {**SENDERS[sender], **LOSSES[losses], "policy": policy}
    asked = {"pattern": "incast", "senders": 3, "sizes": 60_000, "load": 0.8, "flows": 150}
    beside = {"collectives": {"bytes": 400_000, "repeats": 2}} if "transport" not in keys else {}
    totals = measure(experiment(traffic=asked, link_delay="1us", **keys, **beside)).totals
    sent, arrived = (
        sum(np.nan_to_num(totals[f"{way}_{kind}"]) for kind in ("data", "parity")) for way in ("tx", "rx")
    )
    causes = ("injected", "trimmed", "congestion_dropped", "no_path", "link_lost", "hidden_drops")
    lost = sum(np.nan_to_num(totals[cause]) for cause in causes)
    if sender == "bounce":
        lost += totals["bounced"]
    assert totals["unfinished"] == totals["collectives_unfinished"] == 0
    assert lost > 0 and 0 <= sent - arrived - lost <= 32
    assert 0 < totals["lost"] <= min(lost, totals["tx_data"] - totals["rx_data"])
    assert totals["tx_data"] - totals["rx_data"] - totals["lost"] <= 32


@pytest.mark.parametrize("transport", ["csa-ud", "rc", "irn", "dcqcn", "ndp", "uec", "dcp"])
def test_what_is_under_way_at_the_limit_is_not_lost(transport: str) -> None:
    """Links are so long that nothing has arrived anywhere."""
    flows = {"pattern": "incast", "senders": 3, "to": "h1", "sizes": 200_000, "flows": 3}
    room = {"buffer": 10**9} if transport == "dcqcn" else {}
    asked = experiment(
        traffic=flows, link_delay="1ms", time_limit="500us", transport={"name": transport, **room}
    )
    totals = measure(asked).totals
    assert totals["unfinished"] == 3 and totals["tx_data"] > totals["rx_data"] == 0
    assert totals["lost"] == 0
    shown = dict(zip(PACKETS, packets_of(totals), strict=True))
    assert (shown["unfinished"], shown["lost"], shown["spurious"]) == ("3", "0", "-")


@pytest.mark.parametrize("keys", [{"host": {"mtu": 1440}}, {"core": {"path_mtu": 1440}}])
def test_ideal_times_are_of_the_packets_that_hosts_send(keys: dict[str, object]) -> None:
    """Three of 1,408 bytes: frames of 1,506 and 24 more, 123 ns each, over a switch or three."""
    asked = {"sizes": 3 * 1408, "load": 0.001, "flows": 40}
    found = measure(experiment(link_delay="1us", traffic=asked, **keys))
    near = (found.flows["src"] // 2) == (found.flows["dst"] // 2)
    assert set(found.flows["ideal_ns"][near]) == {4 * 123 + 2000}
    assert set(found.flows["ideal_ns"][~near]) == {6 * 123 + 4000}
    assert found.flows["slowdown"].min() == 1
    assert found.totals["tx_data"] == 3 * 40


def test_an_oracle_knows_after_half_a_round_trip_of_the_packets_that_hosts_send() -> None:
    """There with a frame of 123 ns a link, back with one of 11. Lost at its host, which the next copy reaches
    after that and all of its way."""
    keys = {"oracle": True, "policy": {"loss_signal": "drop"}, "core": {"path_mtu": 1440}}
    asked = {"sizes": 1408, "load": 0.01, "flows": 300}
    at_the_host = [{"where": "hosts", "loss": 0.1, "kinds": ["data"]}]
    totals = measure(experiment(link_delay="1us", traffic=asked, impairments=at_the_host, **keys)).totals
    told_after = (4 * 123 + 4 * 11 + 8000) / 2
    assert totals["recovered"] > 10
    assert totals["recovery_p50_us"] * 1e3 == pytest.approx(told_after + 4 * 1123)


def test_the_base_rtt_of_a_baseline_is_of_its_own_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 100 Gbit/s 1,090 bytes take 88 ns, 122 of an answer 10; four links each way, and three switches."""
    told: list[int] = []

    class Telling(PlainNetwork):
        def __init__(self, *args: Any, base_rtt_ns: int, **keys: Any) -> None:
            told.append(base_rtt_ns)
            super().__init__(*args, base_rtt_ns=base_rtt_ns, **keys)

    monkeypatch.setattr("csaud_sim.experiment.measure.PlainNetwork", Telling)
    for transport in ({"name": "irn", "mtu": 1000}, "irn"):
        links = {"link_delay": "1us", "pipeline": "400ns"}
        measure(experiment(traffic={"flows": 1}, transport=transport, **links))
    assert told == [4 * (88 + 10 + 2000) + 6 * 400, 4 * (335 + 10 + 2000) + 6 * 400]


def test_clocks_of_hosts_are_off_by_what_is_asked_for() -> None:
    """An interval is a time of its host's clock, one of 10 ms up to 10 us off where clocks drift by 1,000 us
    in a second. What clocks show at the begin is nobody's matter."""
    lossy: dict[str, Any] = {
        "traffic": {"sizes": 4064, "load": 0.0001, "flows": 200},
        "impairments": [{"where": "hosts", "loss": 0.1, "kinds": ["data"]}],
        "core": {"fixed_interval": 10_000_000, "detect_probe": False},
    }

    def latest(**clocks: object) -> float:
        """How long after the interval a packet came that was asked for by it."""
        found = measure(experiment(**lossy, clocks=clocks))
        assert found.totals["spurious_bytes"] == 0
        return max(took - 1e7 for took in found.flows["fct_ns"] if 9.9e6 < took < 10.1e6)

    even = latest()
    assert 0 < even < 8_000
    assert abs(latest(offset="90s") - even) < 1_000
    assert 5_000 < latest(drift=1000) - even < 11_000


@pytest.mark.parametrize("name", [*FLOWS, *COLLECTIVES, *LINKS, *TOTALS])
def test_every_column_and_total_is_documented(name: str) -> None:
    assert f"`{name}`" in DOCS.read_text()


@pytest.mark.parametrize("spray", ["entropy", "host"])
def test_a_senders_paths_reach_every_core_of_a_fat_tree(spray: str) -> None:
    """Where both tiers took path_id modulo their uplinks, they would choose alike: two of four cores."""
    packets = 1000
    traffic = {"pattern": "incast", "senders": 1, "to": "h16", "flows": 1, "sizes": packets * 4064}
    keys = {"fabric": "fat-tree-4", "link_rate": "100Gbit", "traffic": traffic, "seed": 3}
    keys |= {"policy": {"spray": spray}, "host": {"paths": 256}}
    links = measure(Experiment.model_validate({"name": "test", **keys})).links
    data = {"a": Counter[str](), "c": Counter[str]()}
    for switch, to, sent in zip(links["switch"], links["to"], links["data"], strict=True):
        if switch[0] + to[0] in ("ea", "ac") and sent:
            data[to[0]][to] += int(sent)
    assert sum(data["c"].values()) >= packets
    assert len(data["a"]) == 2 and len(data["c"]) == 4
    if spray == "host":
        first, second = data["a"].values()
        assert abs(first - second) <= 0.05 * packets, "path_id itself, in turn"
    mean, least = packets / 4, {"host": 0.95, "entropy": 0.7}[spray]
    assert least * mean < min(data["c"].values()) and max(data["c"].values()) < (2 - least) * mean, data


def test_ranks_together_load_uplinks_alike_where_these_are_no_divisor_of_the_paths() -> None:
    """Each has two of its 16 paths on four of twelve uplinks, but ranks have them on others: not half as much
    again as the mean on the same four."""
    all_to_all = {"operation": "all_to_all.pairwise", "bytes": 12 * 32 * 4064}
    keys = {"fabric": "leaf-spine-2x12x6", "link_rate": "100Gbit", "collectives": all_to_all}
    keys |= {"policy": {"spray": "host"}, "host": {"path_policy": "oblivious"}}
    found = measure(Experiment.model_validate({"name": "test", **keys}))
    assert found.totals["path_imbalance"] < 1.05

"""Which path a packet takes, per spray mode."""

import pytest

from tests.p4.rig.frames import DESTINATION, SOURCE, arp_request, csa_frame
from tests.p4.rig.leaf import DATA, GROUP, HOST_PORT, UPLINKS, Leaf, name, spread

MODES = {
    "ecmp": {"seed": 3},
    "entropy": {"seed": 3},
    "random": {"seed": 3},
    "round_robin": {},
    "host_directed": {},
    "host_directed_above": {"reciprocal": 0x10000 // 4},
    "weighted": {},
    "least_queue": {"seed": 3},
    "flowlet": {"seed": 3, "gap": 0},
}
"""Each with parameters under which packets of many paths, ports and moments spread."""
MOMENT_NS = 10_000


def message(count: int, **header: int) -> list[bytes]:
    """One flow's packets, told apart by their number."""
    return [csa_frame(pkt_idx=i, pkt_total=count, **header) for i in range(count)]


def various(count: int) -> list[bytes]:
    return [csa_frame(pkt_idx=i, pkt_total=count, path_id=i, src_port=0xC000 + i) for i in range(count)]


def test_ecmp_keeps_a_five_tuple_on_one_path_and_spreads_five_tuples(leaf: Leaf) -> None:
    leaf.spray("ecmp", seed=3)
    assert len(set(leaf.ports([csa_frame(path_id=i) for i in range(64)]))) == 1
    flows = spread(leaf.ports([csa_frame(src_port=0xC000 + i) for i in range(400)]))
    assert set(flows) == set(UPLINKS)
    assert min(flows.values()) > 50


def test_the_seed_of_ecmp_changes_who_shares_a_path(leaf: Leaf) -> None:
    frames = [csa_frame(src_port=0xC000 + i) for i in range(64)]
    leaf.spray("ecmp", seed=3)
    first, again = leaf.ports(frames), leaf.ports(frames)
    leaf.spray("ecmp", "modify", seed=4)
    assert first == again
    assert leaf.ports(frames) != first


def test_entropy_follows_path_id_alone(leaf: Leaf) -> None:
    leaf.spray("entropy", seed=3)
    first = leaf.ports([csa_frame(path_id=i) for i in range(64)])
    again = leaf.ports([csa_frame(path_id=i, src_port=0xD000, pkt_idx=i, pkt_total=64) for i in range(64)])
    assert first == again
    assert set(first) == set(UPLINKS)


def test_few_path_ids_reach_every_path_as_chance_would_have_it(leaf: Leaf) -> None:
    # A bare CRC is linear: 16 path ids in a row would reach two paths of four, whatever the seed.
    frames = [csa_frame(path_id=i) for i in range(16)]
    leaf.spray("entropy", seed=0)
    coverage = []
    for seed in range(30):
        leaf.spray("entropy", "modify", seed=seed)
        coverage.append(len(set(leaf.ports(frames))))
    assert min(coverage) >= 3
    assert coverage.count(4) >= 24  # 96 % by chance


def test_random_spreads_one_flow_evenly_and_repeats_with_its_seed(leaf: Leaf) -> None:
    def paths(seed: int, count: int) -> list[int]:
        leaf.reset()
        leaf.spray("random", seed=seed)
        return leaf.ports(message(count))

    ports = paths(3, 2000)
    assert paths(3, 200) == ports[:200]
    assert paths(4, 200) != ports[:200]
    counts = spread(ports)
    chi_square = sum((counts[port] - 500) ** 2 / 500 for port in UPLINKS)
    assert chi_square < 16.3, counts  # 3 degrees of freedom, p = 0.001


def test_round_robin_takes_the_paths_in_turn(leaf: Leaf) -> None:
    leaf.spray("round_robin")
    assert leaf.ports(message(10)) == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]


def test_host_directed_takes_the_path_that_the_sender_names(leaf: Leaf) -> None:
    leaf.spray("host_directed")
    assert leaf.ports([csa_frame(path_id=i) for i in (2, 0, 3, 1, 6)]) == [3, 1, 4, 2, 3]


@pytest.mark.parametrize("below", [1, 2, 3, 6, 8, 12])
def test_above_the_first_tier_the_paths_are_the_next_digit_of_path_id(leaf: Leaf, below: int) -> None:
    leaf.spray("host_directed_above", reciprocal=-(-0x10000 // below))
    asked = [*range(4 * below + 2), 4095, 4096, 5461]  # exact up to 5461 for twelve, the least exact of these
    assert leaf.ports([csa_frame(path_id=i) for i in asked]) == [UPLINKS[i // below % 4] for i in asked]


# --- weighted


def test_weighted_gives_each_path_its_share_of_the_buckets(leaf: Leaf) -> None:
    leaf.spray("weighted")
    leaf.weigh([0, 1, 0, 2, 0, 1, 2, 3])
    ports = leaf.ports(message(128))
    assert ports[:8] == [1, 2, 1, 3, 1, 2, 3, 4]
    assert spread(ports) == {1: 48, 2: 32, 3: 32, 4: 16}


def test_a_bucket_that_is_not_installed_takes_its_turn(leaf: Leaf) -> None:
    leaf.spray("weighted")
    leaf.insert("spray.buckets", {"group": GROUP, "bucket": 2}, "spray.set_index", index=0)
    assert leaf.ports(message(6)) == [1, 2, 1, 4, 1, 2]
    assert leaf.direct("spray.buckets", {"group": GROUP, "bucket": 2}) == 1


def test_buckets_are_those_of_the_group(leaf: Leaf) -> None:
    leaf.spray("weighted")
    leaf.insert("spray.buckets", {"group": GROUP + 1, "bucket": 0}, "spray.set_index", index=3)
    assert leaf.ports(message(2)) == [1, 2]


def test_changed_weights_hold_from_the_next_packet_on(leaf: Leaf) -> None:
    leaf.spray("weighted")
    leaf.weigh([0, 1, 2, 3])
    assert spread(leaf.ports(message(64))) == dict.fromkeys(UPLINKS, 16)
    leaf.weigh([3], "modify")
    assert spread(leaf.ports(message(64))) == {4: 64}


# --- least queue


def test_least_queue_spreads_while_nothing_waits(leaf: Leaf) -> None:
    leaf.spray("least_queue", seed=3)
    assert min(spread(leaf.ports(message(400), gap_ns=MOMENT_NS)).get(port, 0) for port in UPLINKS) > 40


@pytest.mark.needs("registers")
def test_least_queue_takes_the_shorter_of_two_queues(leaf: Leaf) -> None:
    leaf.spray("least_queue", seed=3)
    for port in UPLINKS:
        leaf.set_depth(port, 1000 * port)
    counts = spread(leaf.ports(message(1600), gap_ns=MOMENT_NS))
    # The shortest is taken whenever it is one of the two: 7 times in 16; the longest when it is both.
    for port, expected in ((1, 700), (2, 500), (3, 300), (4, 100)):
        assert abs(counts[port] - expected) < 4 * (expected * (1 - expected / 1600)) ** 0.5, counts


@pytest.mark.needs("registers", "virtual-time")  # what is on its way makes queues unlike
def test_of_two_queues_alike_the_first_is_taken(leaf: Leaf) -> None:
    leaf.spray("least_queue", seed=3)
    for port in UPLINKS:
        leaf.set_depth(port, 5000)
    with_choice = leaf.ports(message(40), gap_ns=MOMENT_NS)
    leaf.reset()
    leaf.spray("random", seed=3)  # the same draws, the first choice alone
    assert leaf.ports(message(40)) == with_choice


@pytest.mark.needs("registers")
def test_without_a_second_choice_least_queue_takes_the_first(leaf: Leaf) -> None:
    leaf.spray("least_queue", seed=3)
    leaf.write({"delete": {"table": name("spray.alternative"), "match": {"group": GROUP}}})
    leaf.set_depth(1, 5000)
    assert set(leaf.ports(message(80), gap_ns=MOMENT_NS)) == set(UPLINKS)


@pytest.mark.needs("virtual-time", "rates")
def test_least_queue_keeps_queues_shorter_than_chance_does(leaf: Leaf) -> None:
    def refused(mode: str) -> int:
        leaf.reset()
        leaf.spray(mode, seed=3)
        for port in UPLINKS:
            leaf.limit(port, trim_at=20)
            leaf.switch.set_rate(port, 50, 242)
        leaf.send(message(84))
        return sum(leaf.count("loss_signal.congestion_dropped", port, DATA) for port in UPLINKS)

    # 84 packets at once: room for 20 at each of four ports, and one on its way out of each.
    assert refused("least_queue") <= 2
    assert refused("random") >= 5


# --- flowlet

GAP_US = 150_000
PAUSE_NS = 200_000_000


def test_a_flow_keeps_its_path_until_it_pauses(leaf: Leaf) -> None:
    leaf.spray("flowlet", seed=3, gap=GAP_US)
    bursts = []
    for _ in range(10):
        bursts.append(leaf.ports(message(6, path_id=7), gap_ns=MOMENT_NS))
        leaf.switch.wait(PAUSE_NS)
    assert all(len(set(ports)) == 1 for ports in bursts), bursts
    assert len({ports[0] for ports in bursts}) >= 3, bursts


def test_a_flow_that_never_pauses_never_moves(leaf: Leaf) -> None:
    leaf.spray("flowlet", seed=3, gap=5_000_000)
    frames = [csa_frame(path_id=i, src_port=0xC000 + i) for i in range(60)]  # path_id is no part of a flow
    assert len(set(leaf.ports(frames, gap_ns=MOMENT_NS))) == 1


def test_flows_have_flowlets_of_their_own(leaf: Leaf) -> None:
    from scapy.layers.inet import IP, TCP
    from scapy.layers.l2 import Ether

    leaf.insert("spray.policy", {}, "spray.flowlet", 10, seed=3, gap=5_000_000)

    def segment(source: int, sequence: int) -> bytes:
        return bytes(Ether() / IP(src=SOURCE, dst=DESTINATION) / TCP(sport=source, dport=80, seq=sequence))

    ports = leaf.ports([segment(1000 + i % 16, i) for i in range(96)], gap_ns=MOMENT_NS)
    by_flow = [set(ports[i::16]) for i in range(16)]
    assert all(len(paths) == 1 for paths in by_flow), by_flow
    assert set.union(*by_flow) == set(UPLINKS)


@pytest.mark.needs("virtual-time")
@pytest.mark.parametrize(("pause_us", "moves"), [(49, False), (50, False), (51, True), (10**9, True)])
def test_the_gap_is_exact(leaf: Leaf, pause_us: int, moves: bool) -> None:
    leaf.spray("flowlet", seed=3, gap=50)
    paths = set()
    for _ in range(12):
        paths |= set(leaf.ports([csa_frame()]))
        leaf.switch.wait(pause_us * 1000)
    assert (len(paths) > 1) == moves


# --- who decides


def test_a_sender_may_ask_for_a_mode_where_the_policy_lets_it(leaf: Leaf) -> None:
    leaf.spray("ecmp", seed=3)
    leaf.spray("host_directed", asked=7, priority=20)
    assert leaf.ports([csa_frame(path_id=i, spray=7) for i in range(4)]) == [1, 2, 3, 4]
    assert len(set(leaf.ports([csa_frame(path_id=i) for i in range(16)]))) == 1


@pytest.mark.parametrize(
    ("match", "header"),
    [
        ({"group": f"{GROUP}&&&0xffff"}, {}),
        ({"cls": "2&&&7"}, {"criticality": 2}),
        ({"comm": "9&&&0xffff"}, {"comm": 9}),
        ({"kind": f"{DATA}&&&3"}, {}),
        ({"asked": "4&&&15"}, {"spray": 4}),
    ],
    ids=["destination group", "class", "communicator", "kind", "asked"],
)
def test_a_policy_holds_for_what_it_names(leaf: Leaf, match: dict[str, str], header: dict[str, int]) -> None:
    leaf.insert("spray.policy", match, "spray.host_directed", 20)
    meant = [csa_frame(path_id=i, **header) for i in range(4)]
    assert leaf.ports(meant) == [1, 2, 3, 4]
    assert leaf.direct("spray.policy", match, 20) == 4


@pytest.mark.parametrize(
    ("match", "header"),
    [
        ({"group": f"{GROUP + 1}&&&0xffff"}, {}),
        ({"cls": "2&&&7"}, {"criticality": 3}),
        ({"comm": "9&&&0xffff"}, {"comm": 8}),
        ({"kind": "2&&&3"}, {}),
    ],
    ids=["another group", "another class", "another communicator", "another kind"],
)
def test_and_for_nothing_else(leaf: Leaf, match: dict[str, str], header: dict[str, int]) -> None:
    leaf.insert("spray.policy", match, "spray.host_directed", 20)
    assert len(set(leaf.ports([csa_frame(path_id=i, **header) for i in range(16)]))) == 1


def test_without_a_policy_everything_goes_by_ecmp(leaf: Leaf) -> None:
    assert len(set(leaf.ports([csa_frame(path_id=i) for i in range(16)]))) == 1
    assert len(set(leaf.ports([arp_request() for _ in range(4)]))) == 1


@pytest.mark.parametrize("mode", MODES)
def test_every_packet_is_counted_where_it_came_in_and_where_it_left(leaf: Leaf, mode: str) -> None:
    leaf.spray(mode, **MODES[mode])
    ports = spread(leaf.ports(various(64), gap_ns=MOMENT_NS))
    assert leaf.count("classify.ingress_kind", HOST_PORT, DATA) == 64
    assert leaf.direct("spray.policy", {"kind": f"{DATA}&&&3"}, 10) == 64
    assert leaf.direct("spray.paths", {"group": GROUP}) == 64
    for port in UPLINKS:
        assert leaf.count("telemetry.egress_kind", port, DATA) == ports[port]
        assert sum(leaf.buckets("telemetry.path_tx", port).values()) == ports[port]


# --- changes under traffic


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_mode_under_traffic_loses_no_packet(leaf: Leaf, mode: str) -> None:
    leaf.spray("ecmp", seed=1)
    leaf.weigh([0, 1, 2, 3])
    changes = [
        lambda: leaf.spray(mode, "modify", **MODES[mode]),
        lambda: leaf.spray("ecmp", "modify", seed=2),
    ]
    frames = various(300)
    out = leaf.during(frames, changes)
    assert sorted(left.frame[26:] for left in out) == sorted(frame[26:] for frame in frames)


def test_a_change_of_weights_under_traffic_loses_no_packet(leaf: Leaf) -> None:
    leaf.spray("weighted")
    changes = [
        lambda: leaf.weigh([0, 1, 2, 3]),
        lambda: leaf.weigh([3, 3, 2], "modify"),
        lambda: leaf.weigh([0], "modify"),
    ]
    frames = various(1200)
    out = leaf.during(frames, changes)
    assert sorted(left.frame[26:] for left in out) == sorted(frame[26:] for frame in frames)


def test_a_change_of_members_under_traffic_loses_no_packet(leaf: Leaf) -> None:
    leaf.spray("round_robin")
    changes = [
        lambda ports=ports: leaf.group(GROUP, ports, "modify") for ports in ((1, 3), (2,), (4, 3, 2, 1))
    ]
    frames = various(300)
    out = leaf.during(frames, changes)
    assert sorted(left.frame[26:] for left in out) == sorted(frame[26:] for frame in frames)

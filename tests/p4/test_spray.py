"""Which path a packet takes, per spray mode, and what happens when a path dies."""

import pytest

from tests.p4.switch import DATA, GROUP, HOST_PORT, UPLINKS, Leaf, arp_request, csa_frame, number, spread

SEEDED = {
    "ecmp": [number(3, 4)],
    "entropy": [number(3, 4)],
    "random": [number(3, 4)],
    "round_robin": [],
    "host_directed": [],
}


def test_ecmp_keeps_a_five_tuple_on_one_path_and_spreads_five_tuples() -> None:
    leaf = Leaf()
    leaf.spray("ecmp", number(3, 4))
    assert len(set(leaf.ports([csa_frame(path_id=i) for i in range(64)]))) == 1
    flows = spread(leaf.ports([csa_frame(src_port=0xC000 + i) for i in range(400)]))
    assert set(flows) == set(UPLINKS)
    assert min(flows.values()) > 50


def test_the_seed_of_ecmp_changes_who_shares_a_path() -> None:
    def paths(seed: int) -> list[int]:
        leaf = Leaf()
        leaf.spray("ecmp", number(seed, 4))
        return leaf.ports([csa_frame(src_port=0xC000 + i) for i in range(64)])

    assert paths(3) == paths(3)
    assert paths(3) != paths(4)


def test_entropy_follows_path_id_alone() -> None:
    leaf = Leaf()
    leaf.spray("entropy", number(3, 4))
    first = leaf.ports([csa_frame(path_id=i) for i in range(64)])
    again = leaf.ports([csa_frame(path_id=i, src_port=0xD000, pkt_idx=i, pkt_total=64) for i in range(64)])
    assert first == again
    assert set(first) == set(UPLINKS)


def test_few_path_ids_reach_every_path_as_chance_would_have_it() -> None:
    # A bare CRC is linear: 16 path ids in a row would reach two paths of four, whatever the seed.
    def reached(seed: int) -> int:
        leaf = Leaf()
        leaf.spray("entropy", number(seed, 4))
        return len(set(leaf.ports([csa_frame(path_id=i) for i in range(16)])))

    coverage = [reached(seed) for seed in range(30)]
    assert min(coverage) >= 3
    assert coverage.count(4) >= 24  # 96 % by chance


def test_random_spreads_one_flow_evenly_and_repeats_with_its_seed() -> None:
    def paths(seed: int) -> list[int]:
        leaf = Leaf()
        leaf.spray("random", number(seed, 4))
        return leaf.ports([csa_frame() for _ in range(2000)])

    ports = paths(3)
    assert ports == paths(3)
    assert ports != paths(4)
    counts = spread(ports)
    chi_square = sum((counts[port] - 500) ** 2 / 500 for port in UPLINKS)
    assert chi_square < 16.3, counts  # 3 degrees of freedom, p = 0.001


def test_round_robin_takes_the_paths_in_turn() -> None:
    leaf = Leaf()
    leaf.spray("round_robin")
    assert leaf.ports([csa_frame() for _ in range(10)]) == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]


def test_host_directed_takes_the_path_that_the_sender_names() -> None:
    leaf = Leaf()
    leaf.spray("host_directed")
    assert leaf.ports([csa_frame(path_id=i) for i in (2, 0, 3, 1, 6)]) == [3, 1, 4, 2, 3]


def test_a_sender_may_ask_for_a_mode_where_the_policy_lets_it() -> None:
    leaf = Leaf()
    leaf.spray("ecmp", number(3, 4))
    leaf.spray("host_directed", asked=7, priority=20)
    assert leaf.ports([csa_frame(path_id=i, spray=7) for i in range(4)]) == [1, 2, 3, 4]
    assert len(set(leaf.ports([csa_frame(path_id=i) for i in range(16)]))) == 1


def test_without_a_policy_everything_goes_by_ecmp() -> None:
    leaf = Leaf()
    assert len(set(leaf.ports([csa_frame(path_id=i) for i in range(16)]))) == 1
    assert len(set(leaf.ports([arp_request() for _ in range(4)]))) == 1


@pytest.mark.parametrize("mode", SEEDED)
def test_a_dead_path_is_skipped_at_once_in_every_mode(mode: str) -> None:
    leaf = Leaf()
    leaf.spray(mode, *SEEDED[mode])
    frames = [csa_frame(path_id=i, src_port=0xC000 + i) for i in range(80)]
    assert 2 in leaf.ports(frames)
    leaf.fabric.set_link("l1", 2, False)
    ports = leaf.ports(frames)
    assert len(ports) == len(frames)
    assert set(ports) == {1, 3, 4}
    leaf.fabric.set_link("l1", 2, True)
    assert 2 in leaf.ports(frames)


def test_with_no_live_path_a_packet_is_counted_not_forgotten() -> None:
    leaf = Leaf(uplinks=(1, 2))
    leaf.spray("round_robin")
    for port in (1, 2):
        leaf.fabric.set_link("l1", port, False)
    assert leaf.ports([csa_frame() for _ in range(5)]) == []
    assert leaf.switch.counter_read("CsaudIngress.spray.no_path", DATA)[0] == 5


@pytest.mark.parametrize("mode", SEEDED)
def test_every_packet_is_counted_where_it_came_in_and_where_it_left(mode: str) -> None:
    leaf = Leaf()
    leaf.spray(mode, *SEEDED[mode])
    ports = spread(leaf.ports([csa_frame(path_id=i, src_port=0xC000 + i) for i in range(64)]))
    assert leaf.count("classify.ingress_kind", HOST_PORT, DATA) == 64
    for port in UPLINKS:
        assert leaf.count("telemetry.egress_kind", port, DATA) == ports[port]
        buckets = leaf.switch.counter_read_all("CsaudEgress.telemetry.path_bucket")[
            port * 16 : port * 16 + 16
        ]
        assert sum(packets for packets, _ in buckets) == ports[port]
    assert leaf.switch.direct_counter("CsaudIngress.spray.paths", [("exact", number(GROUP, 2))], 0)[0] == 64

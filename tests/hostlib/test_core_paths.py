"""Path policies and path states: what a dead, a congested and a denied path get."""

import itertools
from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest
from csaud import _core

from tests.hostlib.core_support import (
    DATA,
    MS,
    PROBE,
    US,
    S,
    content,
    network,
    retransmitted,
    total,
    transfer,
)

PATHS = 8
PACKETS = 100
MESSAGE = content(PACKETS * 64)
POLICIES = list(_core.PathPolicy)
SPREADING = [policy for policy in POLICIES if policy != _core.PathPolicy.ecmp]


def policies(which: list[Any]) -> Any:
    return pytest.mark.parametrize("policy", which, ids=lambda policy: policy.name)


def run(net: Any, messages: range, dst: int = 1) -> Counter[int]:
    """DATA copies by path of some messages from rank 0."""
    before = Counter(dict(enumerate(net.path_stats(0)["tx_path"])))
    for coll_seq in messages:
        transfer(net, MESSAGE, dst=dst, coll_seq=coll_seq)
    return Counter(dict(enumerate(net.path_stats(0)["tx_path"]))) - before


@policies(SPREADING)
def test_without_losses_and_marks_all_paths_are_used(policy: Any) -> None:
    sent = run(network(paths=PATHS, path_policy=policy), range(1, 9))
    assert len(sent) == PATHS
    assert max(sent.values()) < 2 * min(sent.values())


def test_ecmp_takes_one_path_of_the_peers_own() -> None:
    net = network(4, paths=PATHS, path_policy=_core.PathPolicy.ecmp)
    for dst in (1, 2, 3):
        transfer(net, MESSAGE, dst=dst, coll_seq=dst)
    assert sorted(filter(None, net.path_stats(0)["tx_path"])) == [PACKETS] * 3


# Those of reps use only paths that are known to be good.
RECYCLING = [_core.PathPolicy.reps, _core.PathPolicy.mixed]


@policies([policy for policy in SPREADING if policy not in RECYCLING])
def test_a_dead_path_is_left_and_used_again_when_it_answers(policy: Any) -> None:
    dead = 3
    net = network(paths=PATHS, path_policy=policy, window=16)
    net.set_hook(lambda p: "drop" if p.path_id == dead else None)
    run(net, range(1, 100))
    assert net.path_state(0, 1, dead) == "assumed_bad"
    probes: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type == PROBE and p.src == 0 and p.path_id == dead:
            probes.append(p.now)
        return "drop" if p.path_id == dead else None

    net.set_hook(hook)
    assert run(net, range(113, 123))[dead] == 0
    held = net.post_send(0, 1, MESSAGE, coll_seq=123)  # waits for its receive: there is something to send
    net.run_until(net.now + 500 * MS)
    assert held not in [c.id for c in net.completions(0)]
    assert len(probes) > 3
    net.set_hook(None)
    net.run_until(net.now + 500 * MS)
    assert net.path_state(0, 1, dead) == "good"
    assert total(net, "paths_recovered") == total(net, "paths_assumed_bad") > 0
    net.post_recv(1, 0, len(MESSAGE), coll_seq=123)
    assert net.settle(net.now + 10 * S)
    assert run(net, range(124, 130))[dead] > 0
    assert net.unbalanced() == ""


@policies(RECYCLING)
def test_a_dead_path_is_hardly_tried_even_before_it_is_assumed_bad(policy: Any) -> None:
    net = network(paths=PATHS, path_policy=policy, window=16)
    net.set_hook(lambda p: "drop" if p.path_id == 3 else None)
    run(net, range(1, 5))
    sent = run(net, range(5, 45))
    assert sent[3] < 0.01 * sum(sent.values())
    assert net.unbalanced() == ""


def test_ecmp_leaves_its_path_when_it_is_dead() -> None:
    net = network(paths=PATHS, path_policy=_core.PathPolicy.ecmp)
    run(net, range(1, 2))
    [home] = [path for path, copies in enumerate(net.path_stats(0)["tx_path"]) if copies]
    net.set_hook(lambda p: "drop" if p.path_id == home else None)
    run(net, range(2, 6))
    assert run(net, range(6, 9))[home] == 0
    assert net.unbalanced() == ""


@policies(SPREADING)
def test_what_a_congested_path_gets(policy: Any) -> None:
    """Every packet on path 2 comes with a mark: policies that listen use it less."""
    net = network(paths=PATHS, path_policy=policy, window=16)
    net.set_hook(lambda p: "mark" if p.path_id == 2 else None)
    run(net, range(1, 4))
    sent = run(net, range(4, 24))
    assert [net.path_state(0, 1, path) for path in (1, 2, 3)] == ["good", "skip", "good"]
    fair = sum(sent.values()) / PATHS
    if policy == _core.PathPolicy.oblivious:
        assert sent[2] == pytest.approx(fair, rel=0.1)
    else:
        assert sent[2] < 0.8 * fair
    assert retransmitted(net) == {}


@policies(SPREADING)
def test_a_path_that_is_congested_no_more_gets_its_part_again(policy: Any) -> None:
    """As many arrivals as it had marks are no news; those after them are good ones."""
    net = network(paths=PATHS, path_policy=policy, window=16)
    net.set_hook(lambda p: "mark" if p.path_id == 2 else None)
    run(net, range(1, 4))
    net.set_hook(None)
    run(net, range(4, 8))
    sent = run(net, range(8, 24))
    assert sent[2] == pytest.approx(sum(sent.values()) / PATHS, rel=0.05)
    assert [net.path_state(0, 1, path) for path in range(PATHS)] == ["good"] * PATHS


@policies(POLICIES)
def test_a_denied_path_gets_nothing(policy: Any) -> None:
    net = network(paths=PATHS, path_policy=policy)
    seen: Counter[tuple[int, bool]] = Counter()

    def hook(p: Any) -> None:
        seen[p.path_id, p.type == DATA] += p.src == 0

    net.set_hook(hook)
    for path in (0, 1, 5, 7):
        net.deny_path(0, path, True)
    run(net, range(1, 9))
    assert {path for (path, _), packets in seen.items() if packets} <= {2, 3, 4, 6}
    assert net.path_state(0, 1, 5) == "denied"
    for path in (0, 1, 5, 7):
        net.deny_path(0, path, False)
    assert net.path_state(0, 1, 5) == "good"


def test_with_all_paths_denied_the_job_goes_on() -> None:
    net = network(paths=PATHS)
    for path in range(PATHS):
        net.deny_path(0, path, True)
    run(net, range(1, 3))
    assert net.unbalanced() == ""


@policies(POLICIES)
def test_losses_on_all_paths_are_not_the_paths_fault(policy: Any) -> None:
    """Every second packet is lost, on whatever path: at least half of the paths stay in use."""
    net = network(paths=PATHS, path_policy=policy)
    net.set_hook(lambda p: "trim" if p.type == DATA and p.attempt == 0 and p.number % 2 else None)
    run(net, range(1, 20))
    bad = [path for path in range(PATHS) if net.path_state(0, 1, path) == "assumed_bad"]
    assert len(bad) <= PATHS // 2
    assert net.unbalanced() == ""


def order(net: Any, messages: range, lost: Collection[tuple[int, int]] = (), dst: int = 1) -> list[int]:
    """The paths of first copies, in order; `lost`: which packet of which message is lost silently."""
    taken: list[int] = []

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.attempt != 0:
            return None
        taken.append(p.path_id)
        return "drop" if (p.coll_seq, p.pkt_idx) in lost else None

    net.set_hook(hook)
    run(net, messages, dst)
    net.set_hook(None)
    return taken


@policies([policy for policy in SPREADING if policy != _core.PathPolicy.reps])
@pytest.mark.parametrize("parity", [False, True])
def test_one_silent_loss_changes_nobodys_round(policy: Any, parity: bool) -> None:
    """It may have been lost anywhere: first copies take the paths of a run without."""
    settings = {"paths": PATHS, "path_policy": policy, "window": 16, "parity": parity}
    expected = order(network(**settings), range(1, 9))
    net = network(**settings)
    assert order(net, range(1, 9), {(2, 30), (4, 77), (6, 2)}) == expected
    assert (retransmitted(net) != {}) or total(net, "rx_by_parity") > 0


@policies([_core.PathPolicy.reps])
def test_one_silent_loss_takes_a_path_from_no_round_of_recycled_ones(policy: Any) -> None:
    """But while it is waited for its path has no turn."""
    net = network(paths=PATHS, path_policy=policy, window=16, parity=False, fixed_interval=50 * US)
    order(net, range(1, 3), {(2, 30)})
    counts = Counter(order(net, range(3, 11)))
    assert max(counts.values()) - min(counts.values()) <= 2, counts


@policies([_core.PathPolicy.bitmap, _core.PathPolicy.mixed])
def test_a_path_that_loses_again_and_again_is_passed_over(policy: Any) -> None:
    """Every second first copy on path 3, which has not made up for the one before by then."""
    net = network(paths=PATHS, path_policy=policy, window=16, parity=False)
    seen = itertools.count()
    net.set_hook(
        lambda p: "drop" if p.type == DATA and p.path_id == 3 and not p.attempt and next(seen) % 2 else None
    )
    sent = run(net, range(1, 20))
    assert sent[3] < 0.5 * sum(sent.values()) / PATHS


def to_a_third_peer(policy: Any, losing: Collection[int]) -> Counter[int]:
    """DATA copies by path to rank 3, after every second first copy to ranks `losing` was lost on path 3."""
    net = network(4, paths=PATHS, path_policy=policy, window=16, parity=False)
    seen = itertools.count()
    net.set_hook(
        lambda p: "drop" if p.type == DATA and p.path_id == 3 and not p.attempt and next(seen) % 2 else None
    )
    for coll_seq, dst in enumerate(losing, 1):
        transfer(net, MESSAGE, dst=dst, coll_seq=coll_seq)
    net.set_hook(None)
    sent = run(net, range(10, 11), dst=3)
    assert net.unbalanced() == ""
    return sent


HEEDFUL = [policy for policy in SPREADING if policy != _core.PathPolicy.oblivious]


@policies(HEEDFUL)
def test_what_packets_to_two_peers_met_on_a_path_a_third_ones_are_spared(policy: Any) -> None:
    sent = to_a_third_peer(policy, [1, 2])
    assert sent[3] <= 2
    assert min(copies for path, copies in sent.items() if path != 3) > PACKETS / PATHS / 2


@policies(HEEDFUL)
def test_what_is_lost_on_the_way_to_one_subnet_spares_packets_to_others_nothing(policy: Any) -> None:
    """Addresses go up with ranks: those from 255 on are of the second subnet of 256."""
    net = network(260, paths=PATHS, path_policy=policy, window=16, parity=False)
    seen = itertools.count()

    def hook(p: Any) -> str | None:
        beyond = p.type == DATA and p.dst >= 255 and p.path_id == 3 and not p.attempt
        return "drop" if beyond and next(seen) % 2 else None

    net.set_hook(hook)
    for turn in range(3):
        for dst in (255, 1, 2, 3, 256, 4, 5, 6):
            run(net, range(turn + 1, turn + 2), dst)
    net.set_hook(None)
    assert run(net, range(10, 11), dst=257)[3] <= 2
    assert run(net, range(10, 11), dst=7)[3] == pytest.approx(PACKETS / PATHS, abs=2)


@policies(HEEDFUL)
def test_what_one_peer_loses_on_a_path_is_no_matter_of_others(policy: Any) -> None:
    """It may be lost anywhere on the way to that one."""
    assert to_a_third_peer(policy, [1, 1, 1]) == to_a_third_peer(policy, [])


@policies([_core.PathPolicy.bitmap, _core.PathPolicy.mixed])
def test_what_all_paths_lose_alike_spares_none_of_them(policy: Any) -> None:
    net = network(4, paths=PATHS, path_policy=policy, window=16, parity=False)
    seen: Counter[int] = Counter()

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.attempt:
            return None
        seen[p.path_id] += 1
        return "drop" if seen[p.path_id] % 4 == 0 else None

    net.set_hook(hook)
    for coll_seq, dst in enumerate([1, 2] * 3, 1):
        transfer(net, MESSAGE, dst=dst, coll_seq=coll_seq)
    net.set_hook(None)
    assert max(Counter(order(net, range(10, 11), dst=3)).values()) == -(-PACKETS // PATHS)


@policies([_core.PathPolicy.oblivious, _core.PathPolicy.ecmp])
def test_who_hears_of_no_marks_takes_the_path_all_the_same(policy: Any) -> None:
    assert to_a_third_peer(policy, [1, 2]) == to_a_third_peer(policy, [])


@policies([_core.PathPolicy.bitmap, _core.PathPolicy.mixed])
def test_a_path_that_was_passed_over_for_others_losses_is_found_whole_again(policy: Any) -> None:
    net = network(4, paths=PATHS, path_policy=policy, window=16, parity=False)
    net.set_hook(lambda p: "drop" if p.type == DATA and p.path_id == 3 and not p.attempt else None)
    for coll_seq, dst in enumerate([1, 2, 1, 2], 1):
        transfer(net, MESSAGE, dst=dst, coll_seq=coll_seq)
    net.set_hook(None)
    assert run(net, range(5, 6), dst=3)[3] <= 2
    run(net, range(6, 17), dst=3)
    assert run(net, range(17, 18), dst=3)[3] == pytest.approx(PACKETS / PATHS, abs=2)


def test_where_all_paths_lose_the_one_that_lost_more_is_left_for_longer() -> None:
    """A packet that a switch cut costs its path four turns, also while the other one has to pay, too."""
    left = {0: 7, 1: 5}

    def hook(p: Any) -> str | None:
        if p.type != DATA or p.attempt or not left[p.path_id]:
            return None
        left[p.path_id] -= 1
        return "trim"

    net = network(paths=2, path_policy=_core.PathPolicy.bitmap, window=16, hook=hook, parity=False)
    transfer(net, content(16 * 64))
    assert left == {0: 0, 1: 0}
    taken = order(net, range(2, 4))
    assert taken.index(0) in (4 * 7, 4 * 7 + 1)
    assert taken[40:].count(0) == pytest.approx(taken[40:].count(1), abs=1)


@policies([_core.PathPolicy.mixed])
def test_while_all_paths_are_alike_they_are_taken_in_turn(policy: Any) -> None:
    """Also where what arrived is told out of order, as where a packet of a window is lost."""
    net = network(paths=PATHS, path_policy=policy, window=16)
    taken = order(net, range(1, 5), {(2, 30), (3, 60)})
    assert all((b - a) % PATHS == 1 for a, b in itertools.pairwise(taken))


@policies(POLICIES)
def test_a_retransmission_takes_another_path(policy: Any) -> None:
    copies: dict[tuple[int, int], list[int]] = {}

    def hook(p: Any) -> str | None:
        if p.type != DATA:
            return None
        copies.setdefault((p.coll_seq, p.pkt_idx), []).append(p.path_id)
        return "drop" if p.pkt_idx % 7 == 0 and p.attempt < 2 else None

    net = network(paths=PATHS, path_policy=policy, hook=hook, parity=False)
    run(net, range(1, 4))
    repeated = [paths for paths in copies.values() if len(paths) > 1]
    assert len(repeated) == 3 * 15
    assert all(a != b for paths in repeated for a, b in itertools.pairwise(paths))


@policies([_core.PathPolicy.oblivious, _core.PathPolicy.mixed])
def test_a_retransmission_takes_a_path_on_which_nothing_was_lost(policy: Any) -> None:
    """Three paths side by side are dead and not yet assumed to be."""
    copies: Counter[int] = Counter()

    def hook(p: Any) -> str | None:
        copies[p.pkt_idx] += p.type == DATA
        return "drop" if p.type == DATA and p.path_id in (2, 3, 4) else None

    net = network(paths=PATHS, path_policy=policy, hook=hook, parity=False)
    transfer(net, content(16 * 64))
    assert Counter(copies.values()) == {1: 10, 2: 6}


@policies(POLICIES)
def test_one_path_alone(policy: Any) -> None:
    net = network(paths=1, path_policy=policy)
    net.set_hook(lambda p: "drop" if p.type == DATA and p.attempt == 0 and p.pkt_idx % 3 == 0 else None)
    run(net, range(1, 4))
    assert net.path_state(0, 1, 0) != "assumed_bad"
    assert net.unbalanced() == ""

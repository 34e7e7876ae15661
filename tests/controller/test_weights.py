"""Weights become buckets: the right shares, evenly mixed, and few changes."""

from collections import Counter
from itertools import pairwise

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import Edge, End, Fabric, fat_tree, leaf_spine
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.weights import BUCKETS, derived_weights, effective_weights, interleaved
from csaud_controller.program.entities import TableState
from csaud_controller.switches.reconcile import plan
from hypothesis import given
from hypothesis import strategies as st

FABRIC = leaf_spine(3, 2, 1)


def slow(fabric: Fabric, *links: str, rate: int = 50_000_000) -> Fabric:
    """The fabric with links of 50 instead of 200 Mbit/s."""

    def slowed(edge: Edge) -> Edge:
        return edge.model_copy(update={"rate": rate}) if f"{edge.a}-{edge.b}" in links else edge

    changed = fabric.model_copy(update={"edges": [slowed(edge) for edge in fabric.edges]})
    return Fabric.model_validate(changed.model_dump())


def buckets(fabric: Fabric, switch: str, live: LiveView | None = None, **policy: object) -> dict[int, list]:
    """Group -> the index of each of its buckets."""
    intent = Intent(policy=Policy.model_validate(policy))
    state = desired_states(fabric, intent, live or LiveView())[switch]
    found: dict[int, list] = {}
    for entry in sorted(state.entries.values(), key=lambda e: e.key):
        if entry.table == "spray.buckets":
            match = dict(entry.match)
            row = found.setdefault(match["group"], [None] * BUCKETS)  # type: ignore[arg-type]
            row[match["bucket"]] = dict(entry.action.args)["index"]  # type: ignore[index, union-attr]
    return found


def test_shares_are_proportional_and_evenly_mixed() -> None:
    order = interleaved([3, 1])
    assert Counter(order) == {0: 48, 1: 16}
    assert order == [0, 0, 1, 0] * 16
    assert interleaved([1, 1, 1, 1]) == [0, 1, 2, 3] * 16
    assert Counter(interleaved([5, 0, 2])) == {0: 46, 2: 18}


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=16).filter(any))
def test_any_weights_fill_all_buckets_and_no_port_waits_much_longer_than_its_share(
    weights: list[int],
) -> None:
    order = interleaved(weights)
    counts = Counter(order)
    assert len(order) == BUCKETS
    for index, weight in enumerate(weights):
        assert abs(counts[index] - weight * BUCKETS / sum(weights)) < 1
        places = [at for at, found in enumerate(order) if found == index]
        gaps = [b - a for a, b in pairwise([*places, places[0] + BUCKETS])] if places else []
        assert all(gap <= 2 * BUCKETS / counts[index] + 1 for gap in gaps)


def test_equal_weights_need_no_buckets() -> None:
    assert buckets(FABRIC, "l1") == {}


def test_weights_follow_the_slowest_link_on_the_way() -> None:
    fabric = slow(FABRIC, "l2-s2")
    assert derived_weights(fabric, "l2")["l1"] == {1: 200_000_000, 2: 50_000_000}
    assert effective_weights(fabric, {}, "l1", "l2") == {1: 4, 2: 1}
    found = buckets(fabric, "l1")
    assert list(found) == [2], "the slow link is on no way from l1 to l3"
    assert Counter(found[2]) == {0: 51, 1: 13}


def test_weights_of_three_tiers_count_what_is_behind_the_next_switch() -> None:
    fabric = fat_tree(4)
    assert len(set(derived_weights(fabric, "e8")["e1"].values())) == 1
    live = LiveView(frozenset({End("a1", 1)}))
    assert derived_weights(fabric, "e8", live)["e1"] == {1: 200_000_000, 2: 400_000_000 // 2}
    thin = slow(fabric, "a1-c1", rate=20_000_000)
    assert derived_weights(thin, "e8")["a1"] == {1: 20_000_000, 2: 200_000_000}
    assert derived_weights(slow(fabric, "a1-c1", "a1-c2", rate=20_000_000), "e8")["e1"] == {
        1: 40_000_000,
        2: 200_000_000,
    }


def test_a_link_without_a_limit_counts_as_the_fastest() -> None:
    assert effective_weights(slow(FABRIC, "l2-s1", rate=0), {}, "l1", "l2") == {1: 1, 2: 1}


def test_weights_that_were_set_hold_for_their_destination_or_for_all() -> None:
    weights = {"l1": {"all": {1: 1, 2: 3}, "l3": {1: 1, 2: 0}}}
    found = buckets(FABRIC, "l1", weights=weights)
    assert {group: Counter(order) for group, order in found.items()} == {2: {0: 16, 1: 48}, 3: {0: 64}}
    assert buckets(FABRIC, "l2", weights=weights) == {}


def test_indices_are_places_among_the_ports_that_are_left() -> None:
    fabric = leaf_spine(2, 3, 1)
    weights = {"l1": {"l2": {1: 1, 2: 1, 3: 2}}}
    found = buckets(fabric, "l1", LiveView(frozenset({End("l1", 2)})), weights=weights)
    assert Counter(found[2]) == {0: 21, 1: 43}


def test_nobody_sprays_by_weight_nobody_needs_buckets() -> None:
    policy = {"weights": {"l1": {"all": {1: 1, 2: 3}}}, "honour_hosts": False}
    assert buckets(FABRIC, "l1", **policy) == {}
    assert buckets(FABRIC, "l1", **policy, spray="weighted")
    assert buckets(FABRIC, "l1", **policy, overrides=[{"spray": "weighted", "cls": 1}])


def test_a_change_of_weights_only_writes_the_buckets_that_change() -> None:
    def state(first: int, second: int) -> TableState:
        policy = Policy(weights={"l1": {"l2": {1: first, 2: second}}})
        return desired_states(FABRIC, Intent(policy=policy))["l1"]

    (step,) = plan(state(3, 1), state(4, 1))
    assert step.verb == "modify"
    assert {item.table for item in step.items} == {"spray.buckets"}  # type: ignore[union-attr]
    assert len(step.items) < BUCKETS / 2
    assert [s.verb for s in plan(state(1, 1), state(3, 1))] == ["insert"]
    assert [s.verb for s in plan(state(3, 1), state(1, 1))] == ["delete"]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"l9": {"l1": {1: 1}}}, "unknown switch 'l9'"),
        ({"l1": {"s1": {1: 1, 2: 1}}}, "unknown destination 's1'; expected one of all, l2, l3"),
        ({"l1": {"l2": {1: 1}}}, r"expected a weight for each of its ports there \(1=W 2=W\)"),
        ({"s1": {"l2": {1: 1, 2: 1, 3: 1}}}, r"for each of its ports there \(2=W\)"),
        ({"l1": {"all": {1: 0, 2: 0}}}, "at least one weight above 0"),
    ],
)
def test_mistakes_in_weights_are_named(weights: dict, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        Policy(weights=weights).check(FABRIC)

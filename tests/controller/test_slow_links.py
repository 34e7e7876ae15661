"""Slow links are told from busy ones by what others of their kind carry."""

import pytest
from csaud_controller.inventory import End, fat_tree, leaf_spine
from csaud_controller.links.slow import Carried, alike, slow

FABRIC = leaf_spine(2, 4)
GROUPS = alike(FABRIC, FABRIC.edge_at)
RATES = {end: FABRIC.capacity_at[end.node][end.port] for group in GROUPS for end in group}
FINE = Carried(10_000_000, 2500, 0)
SLOW = Carried(5_000_000, 1250, 50)


def found(**ports: Carried) -> list[str]:
    """Directions that are slow, where all other ports are fine."""
    carried = dict.fromkeys(RATES, FINE)
    carried |= {End(*_end(port)): each for port, each in ports.items()}
    return [str(end) for end in slow(0.01, GROUPS, carried, RATES)]


def _end(text: str) -> tuple[str, int]:
    node, _, port = text.rpartition("_")
    return node, int(port)


def test_links_are_alike_that_join_one_switch_to_the_next_tier() -> None:
    assert [[str(end) for end in group] for group in alike(leaf_spine(2, 2), leaf_spine(2, 2).edge_at)] == [
        ["l1:1", "l1:2"],
        ["s1:1", "s2:1"],
        ["l2:1", "l2:2"],
        ["s1:2", "s2:2"],
    ]
    fabric = fat_tree(4)
    groups = alike(fabric, fabric.edge_at)
    assert len(groups) == 2 * (8 + 8), "edge and aggregation switches, both ways"
    assert all(len(group) == 2 for group in groups)
    ends = [end for group in groups for end in group]
    assert len({*ends}) == len(ends) == 2 * len(fabric.switch_edges())
    assert alike(fabric, ()) == []


def test_the_port_that_presses_and_carries_no_more_than_others_is_slow() -> None:
    assert found(l1_2=SLOW) == ["l1:2"]
    assert found(s2_1=SLOW) == ["s2:1"], "that way is alike to those of other spines to the leaf"


@pytest.mark.parametrize(
    "ports",
    [
        {f"l1_{port}": SLOW for port in range(1, 5)},
        {f"l1_{port}": SLOW for port in range(1, 3)} | {"l1_3": Carried(10_000_000, 2500, 45)},
        {"l1_2": Carried(12_000_000, 3000, 500)},
        {"l1_2": Carried(50_000, 12, 10)},
        {"l1_2": Carried(10_000_000, 2500, 24)},
    ],
    ids=["all of them", "most of them", "it carries more", "next to nothing", "a little"],
)
def test_congestion_is_no_slow_link(ports: dict[str, Carried]) -> None:
    assert found(**ports) == []


def test_a_link_that_is_known_to_be_slower_may_carry_less_but_not_as_much() -> None:
    rates = RATES | {End("l1", 2): RATES[End("l1", 2)] // 4}
    for sent, is_slow in ((2_500_000, True), (9_000_000, False)):
        carried = dict.fromkeys(RATES, FINE) | {End("l1", 2): Carried(sent, sent // 4000, sent // 40_000)}
        assert [*slow(0.01, GROUPS, carried, rates)] == [End("l1", 2)] * is_slow


def test_a_port_that_nothing_is_known_of_says_nothing() -> None:
    assert slow(0.01, GROUPS, {End("l1", 2): SLOW}, RATES) == {}
    assert [*slow(0.01, GROUPS, {End("l1", 2): SLOW, End("l1", 3): FINE}, RATES)] == [End("l1", 2)]

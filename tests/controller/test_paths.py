"""Shortest paths, groups that are stable, and what a failure changes."""

from ipaddress import IPv4Network
from itertools import pairwise

from csaud_controller.inventory import Edge, End, Fabric, HostSpec, SwitchSpec, leaf_spine
from csaud_controller.paths.equal_cost import (
    FIRST_LOCAL_GROUP,
    host_paths,
    next_ports,
    prefixes,
)
from csaud_controller.paths.live import ALL_UP, LiveView
from hypothesis import given
from hypothesis import strategies as st

from tests.support.from_nothing import switch_paths


def dead(*ends: tuple[str, int]) -> LiveView:
    return LiveView(frozenset(End(*end) for end in ends))


def test_remote_leaves_are_reached_over_all_spines_and_local_hosts_directly() -> None:
    l1 = switch_paths(leaf_spine(4, 3))["l1"]
    assert l1.routes == {
        IPv4Network("10.0.1.1/32"): FIRST_LOCAL_GROUP + 4,
        IPv4Network("10.0.1.2/32"): FIRST_LOCAL_GROUP + 5,
        IPv4Network("10.0.2.0/24"): 2,
        IPv4Network("10.0.3.0/24"): 3,
        IPv4Network("10.0.4.0/24"): 4,
    }
    local = {FIRST_LOCAL_GROUP + 4: (4,), FIRST_LOCAL_GROUP + 5: (5,)}
    assert l1.groups == local | {2: (1, 2, 3), 3: (1, 2, 3), 4: (1, 2, 3)}
    s2 = switch_paths(leaf_spine(4, 3))["s2"]
    assert s2.groups == {1: (1,), 2: (2,), 3: (3,), 4: (4,)}


def test_other_leaves_stop_using_the_spine_that_lost_its_link() -> None:
    paths = switch_paths(leaf_spine(4, 4), dead(("l1", 2)))
    for leaf in ("l2", "l3", "l4"):
        assert paths[leaf].groups[1] == (1, 3, 4)  # towards l1: not by s2
        others = {group for group in (2, 3, 4) if group in paths[leaf].groups}
        assert all(paths[leaf].groups[group] == (1, 2, 3, 4) for group in others)
    assert all(paths["l1"].groups[group] == (1, 3, 4) for group in (2, 3, 4))
    assert paths["s2"].groups[1] == ()  # no way down through another leaf and up again


def test_a_failure_changes_members_of_groups_and_nothing_else() -> None:
    fabric = leaf_spine(4, 4)
    before, after = switch_paths(fabric), switch_paths(fabric, dead(("l1", 2), ("l3", 1)))
    for name in fabric.switches:
        assert before[name].routes == after[name].routes
        assert before[name].groups.keys() == after[name].groups.keys()


def test_a_dead_switch_is_avoided_by_the_others_but_is_itself_programmed_in_full() -> None:
    fabric = leaf_spine(2, 3)
    paths = switch_paths(fabric, LiveView(dead_switches=frozenset({"s2"})))
    assert paths["l1"].groups[2] == (1, 3)
    assert paths["s2"].groups == {1: (1,), 2: (2,)}


def test_without_any_uplink_there_is_no_path() -> None:
    fabric = leaf_spine(2, 2)
    assert host_paths(fabric, "h1", "h3", dead(("l1", 1), ("l1", 2))) == []
    assert host_paths(fabric, "h1", "h2", dead(("l1", 1), ("l1", 2))) == [[End("l1", 4)]]


def test_paths_between_hosts_name_the_ports() -> None:
    assert host_paths(leaf_spine(2, 2), "h1", "h4") == [
        [End("l1", 1), End("s1", 2), End("l2", 4)],
        [End("l1", 2), End("s2", 2), End("l2", 4)],
    ]


def line_of_three() -> Fabric:
    """a - b - c, all of role leaf: without transit through b there would be no path."""
    return Fabric(
        name="line",
        switches={name: SwitchSpec(device_id=number) for number, name in enumerate("abc", 1)},
        hosts={
            f"h{n}": HostSpec.model_validate({"ip": f"10.0.{n}.1", "mac": f"02:00:00:00:00:0{n}"})
            for n in (1, 2)
        },
        edges=[
            Edge(a="a", a_port=1, b="b", b_port=1),
            Edge(a="b", a_port=2, b="c", b_port=1),
            Edge(a="a", a_port=2, b="h1", b_port=0),
            Edge(a="c", a_port=2, b="h2", b_port=0),
        ],
    )


def test_leaves_carry_transit_where_the_fabric_is_not_connected_otherwise() -> None:
    assert next_ports(line_of_three(), "c") == {"a": (1,), "b": (2,)}


def test_parallel_links_are_separate_ports_of_a_group() -> None:
    fabric = leaf_spine(2, 1)
    doubled = fabric.model_copy(update={"edges": [*fabric.edges, Edge(a="l1", a_port=9, b="s1", b_port=9)]})
    doubled = Fabric.model_validate(doubled.model_dump())
    assert next_ports(doubled, "l2")["l1"] == (1, 9)
    assert next_ports(doubled, "l2", dead(("l1", 1)))["l1"] == (9,)


def test_hosts_of_several_switches_in_one_24_are_routed_one_by_one() -> None:
    fabric = leaf_spine(2, 1, 1)
    hosts = dict(fabric.hosts) | {
        "h2": HostSpec.model_validate({"ip": "10.0.1.9", "mac": "02:00:00:00:00:02"})
    }
    mixed = fabric.model_copy(update={"hosts": hosts})
    assert prefixes(mixed) == {"l1": [IPv4Network("10.0.1.1/32")], "l2": [IPv4Network("10.0.1.9/32")]}


@given(
    leaves=st.integers(2, 5),
    spines=st.integers(1, 5),
    failed=st.sets(st.tuples(st.integers(1, 5), st.integers(1, 5))),
    gone=st.sets(st.integers(1, 5)),
)
def test_every_group_leads_closer_over_live_links_only(
    leaves: int, spines: int, failed: set[tuple[int, int]], gone: set[int]
) -> None:
    fabric = leaf_spine(leaves, spines, 1)
    links = frozenset(End(f"l{k}", j) for k, j in failed if k <= leaves and j <= spines)
    live = LiveView(links, frozenset(f"s{j}" for j in gone if j <= spines))
    paths = switch_paths(fabric, live)
    for k in range(1, leaves + 1):
        usable = {
            far: tuple(
                j
                for j in range(1, spines + 1)
                if f"s{j}" not in live.dead_switches
                and End(f"l{k}", j) not in links
                and End(f"l{far}", j) not in links
            )
            for far in range(1, leaves + 1)
            if far != k
        }
        assert {far: paths[f"l{k}"].groups[far] for far in usable} == usable
    assert switch_paths(fabric, ALL_UP)["l1"].routes == paths["l1"].routes


def test_a_fabric_may_have_more_than_511_switches() -> None:
    names = [f"n{number}" for number in range(1, 601)]
    ends = {"h1": "n1", "h2": "n600"}
    fabric = Fabric(
        name="long",
        switches={name: SwitchSpec(device_id=number) for number, name in enumerate(names, 1)},
        hosts={
            name: HostSpec.model_validate({"ip": f"10.0.{name[1]}.1", "mac": f"02:00:00:00:00:0{name[1]}"})
            for name in ends
        },
        edges=[
            *(Edge(a=a, a_port=2, b=b, b_port=1) for a, b in pairwise(names)),
            *(Edge(a=switch, a_port=3, b=host, b_port=0) for host, switch in ends.items()),
        ],
    )
    paths = switch_paths(fabric)
    assert paths["n512"].groups == {1: (1,), 600: (2,)}
    assert paths["n600"].groups == {1: (1,), FIRST_LOCAL_GROUP + 3: (3,)}

"""What is drained carries nothing but what has no other way, and no order of updates loses a packet."""

import asyncio
import random
from dataclasses import replace
from functools import partial

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.desired import store
from csaud_controller.inventory import End, Fabric, fat_tree, leaf_spine
from csaud_controller.paths.equal_cost import FIRST_LOCAL_GROUP, all_next_ports, next_ports
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.drains import CutOffError, Drain, Drains
from csaud_controller.policy.intent import Intent

from tests.controller.soft import controller, desired, programmed, run_directory, switches
from tests.controller.test_controller import held
from tests.support.from_nothing import switch_groups


def drained(fabric: Fabric, *what: str, live: LiveView = ALL_UP, force: bool = False) -> LiveView:
    drains = Drains()
    for each in what:
        drains = drains.with_drain(fabric, each, live, force)
    return drains.seen_in(fabric, live)


def test_nobody_sends_over_a_drained_link_and_what_is_on_its_way_still_arrives() -> None:
    fabric = leaf_spine(3, 3)
    ports = next_ports(fabric, "l1", drained(fabric, "l1-s2"))
    assert ports["l2"] == ports["l3"] == (1, 3)
    assert ports["s2"] == (1,), "it is left with nothing else: packets that are with it already arrive"
    assert next_ports(fabric, "l2", drained(fabric, "s2-l1"))["l1"] == (1, 3)


def test_a_drained_link_carries_what_has_no_other_way() -> None:
    fabric = leaf_spine(2, 2)
    view = replace(drained(fabric, "l1-s1"), dead_links=frozenset({End("l1", 2)}))
    assert next_ports(fabric, "l2", view)["l1"] == (1,)
    assert next_ports(fabric, "l1", view)["l2"] == (1,)


def test_doubted_links_are_used_before_drained_ones() -> None:
    fabric = leaf_spine(2, 3)
    view = replace(drained(fabric, "s1"), doubted=frozenset({End("l1", 2), End("l1", 3)}))
    assert next_ports(fabric, "l2", view)["l1"] == (2, 3)
    assert next_ports(fabric, "l2", replace(view, doubted=frozenset({End("l1", 2)})))["l1"] == (3,)


@pytest.mark.parametrize("fabric", [leaf_spine(3, 3), fat_tree(4)], ids=lambda f: f.name)
@pytest.mark.parametrize("seed", range(20))
def test_in_whatever_order_switches_hear_of_drains_no_packet_is_lost_or_goes_in_circles(
    fabric: Fabric, seed: int
) -> None:
    """Packets walk while some switches hold the tables of before and others those of after."""
    print(f"seed {seed}")
    draw = random.Random(seed)
    before, after = Drains(), Drains()
    switches = [name for name in fabric.switches if not fabric.host_ports(name)]
    names = [f"{edge.a}-{edge.b}" for edge in fabric.switch_edges()] + switches
    for drains in (0, 1):
        made = Drains()
        for what in draw.sample(names, 3):
            try:
                made = made.with_drain(fabric, what, ALL_UP)
            except CutOffError:
                continue
        before, after = (made, after) if drains == 0 else (before, made)
    tables = [all_next_ports(fabric, drains.seen_in(fabric, ALL_UP)) for drains in (before, after)]
    heard = {name: draw.randrange(2) for name in fabric.switches}
    for destination in tables[0]:
        for start in tables[0]:
            at, hops = start, 0
            while at != destination:
                ports = tables[heard[at]][destination][at]
                assert ports, f"{at} has no way to {destination}"
                at = fabric.peers[at][draw.choice(ports)].node
                hops += 1
                assert hops < 10, f"from {start} to {destination}"


def test_what_would_cut_hosts_off_is_refused_by_name_and_done_by_force() -> None:
    fabric = leaf_spine(2, 2)
    once = Drains().with_drain(fabric, "l1-s1", ALL_UP)
    with pytest.raises(CutOffError, match="draining l1-s2 would cut off h1, h2"):
        once.with_drain(fabric, "l1-s2", ALL_UP)
    with pytest.raises(CutOffError, match="draining l1 would cut off h1, h2: --force does it"):
        Drains().with_drain(fabric, "l1", ALL_UP)
    forced = Drains().with_drain(fabric, "l1", ALL_UP, force=True).seen_in(fabric, ALL_UP)
    assert next_ports(fabric, "l2", forced)["l1"] == ()
    groups = switch_groups(fabric, forced, all_next_ports(fabric, forced))["l1"]
    assert groups[FIRST_LOCAL_GROUP + 3] == ()


@pytest.mark.parametrize(("hosts", "said"), [(6, ""), (40, " and 34 more hosts")])
def test_of_many_hosts_that_would_be_cut_off_the_first_are_named_and_the_others_counted(
    hosts: int, said: str
) -> None:
    with pytest.raises(CutOffError, match=f"cut off h1, h2, h3, h4, h5, h6{said}: --force"):
        Drains().with_drain(leaf_spine(2, 2, hosts), "l1", ALL_UP)


def test_force_that_was_not_needed_loses_nothing() -> None:
    fabric = leaf_spine(2, 2)
    assert Drains().with_drain(fabric, "s1", ALL_UP, force=True).rules == (Drain(what="s1"),)


def test_a_link_that_failed_counts_when_hosts_would_be_cut_off() -> None:
    fabric = leaf_spine(3, 2)
    live = LiveView(frozenset({End("l1", 2)}))
    with pytest.raises(CutOffError, match="would cut off h1, h2"):
        Drains().with_drain(fabric, "s1", live)
    assert Drains().with_drain(fabric, "l2-s2", live).rules == (Drain(what="l2-s2"),)


def test_a_drained_host_gets_nothing_any_more() -> None:
    fabric = leaf_spine(2, 2)
    view = drained(fabric, "h1")
    groups = switch_groups(fabric, view, all_next_ports(fabric, view))["l1"]
    assert groups[FIRST_LOCAL_GROUP + 3] == ()
    assert groups[FIRST_LOCAL_GROUP + 4] == (4,)


def test_unknown_things_are_named() -> None:
    with pytest.raises(
        FieldError, match="unknown link, switch or host 'l9-s1'; expected a link such as l1-s1"
    ):
        Drains().with_drain(leaf_spine(2, 2), "l9-s1", ALL_UP)


def test_a_link_is_drained_by_the_name_of_an_interface() -> None:
    plain = leaf_spine(2, 2)
    l1 = plain.switches["l1"].model_copy(update={"interfaces": {1: "Ethernet8"}})
    fabric = plain.model_copy(update={"switches": {**plain.switches, "l1": l1}})
    assert drained(fabric, "l1:Ethernet8") == drained(fabric, "l1:1")
    assert not Drains().with_drain(fabric, "l1:1", ALL_UP).used_again(fabric, "l1:Ethernet8").rules
    with pytest.raises(FieldError, match="switch l1 has no port Ethernet9; expected one of 1, 2"):
        Drains().with_drain(fabric, "l1:Ethernet9", ALL_UP)


def test_the_same_drain_again_changes_nothing() -> None:
    fabric = leaf_spine(3, 3)
    drains = Drains()
    for what in ("l1-s1", "s2", "l1-s1"):
        drains = drains.with_drain(fabric, what, ALL_UP)
    assert [drain.what for drain in drains.rules] == ["l1-s1", "s2"]


def test_drains_outlive_the_controller() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run):
                fabric = run.fabric()
                save = partial(store.save, run.desired_file)
                async with controller(run, save=save) as made:
                    await made.change(Intent(drains=Drains(rules=(Drain(what="s1"),))))
                async with controller(run, stored=store.load(run.desired_file), save=save) as made:
                    await programmed(made)
                    assert made.live == drained(fabric, "s1")
                    assert await held(run) == desired(run, live=drained(fabric, "s1"))

    asyncio.run(main())


def test_a_part_of_what_is_drained_is_not_used_again_by_itself() -> None:
    fabric = leaf_spine(3, 3)
    drains = Drains()
    for what in ("s1", "l2-s1", "l1"):
        drains = drains.with_drain(fabric, what, ALL_UP, force=True)
    with pytest.raises(FieldError, match=r"^l1-s1 is drained with s1, l1: undrain that$"):
        drains.used_again(fabric, "l1-s1")
    left = drains.used_again(fabric, "l2:1")  # which was drained itself, too
    assert [drain.what for drain in left.rules] == ["s1", "l1"]
    assert left.over(fabric, "l2-s1") == ["s1"]
    assert drains.used_again(fabric, "l3-s2") == drains, "is not drained at all"

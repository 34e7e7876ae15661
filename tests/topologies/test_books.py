"""The books balance on a consistent world, and any single wrong number in it is noticed."""

from __future__ import annotations

import copy
import dataclasses

import pytest
from csaud_topologies.record.assemble import links_of
from csaud_topologies.record.books import CONTROL, DATA, KINDS, LOSS, Books, Crossing, balance

from tests.topologies import worlds


def balanced(switches, hosts, failed=(worlds.FAILED,)) -> Books:
    return balance(links_of(worlds.fabric()), switches, hosts, failed)


def line(books: Books, name: str):
    return next(line for line in books.lines if line.name == name)


def test_consistent_world_balances_and_names_every_cause():
    books = balanced(*worlds.world())
    assert books.balanced
    lost = line(books, "lost DATA copies")
    assert lost.left == 48
    assert lost.terms == {
        "injected": 10,
        "link down": 5,
        "no path": 1,
        "discarded": 1,
        "congestion": 0,
        "refused": 0,
        "cut": 31,
    }
    assert line(books, "losses signalled").left == 32
    assert line(books, "losses signalled").terms == {
        "trimmed": 24,
        "bounced": 11,
        "without room": -2,
        "LOSS injected": 0,
        "LOSS link down": 0,
        "LOSS no path": 0,
        "LOSS discarded": 0,
        "LOSS congestion": -1,
        "LOSS refused": 0,
        "LOSS of another epoch": 0,
    }
    assert line(books, "lost control packets").left == 3
    names = {each.name for each in books.lines}
    assert "losses not signalled" not in names, "a copy that both ends may know of is not either"
    assert "losses told to senders" not in names, "a LOSS that was lost has no direction"


def test_what_the_edge_refuses_is_a_cause_of_its_own():
    switches, hosts = worlds.world()
    switches["l1"].injected, switches["l1"].refused = {(1, DATA): 8}, {(3, DATA): 2}
    books = balanced(switches, hosts)
    assert books.balanced
    terms = line(books, "lost DATA copies").terms
    assert (terms["injected"], terms["refused"]) == (8, 2)


@pytest.mark.parametrize("world", [worlds.world, worlds.without_both])
def test_what_an_epoch_left_under_way_came_in_the_next_one(world):
    """A host counts it by kind alone."""
    switches, hosts = world()
    h1, h2 = hosts["h1"], hosts["h2"]
    hosts["h1"] = dataclasses.replace(h1, rx_control=h1.rx_control - 3, rx_stale_epoch=3)
    late = {"rx_stale_epoch": 7, "rx_stale_data": 5, "rx_stale_loss": 2}
    taken = {"rx_data": h2.rx_data - 5, "rx_loss_trimmed": h2.rx_loss_trimmed - 2}
    hosts["h2"] = dataclasses.replace(h2, **taken, **late, rx_duplicates=0)
    books = balanced(switches, hosts)
    assert books.balanced
    assert line(books, "losses signalled").terms["LOSS of another epoch"] == -2
    assert "losses told to receivers" not in {each.name for each in books.lines}
    for counter in late:
        wrong = dataclasses.replace(hosts["h2"], **{counter: late[counter] + 1})
        assert not balanced(switches, hosts | {"h2": wrong}).balanced


def test_messages_that_were_given_up_need_not_be_found():
    switches, hosts = worlds.world()
    hosts["h1"] = dataclasses.replace(hosts["h1"], rtx_interval=40, tx_data=1000)
    assert not balanced(switches, hosts).balanced
    books = balance(links_of(worlds.fabric()), switches, hosts, (worlds.FAILED,), cut_off=True)
    assert books.balanced and line(books, "lost DATA copies").left == 48
    assert not {"losses found", "losses not signalled"} & {each.name for each in books.lines}


def test_where_no_loss_goes_both_ways_or_is_lost_more_can_be_said():
    books = balanced(*worlds.without_both())
    assert books.balanced
    assert line(books, "losses told to receivers").left == 23
    assert line(books, "losses told to senders").left == 6
    # 10 injected + 5 link down + 1 no path + 1 discarded, and two of which the LOSS found no room
    assert line(books, "losses not signalled").right == 19


TABLES = ["ingress", "egress", "injected", "trimmed", "bounced", "both", "congestion_dropped", "no_path"]
TABLES += ["discarded", "trim_sent", "trim_dropped", "bounce_dropped"]
FIELDS = ["tx_data", "rx_data", "rx_duplicates", "rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe"]
FIELDS += [
    "rx_stale_epoch",
    "tx_inside_data",
    "rx_inside_data",
    "tx_inside_control",
    "rx_inside_control",
    "tx_parity",
    "rx_parity",
    "rx_by_parity",
    "rx_loss_trimmed",
    "rx_loss_bounced",
    "rx_loss_repeats",
    "tx_control",
    "rx_control",
]


def numbers():
    """Every counter of the worlds that can be wrong."""
    for world in (worlds.world, worlds.without_both):
        switches, hosts = world()
        for name, counts in switches.items():
            for table in TABLES:
                for key in getattr(counts, table):
                    yield pytest.param(world, name, table, key, id=f"{world.__name__} {name} {table} {key}")
        for name in hosts:
            for field in FIELDS:
                yield pytest.param(world, name, field, None, id=f"{world.__name__} {name} {field}")


@pytest.mark.parametrize("off_by", [1, -1])
@pytest.mark.parametrize(("world", "node", "counter", "key"), list(numbers()))
def test_any_single_wrong_number_is_noticed(world, node, counter, key, off_by):
    switches, hosts = world()
    if key is None:
        value = getattr(hosts[node], counter) + off_by
        hosts[node] = dataclasses.replace(hosts[node], **{counter: value})
    else:
        getattr(switches[node], counter)[key] += off_by
    assert not balanced(switches, hosts).balanced


def test_packet_lost_on_a_link_that_was_always_up_is_unexplained():
    switches, hosts = worlds.world()
    books = balanced(switches, hosts, failed=())
    assert not books.balanced
    wrong = [crossing for crossing in books.crossings if not crossing.balanced]
    assert [(c.source, c.target, KINDS[c.kind], c.missing) for c in wrong] == [("l1", "s1", "data", 5)]
    assert line(books, "lost DATA copies").unexplained == 5


def test_link_that_gained_a_packet_is_wrong_even_if_it_was_down():
    switches, hosts = worlds.world()
    switches["s1"].ingress[(1, DATA)] = 491
    assert not balanced(switches, hosts).balanced


@pytest.mark.parametrize(
    ("missing", "was_down", "balanced"),
    [(0, False, True), (1, False, False), (-1, False, False),
     (0, True, True), (1, True, True), (7, True, True), (-1, True, False)],
)  # fmt: skip
def test_a_link_may_lose_packets_only_where_it_was_down_and_never_gains_any(missing, was_down, balanced):
    crossing = Crossing("l1", "s1", DATA, left=100, arrived=100 - missing, failed=was_down)
    assert crossing.missing == missing
    assert crossing.balanced == balanced


def test_two_errors_that_cancel_in_the_totals_are_still_found_at_the_links():
    switches, hosts = worlds.world()
    switches["l1"].injected[(1, DATA)] += 3
    switches["s2"].ingress[(1, DATA)] -= 3
    books = balanced(switches, hosts)
    assert not books.balanced
    assert {c.source for c in books.crossings if not c.balanced} == {"l1"}
    assert not next(entry for entry in books.switches if entry.name == "l1 data").balanced


def test_host_without_worker_counts_as_silent():
    switches, hosts = worlds.world()
    del hosts["h2"]
    assert not balanced(switches, hosts).balanced
    empty = {name: type(counts)() for name, counts in switches.items()}
    assert balanced(empty, {}, failed=()).balanced


def test_kinds_are_those_of_the_program():
    from csaud_controller.program.packets import KINDS as program

    assert {name: number for number, name in enumerate(KINDS)} == program
    assert (program["data"], program["control"], program["loss"]) == (DATA, CONTROL, LOSS)


def test_balance_changes_nothing_that_it_is_given():
    switches, hosts = worlds.world()
    before = copy.deepcopy((switches, hosts))
    balanced(switches, hosts)
    assert (switches, hosts) == before

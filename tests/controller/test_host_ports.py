"""Links to hosts are watched: a host that is silent is told of, and one that flaps is damped."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

from csaud_controller.control.host_watch import HostWatch
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.host_ports import ANSWERS, MISSES, QUIET, HostPorts, who_has
from csaud_controller.links.monitor import Change
from csaud_controller.links.trials import Shot
from csaud_controller.paths.live import LiveView
from scapy.layers.l2 import ARP, Ether

FABRIC = leaf_spine(2, 2)
AT = End("l1", 3)
S = 1_000_000_000


@dataclass
class Hosts:
    """All hosts of a fabric, which have sent something when they were started, and answer; those whose links
    are cut do not, nor do those that `ignore` requests."""

    ports: HostPorts = field(default_factory=lambda: HostPorts(FABRIC))
    cut: set[End] = field(default_factory=set)
    ignore: set[End] = field(default_factory=set)
    came: Counter[End] = field(default_factory=lambda: Counter({at: 3 for at, _ in FABRIC.nics()}))
    asked: Counter[End] = field(default_factory=Counter)

    def round(self, ready: tuple[str, ...] = ("l1", "l2"), closed: tuple[End, ...] = ()) -> list[Change]:
        """Switches are read, and hosts that are asked then answer."""
        changes: list[Change] = []
        for name, ports in self.ports.round(ready, closed).items():
            for at in (End(name, port) for port in ports):
                found = self.ports.counted(at, self.came[at])
                changes += found.changes
                if found.request is not None:
                    assert found.request == (at, who_has(FABRIC.nic_at(*at).ip))
                    self.asked[at] += 1
                    self.came[at] += at not in self.cut | self.ignore
        return changes

    def rounds(self, number: int) -> list[Change]:
        return [change for _ in range(number) for change in self.round()]

    def up(self, at: End) -> bool | None:
        up: bool | None = self.ports.state()[at]["up"]
        return up


PAUSE = QUIET + 1
"""Rounds from one request to the next, where a host does nothing but answer."""
KNOWN = 1 + PAUSE * ANSWERS
"""Rounds until a host is known to answer."""
GONE = QUIET + MISSES
"""Rounds from that in which a host was last heard to that in which it is told of."""


def test_a_host_is_asked_for_its_address_by_nobody() -> None:
    packet = Ether(who_has(FABRIC.nic_at("l1", 3).ip))
    assert (packet.dst, packet[ARP].op, packet[ARP].psrc) == ("ff:ff:ff:ff:ff:ff", 1, "0.0.0.0")
    assert (packet[ARP].pdst, packet[ARP].hwdst) == ("10.0.1.1", "00:00:00:00:00:00")
    assert len(packet) == 60


def test_a_host_that_is_silent_is_told_of_when_it_goes_and_when_it_comes_back() -> None:
    hosts = Hosts()
    assert hosts.rounds(KNOWN) == [], "that hosts are there is no event"
    assert hosts.up(AT) is True
    hosts.cut.add(AT)
    assert hosts.rounds(GONE - 1) == []
    (down,) = hosts.round()
    assert (down.what, down.up, down.link) == ("l1-h1", False, AT)
    assert down.why == f"{MISSES} requests, and nothing comes from the host"
    assert hosts.ports.down == {AT}
    hosts.cut.clear()
    hosts.came[AT] += 1
    (up,) = hosts.rounds(3)
    assert (up.what, up.up) == ("l1-h1", True)


def test_a_host_that_is_off_or_boots_is_not_asked_before_it_has_been_heard() -> None:
    """RFC 5227, 2.1.1: somebody else's request from 0.0.0.0 would be a conflict to a host that probes."""
    hosts = Hosts()
    hosts.came[AT] = 0
    hosts.rounds(50)
    assert hosts.asked[AT] == 0 and hosts.up(AT) is None
    hosts.came[AT] += 1
    hosts.rounds(KNOWN + 1)
    assert hosts.asked[AT] == ANSWERS
    hosts.cut.add(AT)
    (_,) = hosts.rounds(100)
    assert hosts.asked[AT] == ANSWERS + MISSES, "and not again while it is away"
    hosts.ports.switch_lost("l1")
    hosts.rounds(20)
    assert hosts.asked[AT] == ANSWERS + MISSES, "nor because its switch had no session"


def test_a_host_that_probes_for_its_address_is_not_asked_meanwhile() -> None:
    """Three packets two seconds apart, and two seconds to its claim, which is a packet, too (RFC 5227, 1.1):
    whenever the readings are between them."""
    for offset in (0.0, 0.01, 0.5, 0.99):
        hosts = Hosts()
        hosts.rounds(2)
        hosts.came[AT] += 1  # as it asks for an address
        sent = [2.0 * number for number in range(4)]
        for second in range(7):
            hosts.came[AT] += sum(second - 1 <= at - offset < second for at in sent)
            hosts.round()
            assert hosts.asked[AT] == 0, (offset, second)


def test_hosts_that_send_anyhow_are_not_asked() -> None:
    hosts = Hosts()
    for _ in range(4 * PAUSE):
        hosts.came[AT] += 1000
        assert hosts.round() == []
    assert hosts.asked[AT] == 0
    assert hosts.asked[End("l1", 4)] == 4, "once a pause: then its answer comes in"
    assert hosts.ports.state()[End("l1", 4)] == {"up": True, "answered": 3}


def test_a_host_that_answers_no_requests_is_not_told_of() -> None:
    """It sends something now and then, now and then just after it was asked."""
    hosts = Hosts(ignore={AT})
    for pause in (QUIET + 1, QUIET + 2, QUIET + 1, GONE + 5, QUIET + 1, QUIET + 1, GONE + 5):
        hosts.came[AT] += 1
        assert hosts.rounds(pause) == []
    assert hosts.up(AT) is None, "nobody knows"
    hosts.came[AT] += 1
    assert hosts.round() == []
    assert hosts.up(AT) is True


def test_one_answer_that_is_lost_is_no_harm() -> None:
    hosts = Hosts()
    hosts.rounds(KNOWN)
    for _ in range(10):
        hosts.ignore.add(AT)
        while hosts.asked[AT] == hosts.ports.state()[AT]["answered"]:
            assert hosts.round() == []
        hosts.ignore.clear()
        assert hosts.rounds(PAUSE) == []
        hosts.asked[AT] = hosts.ports.state()[AT]["answered"]
    hosts.cut.add(AT)
    (down,) = hosts.rounds(2 * GONE)
    assert not down.up


def test_nothing_is_told_of_hosts_that_were_never_heard_or_whose_switch_is_away() -> None:
    hosts = Hosts(cut={AT})
    hosts.came[AT] = 0
    assert hosts.rounds(20) == []
    assert hosts.up(AT) is None
    other = End("l2", 3)
    hosts.cut.add(other)
    for _ in range(20):
        hosts.ports.switch_lost("l2")
        assert hosts.round(("l1",)) == []
    assert hosts.up(other) is True
    hosts.came.clear()  # and l2 was restarted: it counts from 0
    asked = hosts.asked[other]
    assert hosts.rounds(20) == []
    assert (hosts.up(other), hosts.asked[other]) == (None, asked), "so may the host have been"
    hosts.cut.clear()
    hosts.came[other] += 1
    assert hosts.rounds(5) == []
    assert hosts.up(other) is True


def test_a_pause_in_the_session_is_no_miss() -> None:
    """Nor is a time in which the host was drained."""
    hosts = Hosts()
    hosts.rounds(KNOWN)
    hosts.cut.add(AT)
    for away in range(20):
        assert hosts.rounds(GONE - 1) == []
        if away % 2:
            hosts.ports.switch_lost("l1")
        else:
            assert hosts.round(closed=(AT,)) == []
        hosts.came[AT] += 1


class Task:
    """A switch's task, as much of it as hosts are watched with."""

    status = SimpleNamespace(primary=True)

    def __init__(self) -> None:
        self.asked_for, self.sent, self.told = list[int](), list[Shot](), set[End]()

    def send_shots(self, shots: Iterable[Shot]) -> None:
        """ARP goes to a host that is asked, LLDP to all."""
        for shot in shots:
            if Ether(shot.frame).haslayer(ARP):
                self.sent.append(shot)
            else:
                self.told.add(shot.out_of)

    def count_packets(self, ports: Iterable[int]) -> None:
        self.asked_for += ports


def test_a_request_leaves_when_the_switch_has_said_that_nothing_came() -> None:
    """Not a second later: by then the host may have begun to probe for its address."""
    tasks: dict[str, Any] = {name: Task() for name in FABRIC.switches}
    watch = HostWatch(FABRIC, lambda changes: None)
    for number in range(QUIET + 2):
        watch.round(number, 1.0, tasks, ())
        if number <= QUIET:
            watch.counted(AT, 5, tasks["l1"])
            assert len(tasks["l1"].sent) == (number == QUIET)
    assert [shot.out_of for shot in tasks["l1"].sent] == [AT], "nor when it is only asked"
    assert tasks["l1"].asked_for == [3, 4] * (QUIET + 2) and tasks["s1"].asked_for == []


def test_hosts_that_the_fabric_has_got_are_told_the_ports_that_they_are_wired_to() -> None:
    grown, watch = leaf_spine(3, 2), HostWatch(FABRIC, lambda changes: None)
    tasks: dict[str, Any] = {name: Task() for name in grown.switches}
    watch.follow(grown, None)
    watch.round(0, 1.0, tasks, ())
    assert {at for task in tasks.values() for at in task.told} == {at for at, _ in grown.nics()}


def test_what_is_known_of_a_host_stays_when_the_fabric_changes() -> None:
    hosts = Hosts()
    hosts.rounds(PAUSE + 2)
    grown = hosts.ports.rewired(leaf_spine(3, 2))
    assert grown.state()[AT] == {"up": True, "answered": 1}
    assert grown.state()[End("l3", 3)] == {"up": None, "answered": 0}


def test_a_host_whose_link_fails_a_hundred_times_in_ten_seconds_is_told_of_three_times() -> None:
    """Rounds of 4 ms, so that every failure is seen; other hosts send at random."""
    draw, hosts, health = Random(7), Hosts(), LinkHealth(FABRIC)
    health.damping.settings = DampingSettings()
    told: list[Change] = []
    failures, now = 0, 0
    hosts.rounds(KNOWN)
    for tick in range(2500 + 3_000):
        now += S // 250
        if tick < 2500 and tick % 25 == 0:
            hosts.cut.add(AT)
        if tick < 2500 and tick % 25 == GONE + 4:
            hosts.cut.clear()
            hosts.came[AT] += 1
        if tick >= 2500:
            now += S // 10
        for at in (End("l1", 4), End("l2", 3)):
            hosts.came[at] += draw.randrange(100)
        found = hosts.round()
        failures += sum(not change.up for change in found)
        told += health.take(found, now) + health.settle(LiveView(hosts.ports.down), now)
    assert failures == 100
    assert {change.what for change in told} == {"l1-h1"}
    assert [(change.up, "damp" in change.why) for change in told] == [
        (False, False), (True, False), (False, False), (True, False), (False, True), (True, True),
    ]  # fmt: skip
    assert told[-1].why.startswith("used again after")

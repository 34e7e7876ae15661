"""Links to hosts are watched: a host that is silent is told of, and one that flaps is damped."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from csaud_controller.inventory import End, leaf_spine
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.host_ports import MISSES, HostPorts, who_has
from csaud_controller.links.monitor import Change
from csaud_controller.paths.live import LiveView
from scapy.layers.l2 import ARP, Ether

FABRIC = leaf_spine(2, 2)
AT = End("l1", 3)
S = 1_000_000_000


@dataclass
class Hosts:
    """All hosts of a fabric, which answer; those whose links are cut do not."""

    ports: HostPorts = field(default_factory=lambda: HostPorts(FABRIC))
    cut: set[End] = field(default_factory=set)
    came: Counter[End] = field(default_factory=Counter)
    asked: Counter[End] = field(default_factory=Counter)

    def round(self, ready: tuple[str, ...] = ("l1", "l2")) -> list[Change]:
        """Switches are read, then hosts answer."""
        orders, found = self.ports.round(ready), list[Change]()
        for name, ports in orders.readings.items():
            for port in ports:
                found += self.ports.counted(End(name, port), self.came[End(name, port)])
        for shots in orders.shots.values():
            for shot in shots:
                self.asked[shot.out_of] += 1
                self.came[shot.out_of] += shot.out_of not in self.cut
        return found


def test_a_host_is_asked_for_its_address_by_nobody() -> None:
    packet = Ether(who_has(FABRIC.nic_at("l1", 3).ip))
    assert (packet.dst, packet[ARP].op, packet[ARP].psrc) == ("ff:ff:ff:ff:ff:ff", 1, "0.0.0.0")
    assert (packet[ARP].pdst, packet[ARP].hwdst) == ("10.0.1.1", "00:00:00:00:00:00")
    assert len(packet) == 60


def test_a_host_that_is_silent_is_told_of_when_it_goes_and_when_it_comes_back() -> None:
    hosts = Hosts()
    assert [hosts.round() for _ in range(5)] == [[]] * 5, "that hosts are there is no event"
    assert hosts.ports.state()[AT] is True
    hosts.cut.add(AT)
    told = [hosts.round() for _ in range(MISSES + 4)]
    (down,) = [change for changes in told for change in changes]
    assert (down.what, down.up, down.link) == ("l1-h1", False, AT)
    assert down.why == f"{MISSES} requests, and nothing comes from the host"
    assert hosts.ports.down == {AT}
    hosts.cut.clear()
    (up,) = [change for _ in range(3) for change in hosts.round()]
    assert (up.what, up.up) == ("l1-h1", True)


def test_hosts_that_send_anyhow_are_not_asked() -> None:
    hosts = Hosts()
    for _ in range(10):
        hosts.came[AT] += 1000
        assert hosts.round() == []
    assert hosts.asked[AT] == 1
    assert hosts.asked[End("l1", 4)] == 5, "every other round: its answer is what comes in"


def test_nothing_is_told_of_hosts_that_were_never_heard_or_whose_switch_is_away() -> None:
    hosts = Hosts(cut={AT})
    assert [hosts.round() for _ in range(20)] == [[]] * 20
    assert hosts.ports.state()[AT] is None
    other = End("l2", 3)
    hosts.cut.add(other)
    for _ in range(20):
        hosts.ports.switch_lost("l2")
        assert hosts.round(("l1",)) == []
    hosts.came.clear()  # and l2 was restarted: it counts from 0
    hosts.cut.clear()
    assert [hosts.round() for _ in range(5)] == [[]] * 5
    assert hosts.ports.state()[other] is True


def test_what_is_known_of_a_host_stays_when_the_fabric_changes() -> None:
    hosts = Hosts()
    for _ in range(3):
        hosts.round()
    grown = hosts.ports.rewired(leaf_spine(3, 2))
    assert grown.state()[AT] is True
    assert grown.state()[End("l3", 3)] is None


def test_a_host_whose_link_fails_a_hundred_times_in_ten_seconds_is_told_of_three_times() -> None:
    """Rounds of 10 ms, so that every failure is seen; other hosts send at random."""
    draw, hosts, health = Random(7), Hosts(), LinkHealth(FABRIC)
    health.damping.settings = DampingSettings()
    told: list[Change] = []
    failures, now = 0, 0
    for _ in range(4):
        hosts.round()
    for tick in range(1000 + 3_000):
        now += S // 100
        if tick < 1000 and tick % 5 == 0:
            hosts.cut ^= {AT}
        if tick >= 1000:
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

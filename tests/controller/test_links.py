"""Three lost probes make a link down, one that passes makes it up, a busy controller does neither."""

from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address

import pytest
from csaud_controller.inventory import End, Fabric, fat_tree, leaf_spine
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.monitor import Change, LinkMonitor
from csaud_controller.links.trials import Shot, frame
from csaud_controller.paths.equal_cost import next_ports
from csaud_controller.paths.live import LiveView
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

MS = 1_000_000


class World:
    """Plays the fabric: who is connected, which links pass probes, which control channels are slow."""

    def __init__(self, fabric: Fabric, dead_links: frozenset[End] = frozenset()) -> None:
        self.fabric = fabric
        self.monitor = LinkMonitor(fabric)
        self.monitor.start(0, dead_links)
        self.now, self.round = 0, 0
        self.cut: set[End] = set()
        self.silent: set[str] = set()
        self.changes: list[Change] = []
        self.wiring: Callable[[End], End] = lambda end: fabric.peers[end.node][end.port]
        self.forwards_nothing: set[str] = set()
        self.leaf_of = {host.ip.packed: fabric.attachment(name).node for name, host in fabric.hosts.items()}
        self.ports = {leaf: next_ports(fabric, leaf) for leaf in set(self.leaf_of.values())}
        self.come_in: Counter[End] = Counter()
        """Packets of trials, as the switches count them."""
        self.unanswered: list[End] = []
        """Ports that silent switches were asked of."""
        for name in fabric.switches:
            self.monitor.switch_ready(name, 0)

    def rounds(self, count: int, missing: set[str] = frozenset()) -> list[Change]:  # type: ignore[assignment]
        """`count` rounds; switches in `missing` have no session. Returns what changed."""
        before = len(self.changes)
        for _ in range(count):
            self.now += 150 * MS
            self.round += 1
            self.monitor.round_begins(self.round)
            orders = self.monitor.trials(self.now)
            for shots in orders.shots.values():
                for shot in shots:
                    self.forward(shot)
            asked = [End(name, port) for name, ports in orders.readings.items() for port in ports]
            asked, self.unanswered = [*self.unanswered, *asked], []
            for at in asked:
                if at.node in self.silent:
                    self.unanswered.append(at)
                else:
                    self.changes += self.monitor.counted(at, self.come_in[at])
            for name in self.fabric.switches:
                if name in missing:
                    continue
                self.monitor.sent(name, self.round)
                for port in self.fabric.uplinks(name):
                    origin = End(name, port)
                    at = self.wiring(origin)
                    heard = at.node not in missing | self.silent and name not in self.silent
                    if heard and not {origin, at} & self.cut:
                        self.changes += self.monitor.received(at, origin, self.round)
            self.changes += self.monitor.judge(self.now)
        return self.changes[before:]

    def forward(self, shot: Shot) -> None:
        """Through the switch on trial, as its tables stand, to the one behind it."""
        if shot.out_of.node in self.silent:
            return
        at = self.fabric.peers[shot.out_of.node][shot.out_of.port]
        leaf = self.leaf_of[shot.frame[30:34]]
        ports = self.ports[leaf][at.node]
        out = End(at.node, ports[int.from_bytes(shot.frame[34:36]) % len(ports)])
        beyond = self.fabric.peers[out.node][out.port]
        if at.node not in self.forwards_nothing and not {shot.out_of, at, out, beyond} & self.cut:
            self.come_in[beyond] += 1


@pytest.fixture
def world() -> World:
    return World(leaf_spine(3, 3))


def test_links_that_pass_probes_stay_up(world: World) -> None:
    assert world.rounds(100) == []
    assert world.monitor.live() == LiveView()


def test_three_lost_probes_make_a_link_down_and_one_makes_it_up(world: World) -> None:
    world.rounds(5)
    world.cut = {End("l1", 2)}
    assert world.rounds(3) == []
    (change,) = world.rounds(1)
    assert (change.what, change.up) == ("l1-s2", False)
    assert world.monitor.live().dead_links == {End("l1", 2)}
    assert world.rounds(20) == []
    world.cut = set()
    assert [(c.what, c.up) for c in world.rounds(1)] == [("l1-s2", True)]
    assert world.monitor.live() == LiveView()
    assert world.rounds(20) == []


def test_one_dead_direction_is_enough(world: World) -> None:
    world.rounds(5)
    wiring = world.wiring
    world.wiring = lambda end: End("nowhere", 1) if end == End("s2", 1) else wiring(end)
    assert [(c.what, c.up) for c in world.rounds(5) if c.what == "l1-s2"] == [("l1-s2", False)]


def test_a_silent_control_channel_is_not_a_dead_link(world: World) -> None:
    world.rounds(5)
    world.silent = {"s2"}  # connected, but neither its probes nor those that it hears get through
    assert world.rounds(8) == []
    world.silent = set()
    assert world.rounds(5) == []


def test_a_whole_control_plane_that_stalls_changes_nothing(world: World) -> None:
    world.rounds(5)
    world.silent = set(world.fabric.switches)
    assert world.rounds(200) == []
    world.silent = set()
    assert world.rounds(10) == []
    assert world.monitor.live() == LiveView()


def test_probes_that_come_in_a_burst_after_a_stall_do_not_prove_that_others_are_lost(world: World) -> None:
    """s3's probes reach all receivers but l1 at once; those for l1 are on their way when it is judged."""
    world.rounds(5)
    world.silent = {"s3"}
    world.rounds(6)
    world.silent = set()
    late = End("s3", 1)
    wiring = world.wiring
    world.wiring = lambda end: End("nowhere", 1) if end == late else wiring(end)
    assert [c for c in world.rounds(1) if c.what == "l1-s3"] == []
    world.wiring = wiring
    assert world.rounds(10) == []


def test_one_late_probe_after_rounds_that_were_left_out_is_one_probe(world: World) -> None:
    """A busy controller skips a switch; then its probes come to some receivers sooner than to others."""
    world.rounds(5)
    late = End("l1", 2)
    monitor, at = world.monitor, world.wiring(late)
    for _ in range(4):
        world.rounds(5, missing={"l1"})
        monitor.sent("l1", world.round)
        for port in (1, 3):
            monitor.received(world.wiring(End("l1", port)), End("l1", port), world.round)
        assert world.rounds(2, missing={"l1"}) == []
        monitor.received(at, late, world.round - 2)
    assert world.changes == []


def test_control_channels_of_different_speed_do_not_prove_that_probes_are_lost() -> None:
    """What l1 is told to send it sends six rounds at once; what s2 hears comes three rounds late."""
    fabric = leaf_spine(2, 3)
    monitor = LinkMonitor(fabric)
    monitor.start(0)
    for name in fabric.switches:
        monitor.switch_ready(name, 0)
    heard: dict[int, list[tuple[End, End, int]]] = {}
    changes: list[Change] = []
    for now in range(1, 200):
        monitor.round_begins(now)
        for name in fabric.switches:
            monitor.sent(name, now)
        leaves = [("l1", round_) for round_ in range(now - 5, now + 1) if now % 6 == 0] + [("l2", now)]
        sent = [(End(leaf, port), round_) for leaf, round_ in leaves for port in fabric.uplinks(leaf)]
        sent += [(End(f"s{n}", leaf), now) for n in (1, 2, 3) for leaf in (1, 2)]
        for origin, round_ in sent:
            at = fabric.peers[origin.node][origin.port]
            heard.setdefault(now + 3 * (at.node == "s2"), []).append((at, origin, round_))
        for at, origin, round_ in heard.pop(now, []):
            changes += monitor.received(at, origin, round_)
        changes += monitor.judge(now * 150 * MS)
    assert changes == []


def test_a_controller_that_was_held_up_judges_nothing_it_could_not_hear(world: World) -> None:
    world.rounds(5)
    world.cut = {End("l1", 2)}
    world.rounds(3)
    world.now += 3_000 * MS
    assert world.rounds(4) == []
    assert [c.what for c in world.rounds(1)] == ["l1-s2"]


def test_a_switch_whose_every_link_is_dead_is_noticed_without_proof(world: World) -> None:
    world.rounds(5)
    world.cut = {End("l1", port) for port in (1, 2, 3)}
    assert world.rounds(39) == []
    assert {(c.what, c.up) for c in world.rounds(30)} == {(f"l1-s{n}", False) for n in (1, 2, 3)}
    world.cut = {End("l1", 1)}
    assert {(c.what, c.up) for c in world.rounds(5)} == {(f"l1-s{n}", True) for n in (2, 3)}
    assert world.monitor.live().dead_links == {End("l1", 1)}
    world.cut = set()
    world.rounds(5)
    assert world.monitor.live() == LiveView()


def test_a_spine_whose_every_link_is_dead_is_avoided(world: World) -> None:
    world.rounds(5)
    world.cut = {End("s1", port) for port in (1, 2, 3)}
    assert [(c.what, c.up, c.why) for c in world.rounds(70)] == [
        ("s1", False, "forwards nothing, and is silent")
    ]
    world.cut = set()
    assert [(c.what, c.up) for c in world.rounds(5)] == [("s1", True)]
    assert world.monitor.live() == LiveView()


@pytest.mark.parametrize("name", ["s2", "l2"])
def test_an_agent_that_hangs_is_not_a_dead_switch(world: World, name: str) -> None:
    """Its session stands, but nothing is heard of it; its tables forward."""
    world.rounds(5)
    world.silent = {name}
    assert world.rounds(200) == []
    world.silent = set()
    assert world.rounds(50) == []
    world.cut = {End("l1", 2)}
    assert [(c.what, c.up) for c in world.rounds(6)] == [("l1-s2", False)]


def test_a_single_link_is_noticed_without_proof() -> None:
    world = World(leaf_spine(2, 1))
    world.rounds(5)
    world.cut = {End("l1", 1)}
    assert [(c.what, c.up) for c in world.rounds(40)] == [("l1-s1", False)]


def lose(world: World, *names: str) -> None:
    for name in names:
        world.monitor.switch_lost(name, world.now)


@pytest.mark.parametrize("fabric", [leaf_spine(3, 3), leaf_spine(2, 2), fat_tree(4)], ids=lambda f: f.name)
@pytest.mark.parametrize("role", ["spine", "core", "aggregation", "leaf", "edge", "all"])
def test_switches_without_a_session_that_forward_keep_their_links(fabric: Fabric, role: str) -> None:
    world = World(fabric)
    names = {name for name, spec in fabric.switches.items() if role in (spec.role, "all")}
    world.rounds(5)
    lose(world, *names)
    assert world.rounds(100, missing=names) == []
    assert world.monitor.live() == LiveView()
    for name in names:
        assert world.monitor.switch_ready(name, world.round) == []
    assert world.rounds(40) == []


@pytest.mark.parametrize("fabric", [leaf_spine(3, 3), fat_tree(4)], ids=lambda f: f.name)
def test_a_switch_that_died_is_avoided_until_it_holds_its_tables(fabric: Fabric) -> None:
    world = World(fabric)
    victim = next(name for name in fabric.switches if name not in fabric.edge_switches)
    world.rounds(5)
    lose(world, victim)
    world.forwards_nothing = {victim}
    assert [(c.what, c.up) for c in world.rounds(20, missing={victim})] == [(victim, False)]
    assert world.monitor.live() == LiveView(dead_switches=frozenset({victim}))
    assert world.rounds(100, missing={victim}) == []
    world.forwards_nothing = set()
    assert [(c.what, c.up) for c in world.monitor.switch_ready(victim, world.round)] == [(victim, True)]
    assert world.rounds(40) == []


def test_a_switch_that_died_is_told_of_in_one_line_though_a_neighbour_answers_late(world: World) -> None:
    """What came through it before it died says nothing of its links."""
    world.rounds(5)
    lose(world, "s1")
    world.rounds(10, missing={"s1"})
    world.forwards_nothing = {"s1"}
    for _ in range(12):
        world.silent = {"l2"}
        world.rounds(3, missing={"s1"})
        world.silent = set()
        world.rounds(1, missing={"s1"})
    assert [(c.what, c.up) for c in world.changes] == [("s1", False)]
    assert world.monitor.live() == LiveView(dead_switches=frozenset({"s1"}))


def test_a_switch_that_forwards_again_is_used_again_without_a_session(world: World) -> None:
    world.rounds(5)
    lose(world, "s1")
    world.forwards_nothing = {"s1"}
    world.rounds(20, missing={"s1"})
    world.forwards_nothing = set()
    assert [(c.what, c.up) for c in world.rounds(5, missing={"s1"})] == [("s1", True)]
    assert world.monitor.live() == LiveView()


def test_a_link_of_a_switch_without_a_session_is_noticed(world: World) -> None:
    world.rounds(5)
    lose(world, "s1")
    world.rounds(20, missing={"s1"})
    world.cut = {End("l2", 1)}
    assert [(c.what, c.up) for c in world.rounds(20, missing={"s1"})] == [("l2-s1", False)]
    world.cut = set()
    assert [(c.what, c.up) for c in world.rounds(5, missing={"s1"})] == [("l2-s1", True)]
    world.cut = {End("l2", 1)}
    assert [(c.what, c.up) for c in world.rounds(20, missing={"s1"})] == [("l2-s1", False)]
    assert world.monitor.switch_ready("s1", world.round) == [], "it is probed now"
    assert world.rounds(20) == []
    world.cut = set()
    assert [(c.what, c.up) for c in world.rounds(1)] == [("l2-s1", True)]


def test_a_neighbour_that_does_not_send_what_it_is_told_proves_nothing(world: World) -> None:
    """Its control channel is stuck; s1 forwards."""
    world.rounds(5)
    lose(world, "s1")
    world.silent = {"l1", "l3"}
    assert world.rounds(30, missing={"s1"}) == []


def test_a_dead_switch_is_noticed_where_nothing_else_is_left_to_prove_what_was_sent() -> None:
    """No spine has a session: no probe is heard at all, but the leaves answer."""
    world = World(leaf_spine(2, 2))
    world.rounds(5)
    lose(world, "s1", "s2")
    world.forwards_nothing = {"s2"}
    assert [(c.what, c.up) for c in world.rounds(100, missing={"s1", "s2"})] == [("s2", False)]


def test_a_packet_of_a_trial_ends_behind_the_switch_on_trial() -> None:
    packet = Ether(frame(int(IPv4Address("10.0.2.1")), 3))
    assert (packet[IP].dst, packet[IP].ttl) == ("10.0.2.1", 2)
    assert bytes(packet[UDP].payload) == bytes(18)
    told = packet[IP].chksum
    del packet[IP].chksum
    assert Ether(bytes(packet))[IP].chksum == told
    assert len({frame(1, turn) for turn in range(8)}) == 8


def test_a_leaf_is_never_avoided(world: World) -> None:
    """There is no other way to its hosts: to give it up could only do harm."""
    world.rounds(5)
    lose(world, "l1")
    world.forwards_nothing = {"l1"}
    assert world.rounds(100, missing={"l1"}) == []


def test_probes_that_pass_do_not_bring_a_switch_back_that_has_no_routes_yet(world: World) -> None:
    world.rounds(5)
    world.cut = {End("l1", 1)}
    world.rounds(5)
    lose(world, "s1")
    world.cut = set()
    origin = End("l1", 1)
    assert world.monitor.received(world.wiring(origin), origin, world.round) == []
    assert world.monitor.live().dead_links == {origin}


def test_links_of_a_switch_that_another_controller_took_keep_their_state(world: World) -> None:
    world.rounds(5)
    world.monitor.switch_unheard("s1")
    assert world.rounds(50, missing={"s1"}) == []
    assert world.monitor.live() == LiveView()
    assert world.monitor.switch_ready("s1", world.round) == []
    assert world.rounds(20) == []


def test_a_session_that_comes_back_at_once_changes_nothing(world: World) -> None:
    world.rounds(5)
    lose(world, "s1")
    world.rounds(2, missing={"s1"})
    assert world.monitor.switch_ready("s1", world.round) == []
    assert world.rounds(20) == []


def test_a_controller_that_has_just_begun_gives_switches_time() -> None:
    """They hold no tables yet, and forward nothing."""
    fabric = leaf_spine(3, 3)
    world = World(fabric)
    world.monitor = LinkMonitor(fabric)
    world.monitor.start(0)
    world.forwards_nothing = {"s1"}
    for name in fabric.switches.keys() - {"s1"}:
        world.monitor.switch_ready(name, 0)
    lose(world, "s1")  # an attempt to open a session
    assert world.rounds(20, missing={"s1"}) == []
    assert [(c.what, c.up) for c in world.rounds(20, missing={"s1"})] == [("s1", False)]


def test_links_known_to_be_dead_stay_so_until_a_probe_passes() -> None:
    world = World(leaf_spine(2, 2), frozenset({End("l1", 1)}))
    world.cut = {End("l1", 1)}
    assert world.monitor.live().dead_links == {End("l1", 1)}
    assert world.rounds(5) == []
    world.cut = set()
    assert [(c.what, c.up) for c in world.rounds(1)] == [("l1-s1", True)]


def test_a_miswired_link_is_told_by_name(world: World) -> None:
    swapped = {
        End("l1", 1): End("s2", 1),
        End("s2", 1): End("l1", 1),
        End("l1", 2): End("s1", 1),
        End("s1", 1): End("l1", 2),
    }
    right = world.wiring
    world.wiring = lambda end: swapped.get(end) or right(end)
    changes = world.rounds(10)
    assert "is wired to l1:1; the inventory says l1:2" in {c.why for c in changes if c.what == "s2:1"}
    assert world.monitor.miswired[End("s2", 1)] == End("l1", 1)
    assert world.monitor.live().dead_links == {End("l1", 1), End("l1", 2)}
    world.wiring = right
    world.rounds(1)
    assert world.monitor.miswired == {}
    assert world.monitor.live() == LiveView()


def test_why_a_link_is_not_used_is_told() -> None:
    fabric, edge = leaf_spine(2, 2), leaf_spine(2, 2).switch_edges()[0]
    health, link = LinkHealth(fabric), edge.ends[0]
    assert str(link) == "l1:1"
    health.grey[End("l2", 1)] = "loses 5.0% of packets"
    for seen, told in (
        (LiveView(), []),
        (LiveView(dead_switches=frozenset({"s1"})), ["failed: s1 forwards nothing"]),
        (LiveView(dead_switches=frozenset({"l1", "s1"})), ["failed: l1 and s1 forwards nothing"]),
        (LiveView(dead_links=frozenset({link})), ["failed: no probe passes"]),
        (LiveView(doubted=frozenset({link})), ["new: no probe has passed yet"]),
        (LiveView(doubted=frozenset({End("l1", 2)})), []),
    ):
        assert health.why_out(edge, seen, 0) == told
    health.grey[link] = "loses 7.0% of packets"
    assert health.why_out(edge, LiveView(), 0) == ["grey: loses 7.0% of packets"]

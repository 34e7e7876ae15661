"""What links decide is kept while they come and go; whatever happens, it is what follows from nothing."""

from random import Random
from typing import Any

import pytest
from csaud_controller.desired.states import DesiredStates, desired_states
from csaud_controller.inventory import Edge, End, Fabric, HostSpec, SwitchSpec, fat_tree, leaf_spine
from csaud_controller.paths.equal_cost import FIRST_LOCAL_GROUP, all_next_ports
from csaud_controller.paths.live import LiveView
from csaud_controller.paths.routing import Routing
from csaud_controller.policy.capacities import Capacities
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.weights import derived_weights
from csaud_controller.program.entities import UseGroup
from csaud_controller.program.layers import Layered, moving_parts

from tests.support.from_nothing import switch_groups

EVENTS = 20
RATES = (None, 10_000_000, 40_000_000, 100_000_000)


def any_fabric(draw: Random) -> Fabric:
    """Leaf-spine, fat-tree, or switches without any order; links of several rates, some of them doubled."""
    kind = draw.randrange(3)
    if kind == 0:
        made = leaf_spine(draw.randint(2, 5), draw.randint(1, 4), draw.randint(1, 2))
    elif kind == 1:
        made = fat_tree(4)
    else:
        made = tangle(draw)
    taken = {end for edge in made.edges for end in edge.ends}
    doubled = [
        edge.model_copy(update={"a_port": 60 + number, "b_port": 60 + number})
        for number, edge in enumerate(draw.sample(made.switch_edges(), 2 % len(made.switch_edges())))
        if End(edge.a, 60 + number) not in taken
    ]
    edges = [edge.model_copy(update={"rate": draw.choice(RATES)}) for edge in (*made.edges, *doubled)]
    return Fabric.model_validate(made.changed(edges=edges).model_dump())


def tangle(draw: Random) -> Fabric:
    """A tree of switches and links across, hosts anywhere; some switches are leaves by their role."""
    count = draw.randint(3, 9)
    names = [f"n{number}" for number in range(count)]
    pairs = [(draw.choice(names[:number]), names[number]) for number in range(1, count)]
    pairs += [tuple(draw.sample(names, 2)) for _ in range(draw.randint(0, count))]  # type: ignore[misc]
    used = dict.fromkeys(names, 0)

    def port(of: str) -> int:
        used[of] += 1
        return used[of]

    edges = [Edge(a=a, a_port=port(a), b=b, b_port=port(b)) for a, b in pairs]
    at = draw.sample(names, draw.randint(2, count))
    edges += [Edge(a=switch, a_port=port(switch), b=f"h{k}", b_port=0) for k, switch in enumerate(at)]
    return Fabric(
        name="tangle",
        switches={
            name: SwitchSpec(device_id=number, role=draw.choice(("leaf", "spine")))
            for number, name in enumerate(names, 1)
        },
        hosts={
            f"h{k}": HostSpec.model_validate({"ip": f"10.0.{k}.1", "mac": f"02:00:00:00:00:{k:02x}"})
            for k in range(len(at))
        },
        edges=edges,
    )


def after_event(draw: Random, fabric: Fabric, live: LiveView) -> LiveView:
    """Something goes or comes back; now and then several things at once, or all of them."""
    links = [edge.ends[0] for edge in fabric.switch_edges()]
    host_ends = [edge.ends[0] for edge in fabric.edges if edge.b in fabric.hosts]
    if draw.random() < 0.1:
        return LiveView()
    parts = {name: getattr(live, name) for name in ("dead_links", "drained", "doubted", "closed", "examined")}
    switches = live.dead_switches
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        what = draw.choice(("dead_links", "dead_links", "drained", "doubted", "closed", "examined", "switch"))
        if what == "switch":
            switches ^= {draw.choice([*fabric.switches])}
        else:
            parts[what] ^= {draw.choice([*links, *host_ends] if what == "closed" else links)}
    return LiveView(dead_switches=switches, **parts)


@pytest.mark.parametrize("seed", range(6))
def test_what_follows_from_events_is_what_follows_from_nothing(seed: int) -> None:
    follow(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6, 60))
def test_what_follows_from_more_events_is_what_follows_from_nothing(seed: int) -> None:
    follow(seed)


def follow(seed: int) -> None:
    """A fabric, what becomes of it, and the tables of all its switches after each event."""
    draw = Random(seed)
    fabric, live = any_fabric(draw), LiveView()
    intents = [Intent(), Intent(policy=Policy(spray="ecmp", honour_hosts=False))]
    intent, made, routing = intents[0], DesiredStates(fabric), Routing.of(fabric)
    capacities = Capacities.of(fabric, routing)
    for _ in range(EVENTS):
        live = after_event(draw, fabric, live)
        if draw.random() < 0.1:
            intent = draw.choice(intents)
        if draw.random() < 0.2:  # a plan that is never in force
            made.fork().of(draw.choice(intents), after_event(draw, fabric, live))
        before, routing = routing, routing.after(live)
        capacities = capacities.after(routing)
        assert routing.ports == all_next_ports(fabric, live)
        for destination, ports in routing.ports.items():
            assert capacities.carried[destination] == derived_weights(fabric, destination, ports=ports)
        now = {(d, s): ports for d, by_switch in routing.ports.items() for s, ports in by_switch.items()}
        then = {(d, s): ports for d, by_switch in before.ports.items() for s, ports in by_switch.items()}
        assert {*routing.differing(before)} == {key for key in now if now[key] != then[key]}
        states, groups = made.of(intent, live), switch_groups(fabric, live, all_next_ports(fabric, live))
        anew = desired_states(fabric, intent, live)
        for name, state in states.items():
            assert state == anew[name], (name, live)
            found = {
                group.id: tuple(member.member for member in group.members) for group in state.groups.values()
            }
            wanted = {group: ports for group, ports in groups[name].items() if ports}
            for end in (end for link in live.examined for end in fabric.edge_at[link].ends):
                if end.node == name:
                    wanted[FIRST_LOCAL_GROUP + end.port] = (end.port,)
            assert found == wanted
            for group in found:
                assert state.entries["spray.paths", (("group", group),), 0].action == UseGroup(group)


def test_what_links_lose_at_once_is_followed_from_the_nearest_to_the_farthest() -> None:
    """Between the two that lose one of their links is a third, whose ports are those it had."""
    links = [("a", 1, "b", 1), ("a", 2, "b", 2), ("b", 3, "c", 3), ("c", 1, "d", 1), ("c", 2, "d", 2)]
    rate = {"a": 30_000_000, "b": 20_000_000, "c": 10_000_000}
    fabric = Fabric(
        name="chain",
        switches={name: SwitchSpec(device_id=number, role="leaf") for number, name in enumerate("abcd", 1)},
        hosts={
            f"h{name}": HostSpec.model_validate({"ip": f"10.0.{k}.1", "mac": f"02:00:00:00:00:{k:02x}"})
            for k, name in enumerate("ad")
        },
        edges=[
            *(Edge(a=a, a_port=one, b=b, b_port=other, rate=rate[a]) for a, one, b, other in links),
            *(Edge(a=name, a_port=9, b=f"h{name}", b_port=0) for name in "ad"),
        ],
    )
    routing = Routing.of(fabric)
    lost = routing.after(LiveView(frozenset({End("a", 1), End("c", 1)})))
    for before, after in ((routing, lost), (lost, routing)):
        carried = Capacities.of(fabric, before).after(after).carried
        assert carried == Capacities.of(fabric, after).carried


def test_what_did_not_change_is_the_same_object_though_a_switch_is_dead() -> None:
    fabric, intent, gone = fat_tree(4), Intent(), frozenset({"a3", "c1"})
    made = DesiredStates(fabric)
    before = made.of(intent, LiveView(dead_switches=gone))
    link = next(edge.ends[0] for edge in fabric.switch_edges() if {edge.a, edge.b} == {"e1", "a1"})
    made.of(intent, LiveView(frozenset({link}), gone))
    after = made.of(intent, LiveView(dead_switches=gone))
    assert after == before
    again = made.of(intent, LiveView(dead_switches=gone, examined=frozenset({link})))
    assert {name for name in again if again[name] is not after[name]} == {"e1", "a1"}


def test_layers_are_one_mapping() -> None:
    lasting = {"a": 1, "b": 2}
    one, other = Layered(lasting, {"c": 3}), Layered(dict(lasting), {"c": 3})
    assert one == other == {"a": 1, "b": 2, "c": 3}
    assert [*one] == ["a", "b", "c"]
    assert len(one) == 3
    assert "c" in one
    assert "d" not in one
    assert (one["a"], one["c"], one.get("d")) == (1, 3, None)
    assert one != Layered(lasting, {"c": 4})
    with pytest.raises(ValueError, match="given twice: 1 and 5"):
        Layered(lasting, {"a": 5})
    same = Layered(lasting, {"d": 4})
    assert moving_parts(one, same) == ({"c": 3}, {"d": 4}), "what lasts is not compared, however much it is"
    assert moving_parts(one, other) == (one, other)


def test_a_drained_host_concerns_its_switch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, intent, anew = fat_tree(4), Intent(), list[str]()
    make = DesiredStates._anew

    def noted(self: DesiredStates, intent: Intent, name: str, *more: Any) -> Any:
        anew.append(name)
        return make(self, intent, name, *more)

    monkeypatch.setattr(DesiredStates, "_anew", noted)
    made = DesiredStates(fabric)
    before = made.of(intent)
    anew.clear()
    at = fabric.attachment("h1")
    after = made.of(intent, LiveView(closed=frozenset({at})))
    assert anew == [at.node]
    assert {name for name in after if after[name] is not before[name]} == {at.node}

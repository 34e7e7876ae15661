"""Policy, faults and paths become table entries."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from csaud_controller.base.seeds import derive
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.desired.states import DesiredStates, desired_states
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.faults import FaultRule, Faults, fault_entries
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.program.entities import Entry, TableState, UseGroup, call, entry
from csaud_controller.switches.reconcile import plan
from pydantic import BaseModel, ValidationError


@pytest.fixture
def fabric() -> Fabric:
    return leaf_spine(2, 2, 1)


def of_table(state: TableState, table: str) -> dict[str, str]:
    return {str(e).split(" -> ")[0]: str(e.action) for e in state.entries.values() if e.table == table}


def test_the_whole_state_of_a_spine(fabric: Fabric) -> None:
    state = desired_states(fabric, Intent(policy=Policy(honour_hosts=False, spray="round-robin")))["s1"]
    texts = sorted(str(item) for step in plan(TableState(), state) for item in step.items)
    marks = [derive(1, "ecn", "s1", port) for port in (1, 2)]
    assert texts == [
        "clone session 1 -> ports [127]",
        "congestion.alarm[port=1] -> congestion.report(interval_us=1000000)",
        "congestion.alarm[port=2] -> congestion.report(interval_us=1000000)",
        "congestion.limits[port=1]"
        " -> congestion.set_limits(alarm_at=229, drop_at=240, loss_byte_time=5243, no_trim_at=152,"
        " other_at=32, trim_at=64)",
        "congestion.limits[port=2]"
        " -> congestion.set_limits(alarm_at=229, drop_at=240, loss_byte_time=5243, no_trim_at=152,"
        " other_at=32, trim_at=64)",
        "digest overflow_alarm_t",
        f"ecn.marking[port=1] -> ecn.mark_between(high=64, low=32, seed={marks[0]})",
        f"ecn.marking[port=2] -> ecn.mark_between(high=64, low=32, seed={marks[1]})",
        "group 1 of spray.path_selector = [1]",
        "group 2 of spray.path_selector = [2]",
        "loss_signal.return_limits[port=1]"
        " -> loss_signal.set_return_limits(alarm_at=229, drop_at=240, loss_byte_time=5243, trim_at=64)",
        "loss_signal.return_limits[port=2]"
        " -> loss_signal.set_return_limits(alarm_at=229, drop_at=240, loss_byte_time=5243, trim_at=64)",
        "loss_signal.signal[port=1] priority 1 -> loss_signal.trim(dscp=48, icrc=0, priority=7, size=94)",
        "loss_signal.signal[port=2] priority 1 -> loss_signal.trim(dscp=48, icrc=0, priority=7, size=94)",
        "member 1 of spray.path_selector -> spray.forward(port=1)",
        "member 2 of spray.path_selector -> spray.forward(port=2)",
        "punt.ether_type[ether_type=35020 port=1] -> punt.to_cpu(gap_us=5000)",
        "punt.ether_type[ether_type=35020 port=2] -> punt.to_cpu(gap_us=5000)",
        "route.ipv4_lpm[dst=10.0.1.0/24] -> route.set_group(group=1)",
        "route.ipv4_lpm[dst=10.0.2.0/24] -> route.set_group(group=2)",
        "spray.paths[group=1] -> group 1",
        "spray.paths[group=2] -> group 2",
        f"spray.policy[kind=0x0/0x3] priority 50 -> spray.ecmp(seed={derive(1, 'spray', 's1')})",
        "spray.policy[kind=0x1/0x3] priority 100 -> spray.round_robin()",
        "spray.policy[kind=0x2/0x3] priority 100 -> spray.round_robin()",
        "spray.policy[kind=0x3/0x3] priority 100 -> spray.round_robin()",
    ]


def test_a_destination_without_a_path_keeps_its_route_and_has_no_group(fabric: Fabric) -> None:
    from csaud_controller.inventory import End
    from csaud_controller.paths.live import LiveView

    live = LiveView(frozenset({End("l1", 1)}))
    state = desired_states(fabric, Intent(), live)["s1"]
    assert ("spray.path_selector", 1) not in state.groups
    assert "spray.paths[group=1]" not in of_table(state, "spray.paths")
    assert of_table(state, "route.ipv4_lpm")["route.ipv4_lpm[dst=10.0.1.0/24]"] == "route.set_group(group=1)"


def test_seeds_of_switches_differ_and_repeat() -> None:
    seeds = [derive(1, "spray", f"l{n}") for n in range(100)]
    assert len(set(seeds)) == 100
    assert seeds == [derive(1, "spray", f"l{n}") for n in range(100)]
    assert derive(2, "spray", "l0") != seeds[0]
    assert all(0 <= seed < 2**32 for seed in seeds)


@pytest.mark.parametrize("where", ["l1-l2", "s9:1", "l1:9"])
def test_a_fault_at_a_place_that_is_not_there_is_refused(fabric: Fabric, where: str) -> None:
    with pytest.raises(FieldError, match="expected one of"):
        Intent(faults=Faults(rules=(FaultRule(where=where, probability=0.1),))).check(fabric)


def test_faults_become_entries_by_port_and_kind_and_the_later_rule_wins(fabric: Fabric) -> None:
    faults = Faults(
        rules=(
            FaultRule(probability=0.25, kinds=("data", "control"), seed=9),
            FaultRule(where="l1:2", probability=0.5, kinds=("data",), signalled=True),
            FaultRule(where="l2-s1", probability=0.0),
        )
    )

    def lose(port: int, kind: int, threshold: int, seed: int, signalled: int) -> Entry:
        action = call(
            "fault.lose", threshold=threshold, seed=derive(seed, "fault", "l1", port), signalled=signalled
        )
        return entry("fault.inject", {"port": port, "kind": (kind, 3)}, action, priority=1)

    assert sorted(fault_entries(fabric, faults, "l1"), key=lambda e: e.match) == sorted(
        [
            lose(1, 1, 1 << 30, 9, 0),
            lose(1, 2, 1 << 30, 9, 0),
            lose(2, 1, 1 << 31, 1, 1),
            lose(2, 2, 1 << 30, 9, 0),
        ],
        key=lambda e: e.match,
    )
    assert {dict(e.match)["port"] for e in fault_entries(fabric, faults, "l2")} == {2}
    assert fault_entries(fabric, faults, "s1") == []


def test_probability_one_does_not_overflow() -> None:
    assert FaultRule(probability=1.0).threshold == 2**32 - 1
    assert FaultRule(probability=0.01).threshold == round(0.01 * 2**32)


def test_rules_replace_and_clear_by_place() -> None:
    faults = (
        Faults().with_rule(FaultRule(probability=0.1)).with_rule(FaultRule(where="l1:1", probability=0.2))
    )
    faults = faults.with_rule(FaultRule(probability=0.3))
    assert [(r.where, r.probability) for r in faults.rules] == [("l1:1", 0.2), ("uplinks", 0.3)]
    assert [r.where for r in faults.without("uplinks").rules] == ["l1:1"]
    with pytest.raises(KeyError):
        faults.without("all")


def models_of(kind: Any) -> Iterator[type[BaseModel]]:
    """The models that a field of this type may hold, those within them first."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for field in kind.model_fields.values():
            if field.annotation not in (kind, kind | None):
                yield from models_of(field.annotation)
        yield kind
    for part in get_args(kind):
        yield from models_of(part)


def test_what_was_asked_for_cannot_be_changed_in_place() -> None:
    """Revisions are kept as they were: what is changed is another object."""
    found = list(dict.fromkeys(models_of(Intent)))
    assert {"Policy", "FaultRule", "Drain", "Intent"} <= {model.__name__ for model in found}
    for model in found:
        made = model.model_construct()
        for name in model.model_fields:
            with pytest.raises(ValidationError, match="frozen"):
                setattr(made, name, None)


def test_groups_are_used_by_paths(fabric: Fabric) -> None:
    state = desired_states(fabric, Intent())["l1"]
    tables = {"spray.path_selector": "spray.paths", "spray.second_selector": "spray.alternative"}
    assert len(state.groups) == 2 * 2, "least-queue chooses twice, and hosts may ask for it"
    for group in state.groups.values():
        assert state.entries[tables[group.selector], (("group", group.id),), 0].action == UseGroup(group.id)
        assert all((group.selector, member.member) in state.members for member in group.members)
        assert all(member.watch_port == member.member for member in group.members)


def test_an_event_makes_only_what_it_changes() -> None:
    """A link between an edge and an aggregation switch; the other one of the pod is as before."""
    fabric, intent = fat_tree(4), Intent()
    made = DesiredStates(fabric)
    before = made.of(intent)
    live = LiveView(frozenset({next(e.ends[0] for e in fabric.switch_edges() if {e.a, e.b} == {"e1", "a1"})}))
    after = made.of(intent, live)
    assert after == desired_states(fabric, intent, live)
    unchanged = {name for name in fabric.switches if after[name] is before[name]}
    assert unchanged == {name for name in fabric.switches if after[name] == before[name]}
    assert "a2" in unchanged
    assert {"e1", "a1"}.isdisjoint(unchanged)
    changed = after["e1"]
    kept = [key for key, entry in changed.entries.items() if entry is before["e1"].entries.get(key)]
    assert len(kept) > len(changed.entries) / 2
    assert made.of(intent) == before
    assert made.of(Intent(policy=Policy(spray="ecmp"))) == desired_states(
        fabric, Intent(policy=Policy(spray="ecmp"))
    )


def test_hosts_are_checked_by_address_and_class_and_send_no_probes(fabric: Fabric) -> None:
    policy = Policy(host_classes=(0, 1, 2, 3, 4, 5, 6, 7), host_classes_at={"l1": (0, 1, 2, 3, 4, 5)})
    state = desired_states(fabric, Intent(policy=policy))["l1"]
    [port] = fabric.host_ports("l1")
    address = fabric.hosts[fabric.peers["l1"][port].node].ip
    assert of_table(state, "edge.ports") == {f"edge.ports[port={port}]": "edge.check()"}
    [(sources, action)] = of_table(state, "edge.sources").items()
    assert (sources, action) == (f"edge.sources[port={port} src={address}/32]", "edge.belongs()")
    assert sorted(of_table(state, "edge.classes")) == [f"edge.classes[cls={c} port={port}]" for c in (6, 7)]
    assert not any(f"port={port}]" in key for key in of_table(state, "punt.ether_type"))
    assert of_table(desired_states(fabric, Intent(policy=policy))["s1"], "edge.ports") == {}
    unchecked = desired_states(fabric, Intent(policy=Policy(check_hosts=False)))["l1"]
    assert of_table(unchecked, "edge.ports") == of_table(unchecked, "edge.sources") == {}


def test_one_table_says_which_dscp_goes_to_which_queue(fabric: Fabric) -> None:
    state = desired_states(fabric, Intent(policy=Policy(queues={26: 3})))["s1"]
    assert of_table(state, "classify.queues") == {"classify.queues[dscp=26]": "classify.set_queue(queue=3)"}
    with pytest.raises(FieldError, match="DSCP 48 is in `queues`") as caught:
        Policy(queues={48: 3}).check(fabric)
    assert caught.value.loc == ("trim_dscp",)

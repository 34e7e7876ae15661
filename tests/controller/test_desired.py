"""Policy, faults and paths become table entries."""

import pytest
from csaud_controller.desired import Intent, desired_states
from csaud_controller.faults import FaultRule, Faults, fault_entries, ports_of
from csaud_controller.inventory import Fabric, leaf_spine
from csaud_controller.policy import Limits, Policy, SprayOverride, limits_of, port_entries, spray_entries
from csaud_controller.seeds import derive
from csaud_controller.state import Entry, TableState, UseGroup, call, entry
from csaud_controller.yamlfile import FieldError
from pydantic import ValidationError


@pytest.fixture
def fabric() -> Fabric:
    return leaf_spine(2, 2, 1)


def of_table(state: TableState, table: str) -> dict[str, str]:
    return {str(e).split(" -> ")[0]: str(e.action) for e in state.entries.values() if e.table == table}


def test_the_whole_state_of_a_spine(fabric: Fabric) -> None:
    state = desired_states(fabric, Intent(policy=Policy(honour_hosts=False, spray="round-robin")))["s1"]
    texts = sorted(map(str, (*state.members.values(), *state.groups.values(), *state.entries.values())))
    assert texts == [
        "congestion.limits[port=1] -> congestion.set_limits(alarm_at=65535, drop_at=240, no_trim_at=240, trim_at=64)",
        "congestion.limits[port=2] -> congestion.set_limits(alarm_at=65535, drop_at=240, no_trim_at=240, trim_at=64)",
        "group 1 = [1]",
        "group 2 = [2]",
        "loss_signal.signal[port=1] priority 1 -> loss_signal.trim(dscp=8, icrc=0, priority=7, size=94)",
        "loss_signal.signal[port=2] priority 1 -> loss_signal.trim(dscp=8, icrc=0, priority=7, size=94)",
        "member 1 -> spray.forward(port=1)",
        "member 2 -> spray.forward(port=2)",
        "punt.ether_type[ether_type=35020] -> punt.to_cpu()",
        "route.ipv4_lpm[dst=10.0.1.0/24] -> route.set_group(group=1)",
        "route.ipv4_lpm[dst=10.0.2.0/24] -> route.set_group(group=2)",
        "spray.paths[group=1] -> group 1",
        "spray.paths[group=2] -> group 2",
        "spray.policy[kind=0x1/0x3] priority 100 -> spray.round_robin()",
        "spray.policy[kind=0x2/0x3] priority 100 -> spray.round_robin()",
        "spray.policy[kind=0x3/0x3] priority 100 -> spray.round_robin()",
    ]


def test_a_destination_without_a_path_keeps_its_route_and_has_no_group(fabric: Fabric) -> None:
    from csaud_controller.inventory import End
    from csaud_controller.paths import LiveView

    live = LiveView(frozenset({End("l1", 1)}))
    state = desired_states(fabric, Intent(), live)["s1"]
    assert 1 not in state.groups
    assert "spray.paths[group=1]" not in of_table(state, "spray.paths")
    assert of_table(state, "route.ipv4_lpm")["route.ipv4_lpm[dst=10.0.1.0/24]"] == "route.set_group(group=1)"


@pytest.mark.parametrize(
    ("mode", "action", "seeded"),
    [
        ("ecmp", "spray.ecmp", True),
        ("entropy", "spray.entropy", True),
        ("random", "spray.random", True),
        ("round-robin", "spray.round_robin", False),
        ("host", "spray.host_directed", False),
    ],
)
def test_spray_modes(mode: str, action: str, seeded: bool) -> None:
    entries = spray_entries(Policy.model_validate({"spray": mode, "seed": 5}), "l1")
    default = [e for e in entries if e.priority == 100]
    expected = call(action, seed=derive(5, "spray", "l1")) if seeded else call(action)
    assert [e.action for e in default] == [expected] * 3
    assert all(dict(e.match)["kind"][1] == 3 for e in default)  # type: ignore[index]
    assert not any(("kind", (0, 3)) in e.match for e in entries), "traffic that is not CSA keeps ECMP"


def test_an_exception_comes_before_what_hosts_ask_for_before_the_default() -> None:
    policy = Policy(overrides=(SprayOverride(cls=0, spray="ecmp"), SprayOverride(comm=7, spray="host")))
    by_priority = sorted(spray_entries(policy, "l1"), key=lambda e: -e.priority)
    assert dict(by_priority[0].match)["cls"] == (0, 7), "the first exception wins over the second"
    assert dict(by_priority[3].match)["comm"] == (7, 0xFFFF)
    assert dict(by_priority[6].match).keys() == {"asked"}
    assert by_priority[-1].priority == 100


def test_seeds_of_switches_differ_and_repeat() -> None:
    seeds = [derive(1, "spray", f"l{n}") for n in range(100)]
    assert len(set(seeds)) == 100
    assert seeds == [derive(1, "spray", f"l{n}") for n in range(100)]
    assert derive(2, "spray", "l0") != seeds[0]
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_limits_follow_the_buffer_unless_they_are_set(fabric: Fabric) -> None:
    assert limits_of(fabric, Policy(), "l1", 1) == Limits(trim_at=64, drop_at=240)
    set_for_all = Policy(
        limits=Limits(trim_at=10, drop_at=20), limits_at={"l1:1": Limits(trim_at=1, drop_at=2)}
    )
    assert limits_of(fabric, set_for_all, "l1", 1) == Limits(trim_at=1, drop_at=2)
    assert limits_of(fabric, set_for_all, "l1", 2) == Limits(trim_at=10, drop_at=20)
    with pytest.raises(ValidationError, match="at most drop_at"):
        Limits(trim_at=30, drop_at=20)


def test_loss_signal_by_port(fabric: Fabric) -> None:
    policy = Policy.model_validate({"loss_signal": "drop", "loss_signal_at": {"l1:3": "trim"}})
    signals = [e for e in port_entries(fabric, policy, "l1") if e.table == "loss_signal.signal"]
    assert signals == [
        entry("loss_signal.signal", {"port": 3}, call("loss_signal.trim", size=94, dscp=8, priority=7, icrc=0), priority=1)
    ]
    assert not [e for e in port_entries(fabric, policy, "s1") if e.table == "loss_signal.signal"]


@pytest.mark.parametrize(
    ("where", "ports"),
    [
        ("uplinks", {"l1": [1, 2], "l2": [1, 2]}),
        ("all", {"l1": [1, 2], "l2": [1, 2], "s1": [1, 2], "s2": [1, 2]}),
        ("s1-l2", {"l2": [1], "s1": [2]}),
        ("l1:2", {"l1": [2]}),
        ("h1-l1", {"l1": [3]}),
    ],
)
def test_where_a_fault_is(fabric: Fabric, where: str, ports: dict[str, list[int]]) -> None:
    assert {name: sorted(p) for name, p in ports_of(fabric, where).items()} == ports


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


def test_groups_are_used_by_paths(fabric: Fabric) -> None:
    state = desired_states(fabric, Intent())["l1"]
    for group in state.groups.values():
        assert state.entries["spray.paths", (("group", group.id),), 0].action == UseGroup(group.id)
        assert all(member.member in state.members for member in group.members)
        assert all(member.watch_port == member.member for member in group.members)

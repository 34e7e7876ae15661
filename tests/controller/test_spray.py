"""Spray modes become entries of `spray.policy`, the more important before the less."""

from collections import Counter
from pathlib import Path

import pytest
from csaud_controller.base.seeds import derive
from csaud_controller.base.yamlfile import FieldError, mistake
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine, load_fabric
from csaud_controller.paths.equal_cost import remote_group
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import MODES, SprayOverride, spray_entries
from csaud_controller.program.entities import Call, Entry, call
from pydantic import ValidationError

FABRIC = leaf_spine(3, 2, 1)


def entries_of(switch: str = "l1", **policy: object) -> list[Entry]:
    return spray_entries(FABRIC, Policy.model_validate(policy).spraying, switch)


@pytest.mark.parametrize(
    ("mode", "action", "seeded"),
    [
        ("ecmp", "spray.ecmp", True),
        ("entropy", "spray.entropy", True),
        ("random", "spray.random", True),
        ("round-robin", "spray.round_robin", False),
        ("weighted", "spray.weighted", False),
        ("least-queue", "spray.least_queue", True),
        ("host", "spray.host_directed", False),
    ],
)
def test_modes_become_actions(mode: str, action: str, seeded: bool) -> None:
    entries = entries_of(spray=mode, seed=5)
    default = [e for e in entries if e.priority == 100]
    expected = call(action, seed=derive(5, "spray", "l1")) if seeded else call(action)
    assert [e.action for e in default] == [expected] * 3
    assert all(dict(e.match)["kind"][1] == 3 for e in default)  # type: ignore[index]
    other = [e for e in entries if ("kind", (0, 3)) in e.match]
    assert [e.action for e in other] == [call("spray.ecmp", seed=derive(5, "spray", "l1"))], (
        "not CSA: always ECMP"
    )


def default_of(fabric: Fabric, switch: str, **policy: object) -> Call:
    entries = spray_entries(fabric, Policy.model_validate(policy).spraying, switch)
    (action,) = {e.action for e in entries if e.priority == 100}
    assert isinstance(action, Call)
    return action


def index_of(action: Call, path_id: int) -> int:
    """What the program makes of a path_id."""
    if action.action == "spray.host_directed":
        return path_id
    assert action.action == "spray.host_directed_above"
    return path_id * dict(action.args)["reciprocal"] >> 16


@pytest.mark.parametrize("k", [4, 6, 8, 12, 16])
def test_path_ids_in_a_row_take_every_way_to_the_core_equally_often(k: int) -> None:
    fabric, half = fat_tree(k), k // 2
    edge, above = default_of(fabric, "e1"), default_of(fabric, "a1")
    for first in (0, 16, 16 * (k**3 // 4 - 1)):  # that of the first rank, the second, the last
        ways = Counter(
            (index_of(edge, path_id) % half, index_of(above, path_id) % half)
            for path_id in range(first, first + 3 * half * half)
        )
        assert set(ways.values()) == {3}
        assert len(ways) == half * half


def test_after_more_choices_than_path_ids_have_digits_for_their_hash_decides(tmp_path: Path) -> None:
    """33 links from a leaf to the next switch, and from that to the one above it."""
    switches = [
        f"  {name}: {{role: {role}, device_id: {n}}}"
        for n, (name, role) in enumerate([("l1", "leaf"), ("s1", "spine"), ("x1", "core")], 1)
    ]
    between = [("l1", 1, "s1", 1), ("s1", 40, "x1", 1)]
    edges = [
        f"  - {{a: {a}, a_port: {p + n}, b: {b}, b_port: {q + n}}}"
        for a, p, b, q in between
        for n in range(33)
    ]
    host = ["  h1: {ip: 10.0.1.1, mac: '02:00:0a:00:01:01'}"]
    last = ["  - {a: l1, a_port: 99, b: h1, b_port: 0}"]
    file = tmp_path / "wide.yaml"
    file.write_text(
        "\n".join(["name: wide", "switches:", *switches, "hosts:", *host, "edges:", *edges, *last])
    )
    fabric = load_fabric(file)
    assert fabric.choices_below == {"l1": 1, "s1": 33, "x1": 33 * 33}
    assert default_of(fabric, "s1") == call("spray.host_directed_above", reciprocal=1986)
    assert default_of(fabric, "x1") == call("spray.entropy", seed=derive(1, "spray", "x1"))


def test_hosts_that_ask_for_it_and_exceptions_get_the_same() -> None:
    fabric, spraying = fat_tree(4), Policy(spray="ecmp", overrides=(SprayOverride(spray="host"),)).spraying
    for switch, below in (("a1", 2), ("c1", 4)):
        actions = [e.action for e in spray_entries(fabric, spraying, switch)]
        assert actions.count(call("spray.host_directed_above", reciprocal=0x10000 // below)) == 4
        assert call("spray.host_directed") not in actions


def test_a_flowlets_gap_is_in_microseconds() -> None:
    default = [e for e in entries_of(spray="flowlet", flowlet_gap="2ms") if e.priority == 100]
    assert [e.action for e in default] == [call("spray.flowlet", seed=derive(1, "spray", "l1"), gap=2000)] * 3


def test_every_mode_can_be_asked_for_by_its_number() -> None:
    asked = {
        dict(e.match)["asked"]: e.action.action
        for e in entries_of()
        if e.priority == 200  # type: ignore[union-attr]
    }
    assert asked == {
        (1, 15): "spray.ecmp", (2, 15): "spray.entropy", (3, 15): "spray.random",
        (4, 15): "spray.round_robin", (5, 15): "spray.weighted", (6, 15): "spray.least_queue",
        (7, 15): "spray.host_directed", (8, 15): "spray.flowlet",
    }  # fmt: skip
    assert not [e for e in entries_of(honour_hosts=False) if e.priority == 200]


def test_an_exception_comes_before_what_hosts_ask_for_before_the_default() -> None:
    overrides = (SprayOverride(cls=0, spray="ecmp"), SprayOverride(comm=7, spray="host"))
    by_priority = sorted(entries_of(overrides=overrides), key=lambda e: -e.priority)
    assert dict(by_priority[0].match)["cls"] == (0, 7), "the first exception wins over the second"
    assert dict(by_priority[3].match)["comm"] == (7, 0xFFFF)
    assert dict(by_priority[6].match).keys() == {"asked"}
    assert [e.priority for e in by_priority[-4:]] == [100, 100, 100, 50], "and last other traffic"


def test_an_exception_can_name_destination_kind_class_communicator_and_what_is_asked() -> None:
    override = {
        "spray": "flowlet", "gap": "1ms", "seed": 9,
        "to": "l3", "kind": "data", "cls": 2, "comm": 7, "asked": "random", "qkey": 0xABCDEF01,
    }  # fmt: skip
    (entry,) = [e for e in entries_of(overrides=[override]) if e.priority >= 1000]
    assert dict(entry.match) == {
        "group": (remote_group(FABRIC, "l3"), 0xFFFF),
        "kind": (1, 3),
        "cls": (2, 7),
        "comm": (7, 0xFFFF),
        "qkey": (0xABCDEF01, 0xFFFF_FFFF),
        "asked": (MODES["random"].asked, 15),
    }
    assert entry.action == call("spray.flowlet", seed=derive(9, "spray", "l1"), gap=1000)
    assert not [e for e in entries_of("l3", overrides=[override]) if e.priority >= 1000], "hosts of its own"


def test_traffic_that_is_not_csa_can_be_sprayed_by_name_only() -> None:
    entries = entries_of(overrides=[{"spray": "random", "kind": "other"}])
    other = [e for e in entries if ("kind", (0, 3)) in e.match]
    assert [e.action.action for e in sorted(other, key=lambda e: -e.priority)] == [  # type: ignore[union-attr]
        "spray.random",
        "spray.ecmp",
    ]


def test_an_exception_for_a_switch_that_is_not_there_is_refused() -> None:
    policy = Policy(overrides=(SprayOverride(spray="ecmp", to="l9"),))
    with pytest.raises(FieldError, match="unknown switch 'l9'; expected one of l1, l2, l3"):
        policy.check(FABRIC)


def test_an_exception_goes_by_a_switch_or_by_a_prefix() -> None:
    override = {"spray": "ecmp", "to": "l3", "dst": "10.0.3.0/24"}
    with pytest.raises(ValidationError) as told:
        Policy.model_validate({"overrides": [override]})
    assert mistake(told.value) == "overrides[0].dst: expected `to` or `dst`, not both"

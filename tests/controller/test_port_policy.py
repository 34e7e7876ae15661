"""Limits, marks and loss signals of ports: defaults from the buffer, and what was set at some place."""

import pytest
from csaud_controller.base.yamlfile import FieldError, load_model_text
from csaud_controller.inventory import Fabric, LinkDefaults, fat_tree, leaf_spine
from csaud_controller.policy.congestion import Ecn, Limits, Thresholds, loss_byte_time, thresholds
from csaud_controller.policy.model import Policy, ecn_of, limits_of, port_entries, signals_of
from csaud_controller.policy.places import covers, ports_of
from csaud_controller.policy.signals import SignalRule
from csaud_controller.program.entities import Entry, call, entry
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError


@pytest.fixture
def fabric() -> Fabric:
    return leaf_spine(2, 2, 1)


def of_table(fabric: Fabric, table: str, switch: str = "l1", **policy: object) -> list[Entry]:
    entries = port_entries(fabric, Policy.model_validate(policy), switch)
    return [each for each in entries if each.table == table]


@pytest.mark.parametrize(
    ("where", "ports"),
    [
        ("uplinks", {"l1": [1, 2], "l2": [1, 2]}),
        ("all", {"l1": [1, 2], "l2": [1, 2], "s1": [1, 2], "s2": [1, 2]}),
        ("hosts", {"l1": [3], "l2": [3]}),
        ("leaf", {"l1": [1, 2, 3], "l2": [1, 2, 3]}),
        ("spine", {"s1": [1, 2], "s2": [1, 2]}),
        ("s2", {"s2": [1, 2]}),
        ("s1-l2", {"l2": [1], "s1": [2]}),
        ("l1:2", {"l1": [2]}),
        ("h1-l1", {"l1": [3]}),
    ],
)
def test_places(fabric: Fabric, where: str, ports: dict[str, list[int]]) -> None:
    assert {name: sorted(p) for name, p in ports_of(fabric, where).items()} == ports


@pytest.mark.parametrize("where", ["core", "l9", "l1:7", "s1-s2"])
def test_places_that_are_not_there_are_named(fabric: Fabric, where: str) -> None:
    with pytest.raises(FieldError, match="expected one of"):
        ports_of(fabric, where)


def test_limits_follow_the_buffer_unless_they_are_set(fabric: Fabric) -> None:
    assert limits_of(fabric, Policy(), "l1", 1) == Thresholds(64, 152, 32, 240, 229)
    policy = Policy(
        limits=Limits(trim_at=10, other_at=12, drop_at=20),
        limits_at={"l1": Limits(trim_at=5), "l1:1": Limits(trim_at=1, no_trim_at=1, drop_at=2, alarm_at=2)},
    )
    assert limits_of(fabric, policy, "l1", 1) == Thresholds(1, 1, 2, 2, 2)
    assert limits_of(fabric, policy, "l1", 2) == Thresholds(5, 122, 32, 240, 226)
    assert limits_of(fabric, policy, "s1", 2) == Thresholds(10, 15, 12, 20, 20)


@given(
    st.integers(1, 1 << 16),
    st.lists(st.none() | st.integers(1, 1000), min_size=3, max_size=3),
)
def test_derived_limits_are_in_order_and_leave_room_in_the_queue(
    buffer: int, given: list[int | None]
) -> None:
    try:
        found = thresholds(
            Limits(trim_at=given[0], no_trim_at=given[1], drop_at=given[2]), LinkDefaults(buffer=buffer)
        )
    except ValueError:
        return
    assert 1 <= found.trim_at <= found.no_trim_at <= found.drop_at
    assert found.no_trim_at <= found.alarm_at <= found.drop_at
    if given == [None] * 3:
        assert found.drop_at < buffer or buffer == 1


def test_limits_that_do_not_fit_are_refused_where_they_were_set(fabric: Fabric) -> None:
    with pytest.raises(ValidationError, match=r"at most drop_at \(20\), got 30"):
        Limits(trim_at=30, drop_at=20)
    with pytest.raises(FieldError, match="250, 245 and 240 in a buffer of 256 packets, at l1:1") as caught:
        Policy(limits_at={"leaf": Limits(trim_at=250)}).check(fabric)
    assert caught.value.loc == ("limits_at", "leaf")


def test_limits_go_to_both_tables_and_alarms_have_an_interval(fabric: Fabric) -> None:
    (limits, *_) = of_table(fabric, "congestion.limits")
    assert limits.action == call(
        "congestion.set_limits",
        trim_at=64, no_trim_at=152, other_at=32, drop_at=240, alarm_at=229, loss_byte_time=5243,
    ), "half of 200 Mbit/s: a byte in 0.08 us"  # fmt: skip
    (returned, *_) = of_table(fabric, "loss_signal.return_limits")
    assert returned.action == call(
        "loss_signal.set_return_limits", trim_at=64, drop_at=240, alarm_at=229, loss_byte_time=5243
    )
    (unbound, *_) = of_table(fabric, "congestion.limits", loss_share=1)
    assert dict(unbound.action.args)["loss_byte_time"] == 0  # type: ignore[union-attr]
    # a switch counts in microseconds, of which there is one at least
    for interval, counted in (("50ms", 50_000), ("2us", 2), ("1us", 1), ("1ns", 1)):
        (alarm, *_) = of_table(fabric, "congestion.alarm", alarm_interval=interval)
        assert alarm.action == call("congestion.report", interval_us=counted)
    assert of_table(fabric, "congestion.alarm", alarm_interval=0) == []


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [("100Gbit", 32, 64), ("50Gbit", 16, 32), ("25Gbit", 8, 16), ("10Gbit", 4, 8), ("1Gbit", 4, 8)],
)
def test_marks_of_a_slow_path_begin_after_as_long_a_wait(
    fabric: Fabric, rate: str, low: int, high: int
) -> None:
    wired = fabric.model_dump(mode="json", exclude_none=True)
    wired["link"]["rate"] = "100Gbit"
    for edge in wired["edges"]:
        if "s1" in edge.values():
            edge["rate"] = rate
        if "h2" in edge.values():
            edge["rate"] = "10Gbit"
    slower = Fabric.model_validate(wired)
    for switch, port in (("l1", 1), ("s1", 1), ("s1", 2)):
        assert ecn_of(slower, Policy(), switch, port) == Ecn(low=low, high=high)
    for switch, port in (("l1", 2), ("s2", 1), ("l2", 3)):  # the last leads to h2, and nothing else does
        assert ecn_of(slower, Policy(), switch, port) == Ecn(low=32, high=64)
    shallow = Policy(limits=Limits(trim_at=5))
    assert ecn_of(slower, shallow, "s1", 1) == Ecn(low=2, high=5), "no later than DATA is cut"
    assert ecn_of(slower, Policy(ecn=Ecn(low=20, high=30)), "s1", 1) == Ecn(low=20, high=30)


def test_slow_tiers_mark_as_fast_ones() -> None:
    """Where all links of a tier are as slow as each other, none is left for another."""
    wired = fat_tree(4).model_dump(mode="json", exclude_none=True)
    for edge in wired["edges"]:
        edge["rate"] = "400Gbit" if "c" in edge["a"][0] + edge["b"][0] else "100Gbit"
    tree = Fabric.model_validate(wired)
    ports = [
        (switch, port) for switch, peers in tree.peers.items() if switch in tree.switches for port in peers
    ]
    assert {ecn_of(tree, Policy(), *each) for each in ports} == {Ecn(low=32, high=64)}


def test_marks_follow_the_limits_unless_they_are_set(fabric: Fabric) -> None:
    assert ecn_of(fabric, Policy(), "l1", 1) == Ecn(low=32, high=64)
    policy = Policy(ecn=False, ecn_at={"leaf": Ecn(low=1, high=9), "l1:3": True}, limits=Limits(trim_at=10))
    assert ecn_of(fabric, policy, "s1", 1) is None
    assert ecn_of(fabric, policy, "l1", 1) == Ecn(low=1, high=9)
    assert ecn_of(fabric, policy, "l1", 3) == Ecn(low=5, high=10)
    assert of_table(fabric, "ecn.marking", "s1", ecn=False) == []
    seeds = {dict(e.action.args)["seed"] for e in of_table(fabric, "ecn.marking")}  # type: ignore[union-attr]
    assert len(seeds) == 3, "each port draws its own"


@pytest.mark.parametrize("signal", ["trim", "bounce", "both"])
def test_every_signal_has_its_form(fabric: Fabric, signal: str) -> None:
    form = {"trim_size": 200, "trim_dscp": 10, "trim_priority": 5}
    (first, *_) = of_table(fabric, "loss_signal.signal", loss_signal=signal, **form)
    assert first == entry(
        "loss_signal.signal",
        {"port": 1},
        call(f"loss_signal.{signal}", size=200, dscp=10, priority=5, icrc=0),
        priority=1,
    )
    (first, *_) = of_table(fabric, "loss_signal.signal", loss_signal=signal, **form, trim_icrc=True)
    assert dict(first.action.args)["size"] == 98  # type: ignore[union-attr]
    assert dict(first.action.args)["icrc"] == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "at"), [({"trim_size": 600}, "trim_size"), ({"signals": [{"cls": 1, "size": 600}]}, "signals")]
)
def test_a_loss_is_never_as_long_as_the_longest_frame(fabric: Fabric, said: dict, at: str) -> None:
    policy = Policy.model_validate(said)
    policy.check(fabric.model_copy(update={"mtu": 586}))
    with pytest.raises(FieldError, match="at most 599 bytes, a frame at the MTU of 585") as caught:
        policy.check(fabric.model_copy(update={"mtu": 585}))
    assert caught.value.loc[0] == at


def test_a_drop_needs_no_entry(fabric: Fabric) -> None:
    assert of_table(fabric, "loss_signal.signal", loss_signal="drop") == []


def test_signals_by_place_and_class(fabric: Fabric) -> None:
    rules = [
        {"where": "l1:1", "signal": "both"},
        {"cls": 3, "signal": "drop"},
        {"where": "l1:2", "icrc": True},
        {"where": "l1:3", "cls": 1, "dscp": 2},
    ]
    policy = Policy.model_validate({"loss_signal": "trim", "signals": rules})
    at = {
        port: [(c, s.signal, s.icrc, s.dscp) for c, s in signals_of(fabric, policy, "l1", port)]
        for port in (1, 2, 3)
    }
    assert at == {
        1: [(None, "both", False, 48), (3, "drop", False, 48)],
        2: [(None, "trim", True, 48)],
        3: [(None, "trim", False, 48), (3, "drop", False, 48), (1, "trim", False, 2)],
    }
    entries = [e for e in port_entries(fabric, policy, "l1") if e.table == "loss_signal.signal"]
    assert [(dict(e.match)["port"], dict(e.match).get("cls"), e.priority) for e in entries] == [
        (1, None, 1), (1, (3, 7), 2), (2, None, 1), (3, None, 1), (3, (3, 7), 2), (3, (1, 7), 3),
    ]  # fmt: skip


def test_a_rule_at_a_place_that_is_not_there_is_refused(fabric: Fabric) -> None:
    for key, value in {
        "signals": [{"where": "core", "signal": "drop"}], "limits_at": {"l9": {}}, "ecn_at": {"l1:9": False},
    }.items():  # fmt: skip
        with pytest.raises(FieldError, match="expected one of"):
            Policy.model_validate({key: value}).check(fabric)


@pytest.mark.parametrize("rate", [10, 25, 100, 200, 400, 800, 1600])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_loss_has_no_more_than_its_share_of_fast_links(rate: int, share: float) -> None:
    """Whole units of 2^-16 us a byte, of which few are left there."""
    taken = loss_byte_time(rate * 10**9, share)
    assert 8e6 * (1 << 16) / taken <= share * rate * 1e9
    assert 8e6 * (1 << 16) / (taken - 1 or 1e-9) > share * rate * 1e9, "and nearly so much"


def test_a_name_that_may_be_of_two_links_is_refused_and_a_place_that_is_gone_covers_nothing() -> None:
    text = "name: x\nswitches: {" + ", ".join(
        f"{name}: {{device_id: {number}}}" for number, name in enumerate(("a", "a-b", "b-c", "c"), 1)
    )
    edges = "{a: a, a_port: 1, b: b-c, b_port: 1}, {a: a-b, a_port: 1, b: c, b_port: 1}"
    edges += ", {a: a, a_port: 2, b: c, b_port: 2}"
    fabric = load_model_text(f"{text}}}\nhosts: {{}}\nedges: [{edges}]\n", Fabric)
    assert ports_of(fabric, "a-c") == {"a": [2], "c": [2]}
    with pytest.raises(FieldError) as told:
        ports_of(fabric, "a-b-c")
    assert str(told.value) == "'a-b-c' may be the link of a and b-c or a-b and c: name one of its ports"
    assert [covers(fabric, where, "c", 2) for where in ("a-c", "c:1", "a-b-c", "d")] == [True, *[False] * 3]


def test_a_signal_is_of_a_place_or_a_class() -> None:
    for rule in ({"where": "l1"}, {"cls": 0}, {"where": "l1", "cls": 7}):
        SignalRule.model_validate({**rule, "signal": "drop"})
    with pytest.raises(ValidationError, match="expected where, cls or both"):
        SignalRule.model_validate({"signal": "drop"})

"""The plan reaches what is wanted, and never through a state that would break forwarding."""

import dataclasses

from csaud_controller.artifacts import find_artifacts
from csaud_controller.codec import Codec
from csaud_controller.desired import Intent, desired_states
from csaud_controller.faults import FaultRule, Faults
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.paths import ALL_UP, LiveView
from csaud_controller.policy import Policy
from csaud_controller.reconcile import Step, plan
from csaud_controller.state import Call, Entry, Group, GroupMember, Member, TableState, UseGroup, table_state
from finsy import p4entity
from hypothesis import given
from hypothesis import strategies as st

FABRIC = leaf_spine(3, 3)


class Model:
    """A switch in memory that refuses what a P4Runtime server would refuse."""

    def __init__(self, state: TableState) -> None:
        self.entries, self.members, self.groups = dict(state.entries), dict(state.members), dict(state.groups)

    def apply(self, step: Step) -> None:
        for item in step.items:
            held, key = {
                Entry: (self.entries, getattr(item, "key", None)),
                Member: (self.members, getattr(item, "id", None)),
                Group: (self.groups, getattr(item, "id", None)),
            }[type(item)]
            assert (key in held) == (step.verb != "insert"), f"{step.verb} {item}"
            if step.verb == "delete":
                del held[key]  # type: ignore[attr-defined]
            else:
                held[key] = item  # type: ignore[index]
            self.check()

    def check(self) -> None:
        """Every reference is good: group to member, path to group, route to path."""
        for group in self.groups.values():
            assert all(m.member in self.members for m in group.members)
        paths = {dict(e.match)["group"]: e.action for e in self.entries.values() if e.table == "spray.paths"}
        for action in paths.values():
            assert isinstance(action, UseGroup)
            assert action.group in self.groups


def state(live: LiveView = ALL_UP, **intent: object) -> TableState:
    return desired_states(FABRIC, Intent.model_validate(intent), live)["l1"]


def run(have: TableState, want: TableState) -> Model:
    model = Model(have)
    for step in plan(have, want):
        model.apply(step)
    assert TableState(model.entries, model.members, model.groups) == want
    return model


def test_from_nothing_what_is_referred_to_comes_first() -> None:
    want = state()
    steps = plan(TableState(), want)
    assert [step.verb for step in steps] == ["insert"] * 5
    assert [type(step.items[0]) for step in steps] == [Member, Group, Entry, Entry, Entry]
    tables = [{item.table for item in step.items if isinstance(item, Entry)} for step in steps[2:]]
    assert tables[0] == {"spray.paths"}
    assert tables[2] == {"route.ipv4_lpm"}, "a packet is routed only when all else is in place"
    run(TableState(), want)


def test_nothing_to_do_is_no_step() -> None:
    assert plan(state(), state()) == []


def test_a_failed_link_only_modifies_groups() -> None:
    live = LiveView(frozenset({End("l1", 2)}))
    (step,) = plan(state(), state(live))
    assert step.verb == "modify"
    assert all(isinstance(item, Group) for item in step.items)


def test_a_policy_change_modifies_in_place() -> None:
    steps = plan(state(), state(policy=Policy(spray="random")))
    assert {step.verb for step in steps} == {"modify"}


def test_to_nothing_routes_go_first() -> None:
    steps = plan(state(), TableState())
    assert [step.verb for step in steps] == ["delete"] * 5
    assert {item.table for item in steps[0].items if isinstance(item, Entry)} == {"route.ipv4_lpm"}
    assert isinstance(steps[-1].items[0], Member)
    run(state(), TableState())


FAULTS = st.builds(
    lambda p, where: Faults(rules=(FaultRule(probability=p, where=where),)),
    st.floats(0, 1),
    st.sampled_from(["uplinks", "all", "l1:1", "l1-s2"]),
)
STATES = st.builds(
    lambda spray, seed, faults, links: state(
        LiveView(frozenset(End(f"l{k}", j) for k, j in links)),
        policy=Policy(spray=spray, seed=seed),
        faults=faults,
    ),
    st.sampled_from(["ecmp", "entropy", "random", "round-robin", "host"]),
    st.integers(0, 3),
    FAULTS,
    st.sets(st.tuples(st.integers(1, 3), st.integers(1, 3))),
)


@given(have=STATES, want=STATES)
def test_from_any_state_to_any_other(have: TableState, want: TableState) -> None:
    run(have, want)


@given(want=STATES, data=st.data())
def test_after_tampering(want: TableState, data: st.DataObject) -> None:
    entries = dict(want.entries)
    for key in data.draw(st.lists(st.sampled_from(sorted(entries, key=str)), max_size=4, unique=True)):
        if data.draw(st.booleans()):
            del entries[key]
        elif isinstance(entries[key].action, Call):
            entries[key] = dataclasses.replace(entries[key], action=Call("tampered"))
    stray = Entry("route.ipv4_lpm", (("dst", (0, 0)),), 0, Call("route.set_group", (("group", 77),)))
    entries[stray.key] = stray
    groups = {**want.groups, 99: Group(99, (GroupMember(200),))}
    members = {**want.members, 200: Member(200, Call("spray.forward", (("port", 1),)))}
    run(TableState(entries, members, groups), want)


def test_everything_survives_p4runtimes_encoding() -> None:
    schema = find_artifacts().schema
    codec = Codec(schema)
    faults = Faults(rules=(FaultRule(probability=0.5, where="all", signalled=True),))
    live = LiveView(frozenset({End("l1", 1)}))
    for want in desired_states(FABRIC, Intent(faults=faults), live).values():
        items = [*want.members.values(), *want.groups.values(), *want.entries.values()]
        messages = p4entity.encode_entities([codec.encode(item) for item in items], schema)
        back = table_state(codec.decode(p4entity.decode_entity(message, schema)) for message in messages)
        assert back == want

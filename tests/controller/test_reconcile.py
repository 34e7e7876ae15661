"""The plan reaches what is wanted, and never through a state that would break forwarding."""

import dataclasses

from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.paths.live import ALL_UP, LiveView
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.signals import SIGNALS
from csaud_controller.policy.spray import MODES
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.program.entities import (
    FIRST_CHOICE,
    SECOND_CHOICE,
    Call,
    CloneSession,
    Digest,
    Entry,
    Group,
    GroupMember,
    Member,
    TableState,
    UseGroup,
    table_state,
)
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.reconcile import Step, plan
from finsy import p4entity
from hypothesis import given
from hypothesis import strategies as st

FABRIC = leaf_spine(3, 3)
SELECTORS = {"spray.paths": FIRST_CHOICE, "spray.alternative": SECOND_CHOICE}


class Model:
    """A switch in memory that refuses what a P4Runtime server would refuse."""

    def __init__(self, state: TableState) -> None:
        self.held: dict[type, dict[object, object]] = {
            Entry: dict(state.entries),
            Member: dict(state.members),
            Group: dict(state.groups),
            CloneSession: dict(state.clones),
            Digest: dict(state.digests),
        }

    @property
    def state(self) -> TableState:
        return table_state(item for held in self.held.values() for item in held.values())  # type: ignore

    def apply(self, step: Step) -> None:
        for item in step.items:
            held, key = self.held[type(item)], item.key
            assert (key in held) == (step.verb != "insert"), f"{step.verb} {item}"
            if step.verb == "delete":
                del held[key]
            else:
                held[key] = item
            self.check()

    def check(self) -> None:
        """Every reference is good: group to member, path to group, route to path."""
        state = self.state
        for group in state.groups.values():
            assert all((group.selector, m.member) in state.members for m in group.members)
        for each in state.entries.values():
            if each.table in SELECTORS:
                assert isinstance(each.action, UseGroup)
                assert (SELECTORS[each.table], each.action.group) in state.groups


def state(live: LiveView = ALL_UP, **intent: object) -> TableState:
    return desired_states(FABRIC, Intent.model_validate(intent), live)["l1"]


def run(have: TableState, want: TableState) -> Model:
    model = Model(have)
    for step in plan(have, want):
        model.apply(step)
    assert model.state == want
    return model


def test_from_nothing_what_is_referred_to_comes_first() -> None:
    want = state()
    steps = plan(TableState(), want)
    assert [step.verb for step in steps] == ["insert"] * 7
    kinds = [type(step.items[0]) for step in steps]
    assert kinds == [CloneSession, Digest, Member, Group, Entry, Entry, Entry]
    tables = [{item.table for item in step.items if isinstance(item, Entry)} for step in steps[4:]]
    assert tables[0] == {"spray.alternative", "spray.paths"}
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
    assert [step.verb for step in steps] == ["delete"] * 7
    assert {item.table for item in steps[0].items if isinstance(item, Entry)} == {"route.ipv4_lpm"}
    assert isinstance(steps[-1].items[0], CloneSession)
    run(state(), TableState())


FAULTS = st.builds(
    lambda p, where: Faults(rules=(FaultRule(probability=p, where=where),)),
    st.floats(0, 1),
    st.sampled_from(["uplinks", "all", "l1:1", "l1-s2"]),
)
STATES = st.builds(
    lambda spray, seed, faults, links, weights, signal, honour_hosts: state(
        LiveView(frozenset(End(f"l{k}", j) for k, j in links)),
        policy=Policy(
            spray=spray,
            seed=seed,
            honour_hosts=honour_hosts,
            weights={"l1": {"l2": dict(enumerate(weights, start=1))}},
            loss_signal=signal,
            signals=({"where": "l1:1", "signal": "drop"}, {"where": "l1:1", "cls": 3, "icrc": True}),
        ),
        faults=faults,
    ),
    st.sampled_from(sorted(MODES)),
    st.integers(0, 3),
    FAULTS,
    st.sets(st.tuples(st.integers(1, 3), st.integers(1, 3))),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
    st.sampled_from(SIGNALS),
    st.booleans(),
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
    group, member = Group(99, (GroupMember(200),)), Member(200, Call("spray.forward", (("port", 1),)))
    groups, members = {**want.groups, group.key: group}, {**want.members, member.key: member}
    run(dataclasses.replace(want, entries=entries, members=members, groups=groups), want)


def test_everything_survives_p4runtimes_encoding() -> None:
    schema = find_artifacts().schema
    codec = Codec(schema)
    faults = Faults(rules=(FaultRule(probability=0.5, where="all", signalled=True),))
    live = LiveView(frozenset({End("l1", 1)}))
    policy = Policy(spray="flowlet", loss_signal="both", weights={"l1": {"all": {1: 1, 2: 2, 3: 3}}})
    for want in desired_states(FABRIC, Intent(policy=policy, faults=faults), live).values():
        items = [item for step in plan(TableState(), want) for item in step.items]
        decoded = [codec.decode(codec.encode(item)) for item in items]
        assert table_state(item for item in decoded if item is not None) == want


@given(
    st.lists(
        st.builds(
            GroupMember,
            st.integers(0, 2**32 - 1),
            st.integers(1, 2**31 - 1),
            st.none() | st.integers(0, 2**32 - 1),
        )
    ),
    st.sampled_from([FIRST_CHOICE, SECOND_CHOICE]),
)
def test_a_group_is_encoded_as_finsy_would(members: list[GroupMember], selector: str) -> None:
    schema = find_artifacts().schema
    theirs = p4entity.P4ActionProfileGroup(
        action_profile_id=f"CsaudIngress.{selector}",
        group_id=7,
        members=[
            p4entity.P4Member(
                each.member,
                weight=each.weight if each.watch_port is None else (each.weight, each.watch_port),
            )
            for each in members
        ],
    )
    assert Codec(schema).encode(Group(7, tuple(members), selector)) == theirs.encode(schema)


def test_what_somebody_else_has_put_there_differs_from_all_that_is_wanted() -> None:
    """And is replaced: another's member in place of a group, and constants are nobody's."""
    schema = find_artifacts().schema
    codec = Codec(schema)
    (path,) = [e for e in state().entries.values() if e.table == "spray.paths"][:1]
    theirs = p4entity.P4TableEntry(
        "CsaudIngress.spray.paths",
        match=p4entity.P4TableMatch(path.match),
        action=p4entity.P4IndirectAction(member_id=7),
    )
    found = codec.decode(theirs.encode(schema))
    assert found == dataclasses.replace(path, action=Call("(foreign)"))
    (step,) = plan(table_state([found]), table_state([path]))
    assert (step.verb, step.items) == ("modify", (path,))
    default = p4entity.P4TableEntry(
        "CsaudIngress.route.ipv4_lpm",
        action=p4entity.P4TableAction("CsaudIngress.route.no_route"),
        is_default_action=True,
    )
    assert codec.decode(default.encode(schema)) is None

"""Action profile members, groups and one-shot action sets over P4Runtime."""

from __future__ import annotations

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import (
    GROUP,
    HOST_PORT,
    PROFILE,
    UPLINKS,
    csa,
    group,
    leaf,
    member,
    name,
    path,
    policy,
    route,
)
from tests.softswitch.p4runtime_support import (
    INDEX,
    NAMES,
    Client,
    Served,
    codes,
    entries,
)

PATHS = NAMES.table(name("spray.paths"))
PROFILE_ID = next(spec.id for spec in INDEX.profiles.values())


def profile(client: Client) -> tuple[list[int], list[int]]:
    members = client.read(action_profile_member=p4r.ActionProfileMember())
    groups = client.read(action_profile_group=p4r.ActionProfileGroup())
    return (
        [found.action_profile_member.member_id for found in members],
        [found.action_profile_group.group_id for found in groups],
    )


def test_members_and_groups_are_read_back(controller: Client) -> None:
    controller.write(*leaf(watch=True)["write"])
    assert profile(controller) == ([1, 2, 3, 4, 5], [GROUP])
    wanted = p4r.ActionProfileMember(action_profile_id=PROFILE_ID, member_id=3)
    [found] = controller.read(action_profile_member=wanted)
    assert (
        found.action_profile_member.action == NAMES.update(member(3, 3)).entity.action_profile_member.action
    )
    [found] = controller.read(action_profile_group=p4r.ActionProfileGroup(action_profile_id=PROFILE_ID))
    assert (
        found.action_profile_group
        == NAMES.update(group(GROUP, *((p, 1, p) for p in UPLINKS))).entity.action_profile_group
    )


def test_both_ways_to_name_a_watch_port_are_kept_and_work(controller: Client, served: Served) -> None:
    update = NAMES.update(group(GROUP, (1, 1, None), (2, 2, None)))
    update.entity.action_profile_group.members[0].watch = 1
    update.entity.action_profile_group.members[1].watch_port = b"\x02"
    controller.write(
        member(1, 1), member(2, 2), update, path(GROUP, group=GROUP), route("10.0.2.0/24", GROUP)
    )
    controller.write(policy("host_directed"))
    [found] = controller.read(action_profile_group=p4r.ActionProfileGroup())
    assert found.action_profile_group == update.entity.action_profile_group

    def ports() -> list[int]:
        return [port for i in range(6) for port, _ in served.inject(HOST_PORT, csa(path_id=i))]

    assert sorted(ports()) == [1, 1, 2, 2, 2, 2]
    served.on_loop(lambda: served.fabric.set_link("l1", 1, False))
    assert ports() == [2] * 6
    served.on_loop(lambda: served.fabric.set_link("l1", 1, True))
    served.on_loop(lambda: served.fabric.set_link("l1", 2, False))
    assert ports() == [1] * 6


def test_members_in_use_cannot_be_deleted(controller: Client) -> None:
    controller.write(*leaf()["write"])
    deletes = [
        {"delete": {"profile": PROFILE, "member": 1}},
        {"delete": {"profile": PROFILE, "group": GROUP}},
    ]
    assert codes(controller, *deletes) == [Code.FAILED_PRECONDITION] * 2
    body = path(GROUP, group=GROUP)["insert"]
    assert codes(controller, {"delete": {"table": body["table"], "match": body["match"]}}) == [Code.OK]
    assert codes(controller, *reversed(deletes)) == [Code.OK] * 2
    assert profile(controller) == ([2, 3, 4, 5], [])


def test_an_empty_group_has_no_path(controller: Client, served: Served) -> None:
    controller.write(group(GROUP), path(GROUP, group=GROUP), route("10.0.2.0/24", GROUP))
    assert served.inject(HOST_PORT, csa()) == []
    [counted] = [c for c in INDEX.counters.values() if c.name.endswith("no_path")]
    cells = controller.read(counter_entry=p4r.CounterEntry(counter_id=counted.id))
    assert [cell.counter_entry.data.packet_count for cell in cells] == [0, 1, 0, 0]


def bad_group(**fields: object) -> p4r.Update:
    made = NAMES.update(group(GROUP, (1, 1, None), (2, 1, None)))
    for key, value in fields.items():
        setattr(made.entity.action_profile_group, key, value)
    return made


def bad_slot(**fields: object) -> p4r.Update:
    made = bad_group()
    for key, value in fields.items():
        setattr(made.entity.action_profile_group.members[1], key, value)
    return made


BAD_GROUPS = {
    "profile": (bad_group(action_profile_id=5), Code.NOT_FOUND),
    "group id 0": (bad_group(group_id=0), Code.INVALID_ARGUMENT),
    "group id reserved": (bad_group(group_id=0xFFFFFFFF), Code.INVALID_ARGUMENT),
    "weight 0": (bad_slot(weight=0), Code.INVALID_ARGUMENT),
    "negative weight": (bad_slot(weight=-1), Code.INVALID_ARGUMENT),
    "twice the same": (bad_slot(member_id=1), Code.INVALID_ARGUMENT),
    "no such member": (bad_slot(member_id=9), Code.NOT_FOUND),
    "watch port": (bad_slot(watch_port=b"\xff\xff"), Code.OUT_OF_RANGE),
    "watch": (bad_slot(watch=-5), Code.OUT_OF_RANGE),
    "heavier than max_size": (bad_group(max_size=1), Code.RESOURCE_EXHAUSTED),
    "heavier than the profile": (bad_slot(weight=1 << 30), Code.RESOURCE_EXHAUSTED),
    "negative max_size": (bad_group(max_size=-1), Code.INVALID_ARGUMENT),
}


@pytest.mark.parametrize("what", BAD_GROUPS)
def test_a_bad_group_has_its_code_and_changes_nothing(controller: Client, what: str) -> None:
    controller.write(member(1, 1), member(2, 2))
    update, code = BAD_GROUPS[what]
    assert codes(controller, update) == [code]
    assert profile(controller) == ([1, 2], [])
    controller.write(bad_group())


def test_max_size_of_a_group_is_fixed(controller: Client) -> None:
    controller.write(member(1, 1), member(2, 2), bad_group(max_size=3))
    update = bad_group(max_size=4)
    update.type = p4r.Update.MODIFY
    assert codes(controller, update) == [Code.INVALID_ARGUMENT]
    update = bad_slot(weight=3)
    update.type = p4r.Update.MODIFY
    assert codes(controller, update) == [Code.INVALID_ARGUMENT]
    update.entity.action_profile_group.max_size = 3
    assert codes(controller, update) == [Code.RESOURCE_EXHAUSTED]


def one_shot(*ports: tuple[int, int], kind: p4r.Update.Type.ValueType = p4r.Update.INSERT) -> p4r.Update:
    """An entry of `paths` with an action set; ports: (port, weight)."""
    made = NAMES.update(path(GROUP, group=1))
    made.type = kind
    made.entity.table_entry.action.Clear()
    actions = made.entity.table_entry.action.action_profile_action_set.action_profile_actions
    for port, weight in ports:
        action = NAMES.update(member(1, port)).entity.action_profile_member.action
        actions.add(action=action, weight=weight, watch_port=bytes([port]))
    return made


def test_one_shot_action_sets(controller: Client, served: Served) -> None:
    controller.write(route("10.0.2.0/24", GROUP), policy("host_directed"), one_shot((1, 1), (3, 2)))
    [found] = entries(controller, table_id=PATHS.id)
    assert found.action == one_shot((1, 1), (3, 2)).entity.table_entry.action
    assert profile(controller) == ([], [])  # its members and groups are not the user's

    def ports() -> list[int]:
        return sorted(port for i in range(3) for port, _ in served.inject(HOST_PORT, csa(path_id=i)))

    assert ports() == [1, 3, 3]
    controller.write(one_shot((4, 1), kind=p4r.Update.MODIFY))
    assert ports() == [4, 4, 4]
    assert codes(controller, one_shot((1, 0), kind=p4r.Update.MODIFY)) == [Code.INVALID_ARGUMENT]
    assert codes(controller, one_shot((2, 1))) == [Code.ALREADY_EXISTS]
    assert ports() == [4, 4, 4]
    controller.write(one_shot(kind=p4r.Update.DELETE))
    assert ports() == []
    controller.write(one_shot((1, 1)))
    assert codes(controller, member(9, 1), group(9)) == [Code.INVALID_ARGUMENT] * 2
    controller.write(one_shot(kind=p4r.Update.DELETE), member(9, 1))
    assert codes(controller, one_shot((1, 1))) == [Code.INVALID_ARGUMENT]  # the two are not mixed
    controller.write({"delete": {"profile": PROFILE, "member": 9}})
    for _ in range(300):  # nothing is left behind by sets that come and go
        controller.write(one_shot((1, 8), (2, 8)), one_shot(kind=p4r.Update.DELETE))

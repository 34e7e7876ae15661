"""Writing and reading tables, action profiles and counters over P4Runtime."""

from __future__ import annotations

import grpc
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
    lose,
    member,
    name,
    path,
    policy,
    route,
)
from tests.softswitch.p4runtime_support import DEVICE_ID, INDEX, NAMES, Client, Served, refused, update_codes

LPM = NAMES.table(name("route.ipv4_lpm"))
POLICY = NAMES.table(name("spray.policy"))
PATHS = NAMES.table(name("spray.paths"))
PROFILE_ID = next(spec.id for spec in INDEX.profiles.values())
INGRESS_KIND = next(spec for spec in INDEX.counters.values() if spec.name.endswith("ingress_kind"))


def entries(client: Client, **wanted: object) -> list[p4r.TableEntry]:
    return [found.table_entry for found in client.read(table_entry=p4r.TableEntry(**wanted))]


def codes(client: Client, *updates: dict | p4r.Update) -> list[Code]:
    """The code of each update of one batch."""
    try:
        client.write(*updates)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNKNOWN
        return update_codes(error)
    return [Code.OK] * len(updates)


def entry(update: dict, **fields: object) -> p4r.Update:
    """The update with fields of its table entry set."""
    made = NAMES.update(update)
    for field, value in fields.items():
        if isinstance(value, (int, bytes, bool)):
            setattr(made.entity.table_entry, field, value)
        else:
            getattr(made.entity.table_entry, field).CopyFrom(value)
    return made


# --- tables


def test_what_is_written_is_read_back(controller: Client) -> None:
    updates = [route("10.0.0.0/8", 3), route("0.0.0.0/1", 513), policy("ecmp", 7, {"kind": "1&&&3"}, seed=0)]
    made = [NAMES.update(update) for update in updates]
    controller.write(*made)
    found = entries(controller)
    assert sorted(found, key=str) == sorted((update.entity.table_entry for update in made), key=str)


def test_reads_of_one_table_one_entry_and_one_priority(controller: Client) -> None:
    controller.write(route("10.0.0.0/8", 1), route("10.0.0.0/16", 2))
    controller.write(
        policy("ecmp", 1, seed=1), policy("ecmp", 2, seed=2), policy("ecmp", 2, {"cls": "1&&&7"}, seed=3)
    )
    assert len(entries(controller)) == 5
    assert len(entries(controller, table_id=LPM.id)) == 2
    assert len(entries(controller, table_id=POLICY.id, priority=2)) == 2
    assert len(entries(controller, priority=1)) == 1
    wanted = NAMES.update(route("10.0.0.0/16", 0)).entity.table_entry.match
    [found] = entries(controller, table_id=LPM.id, match=wanted)
    assert found.action.action.params[0].value == b"\x02"
    wanted = NAMES.update(route("10.0.0.0/17", 0)).entity.table_entry.match
    assert entries(controller, table_id=LPM.id, match=wanted) == []


def test_values_are_canonical_when_read_and_may_have_leading_zeros_when_written(controller: Client) -> None:
    update = NAMES.update(route("10.0.0.0/8", 5))
    update.entity.table_entry.match[0].lpm.value = b"\x00\x00\x0a\x00\x00\x00"
    update.entity.table_entry.action.action.params[0].value = b"\x00\x00\x00\x05"
    controller.write(update)
    [found] = entries(controller, table_id=LPM.id)
    assert found.match[0].lpm.value == b"\x0a\x00\x00\x00"
    assert found.action.action.params[0].value == b"\x05"
    assert codes(controller, route("10.0.0.0/8", 5)) == [Code.ALREADY_EXISTS]


def test_insert_modify_delete(controller: Client) -> None:
    body = route("10.0.0.0/8", 1)["insert"]
    missing = {"modify": body}, {"delete": {"table": body["table"], "match": body["match"]}}
    assert codes(controller, *missing) == [Code.NOT_FOUND, Code.NOT_FOUND]
    assert codes(controller, {"insert": body}, {"insert": body}) == [Code.OK, Code.ALREADY_EXISTS]
    assert codes(controller, {"modify": {**body, "params": {"group": 9}}}) == [Code.OK]
    [found] = entries(controller)
    assert found.action.action.params[0].value == b"\x09"
    assert codes(controller, missing[1]) == [Code.OK]
    assert entries(controller) == []


def test_a_batch_goes_on_after_an_update_that_fails(controller: Client) -> None:
    batch = [route(f"10.{i // 2}.0.0/16", 1) for i in range(10)]  # every second one is there already
    assert codes(controller, *batch) == [Code.OK, Code.ALREADY_EXISTS] * 5
    assert len(entries(controller)) == 5


def test_a_batch_too_long_for_the_details_says_which_update_failed_first(controller: Client) -> None:
    batch = [route(f"10.{i % 100}.0.0/16", 1) for i in range(2000)]
    with pytest.raises(grpc.RpcError) as caught:
        controller.write(*batch)
    assert caught.value.code() == grpc.StatusCode.UNKNOWN
    assert "update 100 of the batch" in caught.value.details()
    assert update_codes(caught.value) == [Code.OK] * 100 + [Code.ALREADY_EXISTS] or not update_codes(
        caught.value
    )
    assert len(entries(controller)) == 100


def test_the_metadata_of_an_entry_is_kept(controller: Client) -> None:
    controller.write(entry(route("10.0.0.0/8", 1), metadata=b"mine"))
    assert entries(controller)[0].metadata == b"mine"
    controller.write(entry({"modify": route("10.0.0.0/8", 2)["insert"]}, metadata=b""))
    assert entries(controller)[0].metadata == b""


def field(update: dict, **change: object) -> p4r.Update:
    made = NAMES.update(update)
    match = made.entity.table_entry.match[0]
    kind = getattr(match, match.WhichOneof("field_match_type"))
    for key, value in change.items():
        setattr(kind, key, value)
    return made


BAD_ENTRIES = {
    "table": (entry(route("10.0.0.0/8", 1), table_id=99), Code.NOT_FOUND),
    "no table": (entry(route("10.0.0.0/8", 1), table_id=0), Code.NOT_FOUND),
    "priority on LPM": (entry(route("10.0.0.0/8", 1), priority=1), Code.INVALID_ARGUMENT),
    "no priority on ternary": (entry(policy("ecmp", 1, seed=1), priority=0), Code.INVALID_ARGUMENT),
    "negative priority": (entry(policy("ecmp", 1, seed=1), priority=-1), Code.INVALID_ARGUMENT),
    "bits beyond the prefix": (
        field(route("10.0.0.0/8", 1), value=b"\x0a\x00\x00\x01"),
        Code.INVALID_ARGUMENT,
    ),
    "prefix too long": (field(route("10.0.0.0/8", 1), prefix_len=33), Code.INVALID_ARGUMENT),
    "prefix of zero": (field(route("10.0.0.0/8", 1), prefix_len=0), Code.INVALID_ARGUMENT),
    "value too wide": (field(route("10.0.0.0/8", 1), value=b"\x01\x0a\x00\x00\x00"), Code.OUT_OF_RANGE),
    "empty value": (field(route("10.0.0.0/8", 1), value=b""), Code.INVALID_ARGUMENT),
    "empty mask": (field(policy("ecmp", 1, {"group": "1&&&1"}, seed=1), mask=b"\0"), Code.INVALID_ARGUMENT),
    "bits beyond the mask": (
        field(policy("ecmp", 1, {"group": "1&&&1"}, seed=1), value=b"\3"),
        Code.INVALID_ARGUMENT,
    ),
    "unknown field": (
        NAMES.update(route("10.0.0.0/8", 1)),
        Code.INVALID_ARGUMENT,
    ),
    "exact field missing": (entry(path(1, member=1)), Code.INVALID_ARGUMENT),
    "action of another table": (entry(route("10.0.0.0/8", 1)), Code.INVALID_ARGUMENT),
    "no such action": (entry(route("10.0.0.0/8", 1)), Code.NOT_FOUND),
    "no action": (entry(route("10.0.0.0/8", 1), action=p4r.TableAction()), Code.INVALID_ARGUMENT),
    "parameter missing": (entry(route("10.0.0.0/8", 1)), Code.INVALID_ARGUMENT),
    "parameter too wide": (entry(route("10.0.0.0/8", 1)), Code.OUT_OF_RANGE),
    "action where a profile is": (entry(path(1, member=1)), Code.INVALID_ARGUMENT),
    "group where no profile is": (entry(route("10.0.0.0/8", 1)), Code.INVALID_ARGUMENT),
    "member that is not there": (NAMES.update(path(1, member=77)), Code.NOT_FOUND),
    "group that is not there": (NAMES.update(path(1, group=77)), Code.NOT_FOUND),
    "idle timeout": (entry(route("10.0.0.0/8", 1), idle_timeout_ns=5), Code.INVALID_ARGUMENT),
    "default entry inserted": (entry(route("10.0.0.0/8", 1), is_default_action=True), Code.INVALID_ARGUMENT),
}
BAD_ENTRIES["unknown field"][0].entity.table_entry.match[0].field_id = 9
BAD_ENTRIES["exact field missing"][0].entity.table_entry.ClearField("match")
_actions = {short: INDEX.action_ids[name(short)] for short in ("spray.round_robin", "spray.forward")}
BAD_ENTRIES["action of another table"][0].entity.table_entry.action.action.action_id = _actions[
    "spray.round_robin"
]
BAD_ENTRIES["no such action"][0].entity.table_entry.action.action.action_id = 4711
BAD_ENTRIES["parameter missing"][0].entity.table_entry.action.action.ClearField("params")
BAD_ENTRIES["parameter too wide"][0].entity.table_entry.action.action.params[0].value = b"\1\0\0"
BAD_ENTRIES["action where a profile is"][0].entity.table_entry.action.action.action_id = _actions[
    "spray.forward"
]
BAD_ENTRIES["group where no profile is"][0].entity.table_entry.action.action_profile_group_id = 1


@pytest.mark.parametrize("what", BAD_ENTRIES)
def test_a_bad_entry_has_its_code_and_changes_nothing(controller: Client, what: str) -> None:
    update, code = BAD_ENTRIES[what]
    assert codes(controller, update) == [code]
    assert entries(controller) == []


def test_const_default_actions_cannot_be_changed(controller: Client) -> None:
    update = {"modify": {**route("0.0.0.0/1", 1)["insert"], "match": {}, "default": True}}
    assert codes(controller, update) == [Code.PERMISSION_DENIED]


def test_default_entries_are_read_when_asked_for(controller: Client) -> None:
    found = entries(controller, is_default_action=True)
    assert {e.table_id for e in found} == set(INDEX.tables)
    assert all(e.is_default_action and not e.match for e in found)
    [ecmp] = entries(controller, table_id=POLICY.id, is_default_action=True)
    assert ecmp.action.action.action_id == INDEX.action_ids[name("spray.ecmp")]
    assert [p.value for p in ecmp.action.action.params] == [b"\0"]


def test_a_full_table_says_so(controller: Client) -> None:
    batch = [lose(port, 0.5, 1, 0) for port in range(1, 257)]
    controller.write(*batch)
    size = NAMES.table(name("fault.inject")).size
    more = [lose(port % 512, 0.5, 1, 0, kind="1&&&3") for port in range(size - 256)]
    controller.write(*more)
    assert codes(controller, lose(300, 0.5, 1, 0)) == [Code.RESOURCE_EXHAUSTED]


# --- action profiles


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
    for _ in range(300):  # nothing is left behind by sets that come and go
        controller.write(one_shot((1, 8), (2, 8)), one_shot(kind=p4r.Update.DELETE))


# --- counters


def cells(client: Client, counter_id: int, index: int | None = None) -> dict[int, tuple[int, int]]:
    wanted = p4r.CounterEntry(counter_id=counter_id)
    if index is not None:
        wanted.index.index = index
    found = [entity.counter_entry for entity in client.read(counter_entry=wanted)]
    return {e.index.index: (e.data.packet_count, e.data.byte_count) for e in found}


def test_counters_by_index_whole_and_all(controller: Client, served: Served) -> None:
    controller.write(*leaf()["write"])
    frame = csa()
    for _ in range(3):
        served.inject(HOST_PORT, frame)
    data_cell = HOST_PORT * 4 + 1
    assert cells(controller, INGRESS_KIND.id, data_cell) == {data_cell: (3, 3 * len(frame))}
    whole = cells(controller, INGRESS_KIND.id)
    assert len(whole) == INGRESS_KIND.size
    assert sum(packets for packets, _ in whole.values()) == 3
    everything = controller.read(counter_entry=p4r.CounterEntry())
    assert len(everything) == sum(spec.size for spec in INDEX.counters.values())


def test_counters_can_be_set(controller: Client) -> None:
    update = p4r.Update(type=p4r.Update.MODIFY)
    update.entity.counter_entry.counter_id = INGRESS_KIND.id
    update.entity.counter_entry.index.index = 9
    update.entity.counter_entry.data.packet_count = 5
    update.entity.counter_entry.data.byte_count = 50
    controller.write(update)
    assert cells(controller, INGRESS_KIND.id, 9) == {9: (5, 50)}
    update.type = p4r.Update.INSERT
    assert codes(controller, update) == [Code.INVALID_ARGUMENT]
    update.type = p4r.Update.MODIFY
    update.entity.counter_entry.index.index = INGRESS_KIND.size
    assert codes(controller, update) == [Code.OUT_OF_RANGE]
    update.entity.counter_entry.ClearField("index")
    assert codes(controller, update) == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize("index", [-1, INGRESS_KIND.size, 1 << 62])
def test_a_counter_index_out_of_range(controller: Client, index: int) -> None:
    with refused(Code.OUT_OF_RANGE):
        cells(controller, INGRESS_KIND.id, index)
    with refused(Code.NOT_FOUND):
        cells(controller, 12345)


def test_direct_counters_alone_and_with_their_entries(controller: Client, served: Served) -> None:
    controller.write(*leaf()["write"], route("10.0.3.0/24", 1))
    frame = csa()
    for _ in range(4):
        served.inject(HOST_PORT, frame)
    wanted = p4r.DirectCounterEntry(table_entry=p4r.TableEntry(table_id=LPM.id))
    found = [entity.direct_counter_entry for entity in controller.read(direct_counter_entry=wanted)]
    assert sorted(e.data.packet_count for e in found) == [0, 0, 4]
    assert all(e.table_entry.match for e in found)
    plain = entries(controller, table_id=LPM.id)
    assert not any(e.HasField("counter_data") for e in plain)
    counted = entries(controller, table_id=LPM.id, counter_data=p4r.CounterData())
    assert sorted(e.counter_data.byte_count for e in counted) == [0, 0, 4 * len(frame)]
    everywhere = controller.read(direct_counter_entry=p4r.DirectCounterEntry(table_entry=p4r.TableEntry()))
    assert len(everywhere) == len(entries(controller))


def test_a_direct_counter_can_be_set_on_its_own_and_with_its_entry(controller: Client) -> None:
    controller.write(
        entry(route("10.0.0.0/8", 1), counter_data=p4r.CounterData(packet_count=7, byte_count=70))
    )

    def count() -> tuple[int, int]:
        [found] = entries(controller, table_id=LPM.id, counter_data=p4r.CounterData())
        return found.counter_data.packet_count, found.counter_data.byte_count

    assert count() == (7, 70)
    update = p4r.Update(type=p4r.Update.MODIFY)
    update.entity.direct_counter_entry.table_entry.table_id = LPM.id
    update.entity.direct_counter_entry.table_entry.match.extend(entries(controller)[0].match)
    update.entity.direct_counter_entry.data.packet_count = 1
    controller.write(update)
    assert count() == (1, 0)
    update.entity.direct_counter_entry.ClearField("data")
    controller.write(update)
    assert count() == (0, 0)


def test_the_counter_of_misses_is_that_of_the_default_entry(controller: Client, served: Served) -> None:
    served.inject(HOST_PORT, csa())
    [found] = entries(controller, table_id=LPM.id, is_default_action=True, counter_data=p4r.CounterData())
    assert found.counter_data.packet_count == 1


# --- what there is not


@pytest.mark.parametrize(
    "entity",
    [
        {"meter_entry": p4r.MeterEntry()},
        {"direct_meter_entry": p4r.DirectMeterEntry()},
        {"value_set_entry": p4r.ValueSetEntry()},
        {"register_entry": p4r.RegisterEntry()},
        {"digest_entry": p4r.DigestEntry()},
        {"extern_entry": p4r.ExternEntry()},
    ],
    ids=lambda entity: next(iter(entity)),
)
def test_what_is_not_supported_says_so(controller: Client, entity: dict) -> None:
    update = p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(**entity))
    assert codes(controller, update) == [Code.UNIMPLEMENTED]
    with refused(Code.UNIMPLEMENTED, "not supported"):
        controller.read(**entity)


def test_empty_requests(controller: Client) -> None:
    controller.write()
    assert list(controller.stub.Read(p4r.ReadRequest(device_id=DEVICE_ID))) == []
    assert codes(controller, p4r.Update()) == [Code.INVALID_ARGUMENT]
    assert codes(controller, p4r.Update(type=p4r.Update.INSERT)) == [Code.INVALID_ARGUMENT]
    with refused(Code.INVALID_ARGUMENT, "empty"):
        controller.read()


def test_other_atomicities_are_refused(controller: Client) -> None:
    request = p4r.WriteRequest(device_id=DEVICE_ID, atomicity=p4r.WriteRequest.ROLLBACK_ON_ERROR)
    request.election_id.low = 1
    with refused(Code.UNIMPLEMENTED, "CONTINUE_ON_ERROR"):
        controller.stub.Write(request)


def test_multicast_groups_and_clone_sessions_are_read_back(controller: Client) -> None:
    multicast = p4r.Update(type=p4r.Update.INSERT)
    copies = multicast.entity.packet_replication_engine_entry.multicast_group_entry
    copies.multicast_group_id = 3
    copies.replicas.add(port=b"\x01", instance=1)
    copies.replicas.add(egress_port=2, instance=1)
    clone = p4r.Update(type=p4r.Update.INSERT)
    session = clone.entity.packet_replication_engine_entry.clone_session_entry
    session.session_id = 9
    session.replicas.add(port=b"\x04", instance=0)
    controller.write(multicast, clone)
    assert codes(controller, multicast, clone) == [Code.ALREADY_EXISTS] * 2
    everything = p4r.PacketReplicationEngineEntry()
    found = controller.read(packet_replication_engine_entry=everything)
    assert found == [multicast.entity, clone.entity]
    multicast.type = clone.type = p4r.Update.DELETE
    controller.write(multicast, clone)
    assert codes(controller, multicast, clone) == [Code.NOT_FOUND] * 2
    assert controller.read(packet_replication_engine_entry=everything) == []

"""Table entries over P4Runtime: written, read in every way, and refused with the right code."""

from __future__ import annotations

import grpc
import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import (
    lose,
    name,
    path,
    policy,
    route,
)
from tests.softswitch.p4runtime_support import (
    INDEX,
    NAMES,
    Client,
    codes,
    entries,
    entry,
    refused_read,
    update_codes,
)

LPM = NAMES.table(name("route.ipv4_lpm"))
POLICY = NAMES.table(name("spray.policy"))


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
    action = p4r.TableAction(action=p4r.Action(action_id=INDEX.action_ids[name("spray.ecmp")]))
    assert len(entries(controller, table_id=POLICY.id, action=action)) == 3
    action.action.action_id = INDEX.action_ids[name("spray.round_robin")]
    assert entries(controller, table_id=POLICY.id, action=action) == []
    with refused_read(Code.INVALID_ARGUMENT, "all tables"):
        entries(controller, priority=1)
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
    "empty value": (field(route("10.0.0.0/8", 1), value=b""), Code.OUT_OF_RANGE),
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
    "no such action": (entry(route("10.0.0.0/8", 1)), Code.INVALID_ARGUMENT),
    "const": (entry(route("10.0.0.0/8", 1), is_const=True), Code.INVALID_ARGUMENT),
    "meter of a table without": (
        entry(route("10.0.0.0/8", 1), meter_config=p4r.MeterConfig(cir=1, pir=1)),
        Code.INVALID_ARGUMENT,
    ),
    "time since last hit": (
        entry(route("10.0.0.0/8", 1), time_since_last_hit=p4r.TableEntry.IdleTimeout()),
        Code.INVALID_ARGUMENT,
    ),
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

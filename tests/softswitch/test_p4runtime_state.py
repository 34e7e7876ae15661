"""Registers, value sets, const tables and keyless ones over P4Runtime."""

from __future__ import annotations

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4d, p4r

from tests.softswitch.p4rt_program import (
    CONFIG,
    HERE,
    REGISTERS,
    TABLES,
    TAGS,
    action,
    delete,
    destination,
    frame,
    insert,
    modify,
    number,
    tag,
)
from tests.softswitch.p4runtime_support import Client, Served, codes, entries, refused_read

SOURCE = REGISTERS["last_source"]
TAGGED = 0x9999


@pytest.fixture
def client(primary: Client) -> Client:
    primary.set_pipeline(config=CONFIG)
    return primary


def register(id: int, index: int | None = None, value: bytes | None = None) -> p4r.RegisterEntry:
    made = p4r.RegisterEntry(register_id=id)
    if index is not None:
        made.index.index = index
    if value is not None:
        made.data.bitstring = value
    return made


def cells(client: Client, id: int, index: int | None = None) -> list[bytes]:
    found = client.read(register_entry=register(id, index))
    return [entity.register_entry.data.bitstring for entity in found]


# --- registers


def test_registers_are_read_and_written(client: Client, served: Served) -> None:
    served.inject(3, frame())
    assert cells(client, SOURCE, 3) == [number(HERE)]
    assert cells(client, SOURCE) == [b"\0"] * 3 + [number(HERE)] + [b"\0"] * 12
    client.write(modify(register_entry=register(SOURCE, 7, b"\x00\x12\x34")))
    assert cells(client, SOURCE, 7) == [b"\x12\x34"]  # canonical
    client.write(modify(register_entry=register(SOURCE, None, b"\x05")))
    assert cells(client, SOURCE) == [b"\x05"] * 16
    assert len(cells(client, 0)) == 20  # of every register


def test_bad_register_requests(client: Client) -> None:
    wide = modify(register_entry=register(SOURCE, 0, b"\1" + bytes(6)))
    empty = modify(register_entry=register(SOURCE, 0, b""))
    struct = modify(
        register_entry=p4r.RegisterEntry(register_id=SOURCE, data=p4d.P4Data(struct=p4d.P4StructLike()))
    )
    without = modify(register_entry=register(SOURCE, 0))
    assert codes(client, wide, empty, struct, without) == [
        Code.OUT_OF_RANGE,
        Code.OUT_OF_RANGE,
        Code.INVALID_ARGUMENT,
        Code.INVALID_ARGUMENT,
    ]
    indices = [modify(register_entry=register(SOURCE, index, b"\1")) for index in (-1, 16)]
    assert codes(client, *indices) == [Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE]
    assert codes(client, insert(register_entry=register(SOURCE, 0, b"\1"))) == [Code.INVALID_ARGUMENT]
    with refused_read(Code.NOT_FOUND):
        cells(client, 5)


# --- value sets


def members(client: Client) -> list[bytes]:
    [found] = client.read(value_set_entry=p4r.ValueSetEntry())
    assert found.value_set_entry.value_set_id == TAGS
    return [member.match[0].exact.value for member in found.value_set_entry.members]


def parsed_tag(served: Served) -> bool:
    """Whether a frame of 15 bytes, which ends within its tag, got through the parser."""
    return served.inject(1, frame(kind=TAGGED, size=15)) == []


def test_a_value_set_decides_what_is_parsed(client: Client, served: Served) -> None:
    client.write(insert(table_entry=destination()))
    assert not parsed_tag(served)
    assert members(client) == []
    client.write(tag(TAGGED, 5))
    assert sorted(members(client)) == [b"\x05", number(TAGGED)]
    assert served.inject(1, frame(kind=TAGGED)) == [(2, frame(kind=TAGGED))]
    client.write(tag())
    assert members(client) == []
    assert not parsed_tag(served)


def test_bad_value_sets(client: Client) -> None:
    client.write(tag(1, 2))
    assert codes(client, tag(1, 2, 3, 4, 5), tag(1, 1), tag(0x10000)) == [
        Code.RESOURCE_EXHAUSTED,
        Code.ALREADY_EXISTS,
        Code.OUT_OF_RANGE,
    ]
    update = tag(1)
    update.type = p4r.Update.INSERT
    assert codes(client, update) == [Code.INVALID_ARGUMENT]
    update = tag(1)
    update.entity.value_set_entry.members[0].ClearField("match")
    assert codes(client, update) == [Code.INVALID_ARGUMENT]
    assert sorted(members(client)) == [b"\1", b"\2"]
    with refused_read(Code.NOT_FOUND):
        client.read(value_set_entry=p4r.ValueSetEntry(value_set_id=9))


# --- tables that the program fills, or that have no key


def test_of_const_entries_only_the_counter_can_be_written(client: Client, served: Served) -> None:
    found = entries(client, table_id=TABLES["classes"], counter_data=p4r.CounterData())
    assert [(e.priority, e.is_const) for e in found] == [(2, True), (1, True)]
    served.inject(1, frame(kind=0x8001))
    found = entries(client, table_id=TABLES["classes"], counter_data=p4r.CounterData())
    assert [e.counter_data.packet_count for e in found] == [1, 0]
    first = found[0]
    first.is_const = False
    denied = [insert(table_entry=first), modify(table_entry=first), delete(table_entry=first)]
    assert codes(client, *denied) == [Code.PERMISSION_DENIED] * 3
    first.ClearField("action")
    first.counter_data.packet_count = 40
    client.write(modify(table_entry=first))
    found = entries(client, table_id=TABLES["classes"], counter_data=p4r.CounterData())
    assert [e.counter_data.packet_count for e in found] == [40, 0]
    first.priority = 9
    assert codes(client, modify(table_entry=first)) == [Code.NOT_FOUND]


def test_a_table_without_a_key_has_a_default_entry_only(client: Client) -> None:
    always = p4r.TableEntry(table_id=TABLES["always"], action=action("set_class", 3))
    assert codes(client, insert(table_entry=always)) == [Code.INVALID_ARGUMENT]
    always.is_default_action = True
    always.metadata, always.controller_metadata = b"mine", 77
    client.write(modify(table_entry=always))
    [found] = entries(client, table_id=TABLES["always"], is_default_action=True)
    assert found == always
    always.ClearField("action")
    client.write(modify(table_entry=always))  # the program's own again, and nothing else
    [found] = entries(client, table_id=TABLES["always"], is_default_action=True)
    assert found.action == action("set_class", 0)
    assert (found.metadata, found.controller_metadata) == (b"", 0)
    always.action.CopyFrom(action("known"))
    assert codes(client, modify(table_entry=always)) == [Code.PERMISSION_DENIED]  # @tableonly


def default_count(client: Client) -> int:
    wanted = {"table_id": TABLES["destinations"], "is_default_action": True}
    [found] = entries(client, **wanted, counter_data=p4r.CounterData())
    return found.counter_data.packet_count


def test_a_default_action_that_is_changed_or_reset_keeps_its_count(client: Client, served: Served) -> None:
    default = p4r.TableEntry(table_id=TABLES["destinations"], is_default_action=True)
    served.inject(1, frame())
    default.action.CopyFrom(action("flood", 3))
    client.write(modify(table_entry=default))
    assert default_count(client) == 1
    served.inject(1, frame())
    default.ClearField("action")
    client.write(modify(table_entry=default))
    assert default_count(client) == 2


@pytest.mark.parametrize("atomicity", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
def test_a_default_action_that_is_taken_back_keeps_its_count(
    client: Client, served: Served, atomicity: str
) -> None:
    served.inject(1, frame())
    flood = p4r.TableEntry(table_id=TABLES["destinations"], is_default_action=True, action=action("flood", 3))
    failing = delete(table_entry=destination(1))
    expected = [Code.ABORTED, Code.NOT_FOUND]
    assert codes(client, modify(table_entry=flood), failing, atomicity=atomicity) == expected
    assert default_count(client) == 1


def test_a_default_entry_of_an_empty_table_keeps_its_count_when_reconciled(
    client: Client, served: Served
) -> None:
    served.inject(1, frame())
    client.set_pipeline("RECONCILE_AND_COMMIT", CONFIG)
    assert default_count(client) == 1


def test_an_action_of_the_wrong_scope_is_refused(client: Client) -> None:
    update = insert(table_entry=destination())
    update.entity.table_entry.action.CopyFrom(action("drop"))
    assert codes(client, update) == [Code.PERMISSION_DENIED]  # @defaultonly
    const = p4r.TableEntry(table_id=TABLES["sources"], is_default_action=True, action=action("learn"))
    assert codes(client, modify(table_entry=const)) == [Code.PERMISSION_DENIED]


def test_entries_are_filtered_by_what_the_controller_noted_on_them(client: Client) -> None:
    for at in range(6):
        fields = {"metadata": b"even" if at % 2 == 0 else b"odd", "controller_metadata": at // 3 + 1}
        client.write(insert(table_entry=destination(dst=at, **fields)))

    def found(**wanted: object) -> list[int]:
        read = entries(client, table_id=TABLES["destinations"], **wanted)
        return sorted(int.from_bytes(e.match[0].exact.value, "big") for e in read)

    assert found(metadata=b"odd") == [1, 3, 5]
    assert found(controller_metadata=2) == [3, 4, 5]
    assert found(metadata=b"odd", controller_metadata=1) == [1]
    assert found(action=action("flood", 1)) == []


def test_a_modify_without_an_action_leaves_the_action(client: Client, served: Served) -> None:
    client.write(insert(table_entry=destination(port=3, metadata=b"old")))
    update = destination(metadata=b"new", counter_data=p4r.CounterData(packet_count=5))
    update.ClearField("action")
    client.write(modify(table_entry=update))
    assert served.inject(1, frame()) == [(3, frame())]
    wanted = {"table_id": TABLES["destinations"], "counter_data": p4r.CounterData()}
    [found] = entries(client, **wanted)
    assert (found.metadata, found.counter_data.packet_count) == (b"new", 6)
    update.match[0].exact.value = b"\x09"
    assert codes(client, modify(table_entry=update)) == [Code.NOT_FOUND]


def test_ranges_and_optional_keys(client: Client, served: Served) -> None:
    """A frame of class 1 from port 1 is dropped, whatever its destination says."""
    client.write(insert(table_entry=destination()))
    drop = p4r.TableEntry(table_id=TABLES["filters"], priority=5, action=action("drop"))
    low_high = drop.match.add(field_id=1).range
    low_high.low, low_high.high = b"\x01", b"\x01"
    drop.match.add(field_id=2).optional.value = b"\x01"
    client.write(insert(table_entry=drop))
    assert entries(client, table_id=TABLES["filters"]) == [drop]
    assert served.inject(1, frame(kind=0x8001)) == []
    assert served.inject(3, frame(kind=0x8001)) != []
    assert served.inject(1, frame(kind=0x0800)) != []
    bad = insert(table_entry=drop)
    bad.entity.table_entry.match[0].range.low = b"\x02"
    full = insert(table_entry=drop)
    full.entity.table_entry.match[0].range.low, full.entity.table_entry.match[0].range.high = b"\0", b"\xff"
    assert codes(client, bad, full) == [Code.INVALID_ARGUMENT] * 2

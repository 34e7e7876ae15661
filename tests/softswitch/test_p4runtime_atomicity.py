"""Batches: all that can be applied, all or nothing, and all in one step for packets."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest
from csaud_softswitch.p4runtime import pipeline, server
from csaud_softswitch.p4runtime.batch import Batch
from csaud_softswitch.p4runtime.errors import BatchError, Code, denied
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import GROUP, HOST_PORT, PROFILE, csa, group, leaf, member, name, route
from tests.softswitch.p4rt_program import (
    CONFIG,
    LEARNED,
    RATES,
    REGISTERS,
    TABLES,
    action,
    delete,
    destination,
    insert,
    modify,
    source,
    tag,
)
from tests.softswitch.p4runtime_support import NAMES, Client, Served, codes, entries, refused

ALL_OR_NONE = ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"]
METER = p4r.MeterConfig(cir=1, pir=2, cburst=3, pburst=4)


def state(client: Client) -> list[p4r.Entity]:
    """Everything that a controller can have written, counters and meters included."""
    all_entries = p4r.TableEntry(counter_data=p4r.CounterData(), meter_config=p4r.MeterConfig())
    defaults = p4r.TableEntry(is_default_action=True)
    wildcards = [
        p4r.Entity(table_entry=all_entries),
        p4r.Entity(table_entry=defaults),
        p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
        p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
        p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry()),
        p4r.Entity(meter_entry=p4r.MeterEntry()),
        p4r.Entity(register_entry=p4r.RegisterEntry()),
        p4r.Entity(value_set_entry=p4r.ValueSetEntry()),
        p4r.Entity(digest_entry=p4r.DigestEntry()),
        p4r.Entity(counter_entry=p4r.CounterEntry()),
    ]
    request = p4r.ReadRequest(device_id=client.device_id, entities=wildcards)
    found = [entity for response in client.stub.Read(request) for entity in response.entities]
    return sorted(found, key=lambda entity: entity.SerializeToString(deterministic=True))


def multicast(number: int, *ports: int) -> p4r.PacketReplicationEngineEntry:
    made = p4r.PacketReplicationEngineEntry()
    made.multicast_group_entry.multicast_group_id = number
    for port in ports:
        made.multicast_group_entry.replicas.add(port=bytes([port]), instance=1)
    return made


def meter(index: int, config: p4r.MeterConfig | None) -> p4r.MeterEntry:
    return p4r.MeterEntry(meter_id=RATES, index=p4r.Index(index=index), config=config)


def default(value: int) -> p4r.TableEntry:
    return p4r.TableEntry(
        table_id=TABLES["always"], is_default_action=True, action=action("set_class", value)
    )


def register(value: bytes) -> p4r.RegisterEntry:
    entry = p4r.RegisterEntry(register_id=REGISTERS["spare"])
    entry.data.bitstring = value
    return entry


def digest(size: int) -> p4r.DigestEntry:
    return p4r.DigestEntry(digest_id=LEARNED, config=p4r.DigestEntry.Config(max_list_size=size))


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_one_update_that_fails_takes_back_those_of_every_kind(primary: Client, atomicity: str) -> None:
    primary.set_pipeline(config=CONFIG)
    primary.write(
        insert(table_entry=destination(1, metadata=b"a", meter_config=METER)),
        insert(table_entry=destination(2, counter_data=p4r.CounterData(packet_count=5, byte_count=50))),
        insert(table_entry=source(3, idle_timeout_ns=10**12)),
        insert(packet_replication_engine_entry=multicast(1, 1, 2)),
        modify(meter_entry=meter(2, METER)),
        insert(digest_entry=digest(3)),
        tag(1, 2),
    )
    before = state(primary)
    counter = p4r.DirectCounterEntry(table_entry=destination(1), data=p4r.CounterData(packet_count=9))
    batch = [
        modify(table_entry=destination(1, port=4)),
        delete(table_entry=destination(2)),
        insert(table_entry=destination(4, metadata=b"new")),
        delete(table_entry=source(3)),
        modify(table_entry=default(7)),
        modify(packet_replication_engine_entry=multicast(1, 3)),
        insert(packet_replication_engine_entry=multicast(2, 3)),
        modify(meter_entry=meter(2, None)),
        modify(direct_counter_entry=counter),
        modify(direct_meter_entry=p4r.DirectMeterEntry(table_entry=destination(1), config=METER)),
        modify(register_entry=register(b"\x07")),
        modify(digest_entry=digest(8)),
        tag(9),
    ]
    failing = insert(table_entry=destination(1))
    assert codes(primary, *batch, failing, tag(4), atomicity=atomicity) == [
        *[Code.ABORTED] * len(batch),
        Code.ALREADY_EXISTS,
        Code.ABORTED,
    ]
    assert state(primary) == before
    primary.write(*batch, atomicity=atomicity)
    assert state(primary) != before
    assert len(entries(primary, table_id=TABLES["destinations"])) == 2


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_members_and_groups_are_taken_back(controller: Client, served: Served, atomicity: str) -> None:
    controller.write(*leaf()["write"])
    frames = [csa(src_port=0xC000 + i) for i in range(16)]
    ports = [served.inject(HOST_PORT, frame)[0][0] for frame in frames]
    before = state(controller)
    drop_member = {"delete": {"profile": PROFILE, "member": 1}}
    assert codes(
        controller,
        {"modify": group(GROUP, (2, 1, None))["insert"]},
        drop_member,
        member(9, 3),
        {"modify": member(2, 4)["insert"]},
        drop_member,
        atomicity=atomicity,
    ) == [*[Code.ABORTED] * 4, Code.NOT_FOUND]
    assert state(controller) == before
    assert [served.inject(HOST_PORT, frame)[0][0] for frame in frames] == ports


def counts(client: Client, **wanted: object) -> list[int]:
    found = entries(client, counter_data=p4r.CounterData(), **wanted)
    return [entry.counter_data.packet_count for entry in found]


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_the_counter_of_a_const_entry_is_taken_back(primary: Client, atomicity: str) -> None:
    primary.set_pipeline(config=CONFIG)
    classes = TABLES["classes"]
    counted = entries(primary, table_id=classes)[0]
    counted.ClearField("action")
    counted.is_const = False
    counted.counter_data.packet_count = 9
    batch = [insert(table_entry=destination(1)), modify(table_entry=counted)]
    failing = delete(table_entry=destination(2))
    expected = [Code.ABORTED, Code.ABORTED, Code.NOT_FOUND]
    assert codes(primary, *batch, failing, atomicity=atomicity) == expected
    assert counts(primary, table_id=classes) == [0, 0]
    assert entries(primary, table_id=TABLES["destinations"]) == []


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_the_counter_of_a_const_default_action_is_taken_back(controller: Client, atomicity: str) -> None:
    lpm = NAMES.table(name("route.ipv4_lpm")).id
    counted = p4r.TableEntry(table_id=lpm, is_default_action=True)
    counted.counter_data.packet_count = 5
    failing = {"delete": route("10.3.0.0/16", 1)["insert"]}
    batch = [route("10.1.0.0/16", 1), modify(table_entry=counted)]
    expected = [Code.ABORTED, Code.ABORTED, Code.NOT_FOUND]
    assert codes(controller, *batch, failing, atomicity=atomicity) == expected
    assert counts(controller, table_id=lpm, is_default_action=True) == [0]
    assert entries(controller, table_id=lpm) == []


def test_an_update_that_cannot_be_taken_back_is_told_of_and_does_not_keep_the_others() -> None:
    stays, bad = modify(table_entry=destination(2)), delete(table_entry=destination(3))
    present: set[bytes] = set()

    def apply(update: p4r.Update) -> None:
        key = update.entity.SerializeToString()
        if update == bad or update == delete(table_entry=stays.entity.table_entry):
            raise denied("no")
        (present.discard if update.type == p4r.Update.DELETE else present.add)(key)

    def undo(update: p4r.Update) -> list[p4r.Update]:
        return [delete(table_entry=update.entity.table_entry)]

    with pytest.raises(BatchError) as failed:
        Batch(apply, [insert(table_entry=destination(1)), stays, bad], undo).finish()
    assert present == {stays.entity.SerializeToString()}
    results = [result for result in failed.value.results if result is not None]
    assert [result.code for result in results] == [Code.ABORTED, Code.INTERNAL, Code.PERMISSION_DENIED]
    assert results[1].message == "not taken back: no"


def test_an_all_or_none_write_that_is_cancelled_leaves_nothing(
    primary: Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As gRPC does to the handler when the client gives up, or its deadline has passed."""
    monkeypatch.setattr(server, "WRITE_CHUNK", 1)
    primary.set_pipeline(config=CONFIG)
    primary.write(insert(table_entry=destination(100)))
    before = state(primary)
    updates = [delete(table_entry=destination(100)), *[insert(table_entry=destination(i)) for i in range(9)]]
    request = p4r.WriteRequest(device_id=primary.device_id, atomicity="ROLLBACK_ON_ERROR", updates=updates)
    request.election_id.low = 1
    service = server.P4RuntimeService(served.device, lambda: None)

    async def give_up() -> int:
        write = asyncio.ensure_future(service.Write(request, Mock()))
        for _ in range(4):
            await asyncio.sleep(0)
        applied = len(served.device.switch.table_entries("In.destinations"))
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        return applied

    assert 0 < served.run(give_up) < 9
    assert state(primary) == before


def test_a_batch_that_is_too_long_to_be_one_step_is_refused(
    controller: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MAX_ATOMIC", 2)
    with refused(Code.UNIMPLEMENTED, "3 updates, at most 2"):
        controller.write(*[route(f"10.{i}.0.0/16", 1) for i in range(3)], atomicity="DATAPLANE_ATOMIC")
    controller.write(*[route(f"10.{i}.0.0/16", 1) for i in range(2)], atomicity="DATAPLANE_ATOMIC")
    assert len(entries(controller)) == 2


def test_an_unknown_atomicity_is_refused(controller: Client) -> None:
    request = p4r.WriteRequest(device_id=controller.device_id, atomicity=9)  # type: ignore[arg-type]
    request.election_id.low = 1
    with refused(Code.UNIMPLEMENTED, "atomicity 9"):
        controller.stub.Write(request)

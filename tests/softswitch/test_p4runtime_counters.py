"""Counters, direct and indirect, and what this server does not have."""

from __future__ import annotations

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import (
    HOST_PORT,
    csa,
    leaf,
    name,
    route,
)
from tests.softswitch.p4runtime_support import (
    DEVICE_ID,
    INDEX,
    NAMES,
    Client,
    Served,
    codes,
    entries,
    entry,
    refused_read,
)

LPM = NAMES.table(name("route.ipv4_lpm"))
INGRESS_KIND = next(spec for spec in INDEX.counters.values() if spec.name.endswith("ingress_kind"))


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
    controller.write(update)
    assert set(cells(controller, INGRESS_KIND.id).values()) == {(5, 50)}
    update.entity.counter_entry.ClearField("data")
    controller.write(update)
    assert set(cells(controller, INGRESS_KIND.id).values()) == {(5, 50)}


@pytest.mark.parametrize("index", [-1, INGRESS_KIND.size, 1 << 62])
def test_a_counter_index_out_of_range(controller: Client, index: int) -> None:
    with refused_read(Code.INVALID_ARGUMENT if index < 0 else Code.OUT_OF_RANGE):
        cells(controller, INGRESS_KIND.id, index)
    with refused_read(Code.NOT_FOUND):
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
    assert count() == (1, 0)
    update.entity.direct_counter_entry.table_entry.match[0].lpm.prefix_len = 9
    assert codes(controller, update) == [Code.NOT_FOUND]
    with refused_read(Code.NOT_FOUND):
        controller.read(direct_counter_entry=update.entity.direct_counter_entry)


def test_the_counter_of_misses_is_that_of_the_default_entry(controller: Client, served: Served) -> None:
    served.inject(HOST_PORT, csa())
    [found] = entries(controller, table_id=LPM.id, is_default_action=True, counter_data=p4r.CounterData())
    assert found.counter_data.packet_count == 1


# --- what there is not


def test_there_are_no_extern_entries(controller: Client) -> None:
    update = p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(extern_entry=p4r.ExternEntry()))
    assert codes(controller, update) == [Code.UNIMPLEMENTED]
    with refused_read(Code.UNIMPLEMENTED, "not supported"):
        controller.read(extern_entry=p4r.ExternEntry())


def test_empty_requests(controller: Client) -> None:
    controller.write()
    assert list(controller.stub.Read(p4r.ReadRequest(device_id=DEVICE_ID))) == []
    assert codes(controller, p4r.Update()) == [Code.INVALID_ARGUMENT]
    assert codes(controller, p4r.Update(type=p4r.Update.INSERT)) == [Code.INVALID_ARGUMENT]
    with refused_read(Code.INVALID_ARGUMENT, "empty"):
        controller.read()


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

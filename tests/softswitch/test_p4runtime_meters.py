"""Meters, direct and indirect, over P4Runtime: what is configured, read back, and what it does to packets."""

from __future__ import annotations

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.p4rt_program import (
    CONFIG,
    RATES,
    TABLES,
    delete,
    destination,
    frame,
    insert,
    modify,
)
from tests.softswitch.p4runtime_support import Client, Served, codes, entries, refused_read

SLOW = p4r.MeterConfig(cir=1, cburst=2, pir=1, pburst=3)
"""Two packets green, one yellow, then red; one more a second."""


@pytest.fixture
def client(primary: Client) -> Client:
    primary.set_pipeline(config=CONFIG)
    return primary


def forwarded(served: Served, count: int) -> int:
    return sum(len(served.inject(1, frame())) for _ in range(count))


def meters(client: Client, index: int | None = None, meter: int = RATES) -> list[p4r.MeterEntry]:
    wanted = p4r.MeterEntry(meter_id=meter)
    if index is not None:
        wanted.index.index = index
    return [found.meter_entry for found in client.read(meter_entry=wanted)]


def rate(index: int | None, config: p4r.MeterConfig | None, meter: int = RATES) -> p4r.Update:
    entry = p4r.MeterEntry(meter_id=meter, config=config)
    if index is not None:
        entry.index.index = index
    return modify(meter_entry=entry)


def test_a_direct_meter_comes_with_its_entry_and_stops_what_is_too_much(
    client: Client, served: Served
) -> None:
    client.write(insert(table_entry=destination(meter_config=SLOW)))
    assert forwarded(served, 10) == 3
    plain = entries(client, table_id=TABLES["destinations"])
    assert not plain[0].HasField("meter_config")
    [found] = entries(client, table_id=TABLES["destinations"], meter_config=p4r.MeterConfig())
    assert found.meter_config == SLOW
    client.write(modify(table_entry=destination()))  # without a config: green for all packets
    assert forwarded(served, 10) == 10
    [found] = entries(client, table_id=TABLES["destinations"], meter_config=p4r.MeterConfig())
    assert not found.HasField("meter_config")


def test_a_direct_meter_as_an_entity_of_its_own(client: Client, served: Served) -> None:
    client.write(insert(table_entry=destination()))
    owner = destination()
    owner.ClearField("action")
    client.write(modify(direct_meter_entry=p4r.DirectMeterEntry(table_entry=owner, config=SLOW)))
    everywhere = p4r.DirectMeterEntry(table_entry=p4r.TableEntry())
    one = p4r.DirectMeterEntry(table_entry=owner)
    for wanted in (everywhere, one):
        [found] = client.read(direct_meter_entry=wanted)
        assert found.direct_meter_entry == p4r.DirectMeterEntry(table_entry=owner, config=SLOW)
    assert forwarded(served, 10) == 3
    client.write(modify(direct_meter_entry=one))
    [found] = client.read(direct_meter_entry=one)
    assert not found.direct_meter_entry.HasField("config")
    assert forwarded(served, 5) == 5
    update = p4r.DirectMeterEntry(table_entry=destination(dst=99), config=SLOW)
    assert codes(client, modify(direct_meter_entry=update)) == [Code.NOT_FOUND]
    with refused_read(Code.NOT_FOUND):
        client.read(direct_meter_entry=update)
    assert codes(client, insert(direct_meter_entry=one)) == [Code.INVALID_ARGUMENT]


def test_an_indirect_meter_by_index_whole_and_all(client: Client, served: Served) -> None:
    assert [m.HasField("config") for m in meters(client)] == [False] * 16
    client.write(
        insert(table_entry=destination()), rate(1, p4r.MeterConfig(cir=1, pir=1, cburst=250, pburst=250))
    )
    assert forwarded(served, 10) == 2
    assert [m.index.index for m in meters(client, meter=0) if m.HasField("config")] == [1]
    client.write(rate(None, SLOW))
    assert [m.config for m in meters(client)] == [SLOW] * 16
    client.write(rate(None, None))
    assert not any(m.HasField("config") for m in meters(client))
    assert forwarded(served, 4) == 4


def test_bad_meters(client: Client) -> None:
    config = p4r.MeterConfig
    for bad in (config(cir=-1), config(cir=2, pir=1), config(cir=1, pir=1, eburst=5)):
        assert codes(client, rate(0, bad)) == [Code.INVALID_ARGUMENT]
        entry = destination(meter_config=bad)
        assert codes(client, insert(table_entry=entry)) == [Code.INVALID_ARGUMENT]
    assert entries(client, table_id=TABLES["destinations"]) == []
    assert codes(client, rate(-1, SLOW), rate(16, SLOW), rate(0, SLOW, meter=5)) == [
        Code.INVALID_ARGUMENT,
        Code.OUT_OF_RANGE,
        Code.NOT_FOUND,
    ]
    update = rate(0, SLOW)
    update.entity.meter_entry.counter_data.SetInParent()
    assert codes(client, update) == [Code.UNIMPLEMENTED]
    with refused_read(Code.UNIMPLEMENTED):
        client.read(meter_entry=p4r.MeterEntry(counter_data=p4r.MeterCounterData()))
    assert codes(client, insert(meter_entry=p4r.MeterEntry(meter_id=RATES))) == [Code.INVALID_ARGUMENT]
    with refused_read(Code.INVALID_ARGUMENT):
        client.read(meter_entry=p4r.MeterEntry(index=p4r.Index(index=0)))


def test_a_meter_goes_with_its_entry(client: Client, served: Served) -> None:
    client.write(insert(table_entry=destination(meter_config=SLOW)))
    client.write(delete(table_entry=destination()))
    client.write(insert(table_entry=destination()))
    assert forwarded(served, 6) == 6

"""What is not implemented is refused with UNIMPLEMENTED and a message that names it, and changes nothing."""

from __future__ import annotations

import pytest
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.p4rt_program import CONFIG, RATES, TABLES, action, destination, insert, modify


def replication(**entry: object) -> p4r.PacketReplicationEngineEntry:
    return p4r.PacketReplicationEngineEntry(**entry)


def with_backup() -> p4r.MulticastGroupEntry:
    group = p4r.MulticastGroupEntry(multicast_group_id=1)
    group.replicas.add(port=b"\1").backup_replicas.add(port=b"\2")
    return group


def default_with_meter() -> p4r.TableEntry:
    entry = p4r.TableEntry(table_id=TABLES["destinations"], is_default_action=True, action=action("to", 2))
    entry.meter_config.cir = entry.meter_config.pir = 1
    return entry


COLORS = p4r.MeterCounterData()
REFUSED = {
    "class_of_service": insert(
        packet_replication_engine_entry=replication(
            clone_session_entry=p4r.CloneSessionEntry(session_id=1, class_of_service=3)
        )
    ),
    "backup replicas": insert(
        packet_replication_engine_entry=replication(multicast_group_entry=with_backup())
    ),
    "meter's colors": modify(
        meter_entry=p4r.MeterEntry(meter_id=RATES, index=p4r.Index(index=1), counter_data=COLORS)
    ),
    "counters of a meter's colors": insert(table_entry=destination(meter_counter_data=COLORS)),
    "default entry's meter": modify(table_entry=default_with_meter()),
    "extern": insert(extern_entry=p4r.ExternEntry(extern_type_id=1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_is_refused_by_name(name: str) -> None:
    soft = SoftTarget(CONFIG, [1])
    [(code, message)] = soft.write_with_messages([REFUSED[name]])
    assert code == Code.UNIMPLEMENTED
    assert name in message
    assert soft.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=TABLES["destinations"]))) == []

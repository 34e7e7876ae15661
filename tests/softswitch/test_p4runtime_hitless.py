"""Changes while packets flow, in real time: none is lost, and what both programs have goes on as it was.

The packets go around a ring of two switches for ever: one that finds its table empty for a moment is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch import programs
from tests.softswitch.p4rt_program import (
    CONFIG,
    RATES,
    REGISTERS,
    TABLES,
    THERE,
    delete,
    destination,
    frame,
    insert,
    modify,
    number,
    source,
    tag,
)
from tests.softswitch.p4runtime_support import Client, Served, entries

PACKETS = 50
RING = 6
"""Port of the switch under test where the ring is."""
DELAY_NS = 1_000_000
LOSSES = ("dropped_ingress", "dropped_egress", "no_such_port", "queue_full", "link_down", "flushed")


def renamed(cookie: int) -> p4r.ForwardingPipelineConfig:
    """The same program, but with another register in the place of one."""
    config = p4r.ForwardingPipelineConfig.FromString(
        CONFIG.SerializeToString().replace(b"In.spare", b"In.extra")
    )
    config.cookie.cookie = cookie
    return config


class Ring:
    def __init__(self, served: Served, client: Client) -> None:
        self.fabric, self.switch = served.fabric, served.device.switch
        self.far = self.fabric.add_switch("far", 99)
        self.far.load(programs.json_of("p4rt"))
        self.fabric.add_link("l1", RING, "far", 2, delay_ns=DELAY_NS)
        match = [("exact", THERE.to_bytes(6, "big"))]
        self.far.table_insert("In.destinations", match, 0, ("action", "In.to", [b"\x02"]))
        client.set_pipeline(config=CONFIG)
        client.write(insert(table_entry=destination(port=RING)))
        self.fabric.advance(time.monotonic_ns())  # the clock from which real time goes on
        self.frames = [frame(src=at, size=60 + at) for at in range(PACKETS)]
        self.fabric.inject_many("l1", 1, self.frames, self.fabric.now)
        self.fabric.start()

    def rounds(self) -> float:
        """How often the packets were around so far, on average."""
        return self.switch.port_stats()[RING]["rx_packets"] / PACKETS

    def go_on(self, rounds: float = 2) -> None:
        """Until the packets have been around some more times."""
        end, patience = self.rounds() + rounds, time.monotonic() + 60
        while self.rounds() < end:
            assert time.monotonic() < patience, "the packets are gone"
            time.sleep(0.001)

    def check(self) -> None:
        """No packet was lost: each that came has left, or waits."""
        self.go_on()
        for switch in (self.switch, self.far):
            stats = switch.stats()
            lost = {name: stats[name] for name in LOSSES if stats[name]}  # type: ignore[literal-required]
            assert not lost, lost
            assert stats["rx"] == stats["tx"] + stats["queued"]


@pytest.fixture
def ring(served: Served, primary: Client) -> Iterator[Ring]:
    made = Ring(served, primary)
    yield made
    made.fabric.stop()


def test_an_atomic_batch_is_one_step_for_packets(ring: Ring, primary: Client) -> None:
    others = [insert(table_entry=destination(dst=at, port=1)) for at in range(100)]
    gone = [delete(table_entry=destination(dst=at)) for at in range(100)]
    for _ in range(20):
        primary.write(
            delete(table_entry=destination()),
            *others,
            insert(table_entry=destination(port=RING)),
            *gone,
            atomicity="DATAPLANE_ATOMIC",
        )
    ring.check()


def test_reconcile_loses_no_packet_and_no_state(ring: Ring, primary: Client) -> None:
    meter = p4r.MeterEntry(meter_id=RATES, index=p4r.Index(index=3))
    meter.config.cir = meter.config.pir = 7
    groups = p4r.PacketReplicationEngineEntry()
    groups.multicast_group_entry.multicast_group_id = 4
    groups.multicast_group_entry.replicas.add(port=b"\x02", instance=1)
    groups.multicast_group_entry.metadata = b"flood"
    spare = p4r.RegisterEntry(register_id=REGISTERS["spare"], index=p4r.Index(index=1))
    spare.data.bitstring = b"\x05"
    kept = [
        insert(table_entry=source(5, idle_timeout_ns=10**15, metadata=b"mine")),
        insert(packet_replication_engine_entry=groups),
        modify(meter_entry=meter),
        tag(0x1234),
    ]
    primary.write(*kept, modify(register_entry=spare))
    for cookie in range(1, 8):
        ring.go_on(1)
        before = _counted(primary)
        primary.set_pipeline("RECONCILE_AND_COMMIT", renamed(cookie) if cookie % 2 else CONFIG)
        assert before <= _counted(primary)
    ring.check()
    for update in kept:
        what = update.entity.WhichOneof("entity")
        assert update.entity in primary.read(**{str(what): getattr(update.entity, str(what))})
    [last] = primary.read(
        register_entry=p4r.RegisterEntry(register_id=REGISTERS["last_source"], index=p4r.Index(index=RING))
    )
    assert int.from_bytes(last.register_entry.data.bitstring, "big") in range(PACKETS)
    [found] = primary.read(
        register_entry=p4r.RegisterEntry(register_id=REGISTERS["spare"], index=p4r.Index(index=1))
    )
    assert found.register_entry.data.bitstring == b"\0"  # another register in the place of the old one
    assert _counted(primary) > 7 * PACKETS


def _counted(client: Client) -> int:
    [found] = entries(client, table_id=TABLES["destinations"], counter_data=p4r.CounterData())
    return found.counter_data.packet_count


def test_a_pipeline_that_is_committed_anew_has_no_state_and_queued_packets_leave(
    served: Served, primary: Client
) -> None:
    """On a slow port two packets wait while the program is replaced: they passed the old egress, and go."""
    primary.set_pipeline(config=CONFIG)
    primary.write(insert(table_entry=destination(port=2)))
    served.fabric.set_port_queue("l1", 2, rate_bps=8000)  # a frame of 100 bytes takes 0.1 s
    now = served.fabric.now + 1
    served.fabric.inject_many("l1", 1, [frame(src=at) for at in range(3)], now)
    primary.set_pipeline("VERIFY_AND_COMMIT", CONFIG)
    assert entries(primary, table_id=TABLES["destinations"]) == []
    served.fabric.advance(now + 10**9)
    found = [data for _, port, data, _ in served.fabric.poll() if port == 2]
    assert found == [frame(src=at) for at in range(3)]
    registers = primary.read(register_entry=p4r.RegisterEntry(register_id=REGISTERS["last_source"]))
    assert {entity.register_entry.data.bitstring for entity in registers} == {number(0)}
    stats = served.device.switch.stats()
    assert (stats["tx"], stats["flushed"]) == (3, 0)


def test_a_saved_config_is_written_and_committed_under_load(ring: Ring, primary: Client) -> None:
    for cookie in range(5):
        primary.set_pipeline("VERIFY_AND_SAVE", renamed(cookie))
        primary.write(insert(table_entry=destination(port=RING)), insert(table_entry=source(cookie)))
        ring.go_on(0.5)
        primary.set_pipeline("COMMIT", None)
        assert _counted(primary) < 10**6
    ring.check()

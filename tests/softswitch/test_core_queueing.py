"""A port's queues in virtual time: rates, strict priorities, finite buffers, and what the program sees."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs

ROUTE = ">QBBHHHI6s6sB"
SIZE = 1250  # bytes of a frame: 10 microseconds at 1 Gbit/s
RATE = 1_000_000_000
SLOT = 10_000  # nanoseconds


@dataclass(frozen=True)
class Trip:
    """A frame of route.p4 that came out, and when."""

    at: tuple[str, int]
    time: int
    hops: int
    tag: int
    enq_depth: int
    deq_depth: int
    waited_us: int
    ingress_us: int
    egress_us: int
    shadow: int
    size: int


def packet(*route: int, priority: int = 0, tag: int = 0, size: int = SIZE) -> bytes:
    ports = int.from_bytes(bytes(route).ljust(8, b"\0"), "big")
    head = struct.pack(ROUTE, ports, priority, 0, tag, 0, 0, 0, bytes(6), bytes(6), 0)
    return head + bytes(size - len(head))


def trips(fabric: _core.Fabric) -> list[Trip]:
    found = []
    for switch, port, frame, time in fabric.poll():
        _, _, hops, tag, enq, deq, waited, came, left, shadow = struct.unpack_from(ROUTE, frame)
        came_us, left_us = int.from_bytes(came, "big"), int.from_bytes(left, "big")
        found.append(
            Trip((switch, port), time, hops, tag, enq, deq, waited, came_us, left_us, shadow, len(frame))
        )
    return found


def one_switch(rate_bps: int = RATE, buffer_packets: int = 64) -> tuple[_core.Fabric, _core.Switch]:
    """Port 1 takes frames in, port 2 is the slow one."""
    fabric = _core.Fabric()
    switch = fabric.add_switch("s", 1)
    switch.load(programs.json_of("route"))
    fabric.add_memory_port("s", 1)
    fabric.add_memory_port("s", 2, rate_bps=rate_bps, buffer_packets=buffer_packets)
    return fabric, switch


def test_a_port_sends_at_its_rate() -> None:
    fabric, _ = one_switch()
    for tag in range(5):
        fabric.inject("s", 1, packet(2, tag=tag), 100)
    fabric.advance(100 + SLOT - 1)
    assert trips(fabric) == []  # the last bit is not out yet
    fabric.advance(100 + SLOT)
    assert [(t.tag, t.time) for t in trips(fabric)] == [(0, 100 + SLOT)]
    fabric.advance(100 + 10 * SLOT)
    assert [(t.tag, t.time) for t in trips(fabric)] == [(n, 100 + (n + 1) * SLOT) for n in range(1, 5)]
    assert fabric.next_event() is None


def test_a_frame_takes_time_by_the_bytes_that_leave() -> None:
    fabric, _ = one_switch()
    fabric.inject("s", 1, packet(2, size=SIZE // 2), 0)
    fabric.inject("s", 1, packet(2, size=SIZE), 0)
    fabric.advance(10 * SLOT)
    assert [t.time for t in trips(fabric)] == [SLOT // 2, SLOT // 2 + SLOT]


def test_an_unlimited_port_sends_at_once() -> None:
    fabric, switch = one_switch(rate_bps=0)
    for tag in range(100):
        fabric.inject("s", 1, packet(2, tag=tag), 7)
    assert [(t.tag, t.time) for t in trips(fabric)] == [(tag, 7) for tag in range(100)]
    assert switch.port_stats()[2]["queued_max"] == 1


def test_the_greatest_priority_goes_first_and_is_fifo_within() -> None:
    fabric, _ = one_switch()
    for tag, priority in enumerate([0, 0, 7, 3, 7, 0, 6]):
        fabric.inject("s", 1, packet(2, priority=priority, tag=tag), 0)
    fabric.advance(10 * SLOT)
    assert [t.tag for t in trips(fabric)] == [0, 2, 4, 6, 3, 1, 5]  # 0 was being sent already


def test_a_packet_in_transmission_is_not_interrupted() -> None:
    fabric, _ = one_switch()
    fabric.inject("s", 1, packet(2, tag=1), 0)
    fabric.inject("s", 1, packet(2, tag=2, priority=7), SLOT // 2)
    fabric.advance(3 * SLOT)
    assert [(t.tag, t.time) for t in trips(fabric)] == [(1, SLOT), (2, 2 * SLOT)]


def test_each_priority_has_a_buffer_of_its_own() -> None:
    fabric, switch = one_switch(buffer_packets=4)
    for priority in (0, 5):
        for tag in range(10):
            fabric.inject("s", 1, packet(2, priority=priority, tag=tag), 0)
    # Priority 0: one in transmission and four waiting; priority 5: four waiting.
    stats = switch.port_stats()[2]
    assert (stats["queue_full"], stats["queued"], stats["queued_max"]) == (5 + 6, 8, 8)
    fabric.advance(20 * SLOT)
    assert [t.tag for t in trips(fabric)] == [0, 0, 1, 2, 3, 1, 2, 3, 4]
    assert switch.stats()["queue_full"] == 11
    assert switch.port_stats()[2]["queued"] == 0


def test_a_priority_without_a_queue_drops_the_packet() -> None:
    fabric = _core.Fabric()
    switch = fabric.add_switch("s", 1, priority_queues=2)
    switch.load(programs.json_of("route"))
    fabric.add_memory_port("s", 1)
    for priority in range(4):
        fabric.inject("s", 1, packet(1, priority=priority, tag=priority), 0)
    assert [t.tag for t in trips(fabric)] == [0, 1]
    assert switch.stats()["bad_priority"] == 2


def test_the_program_sees_depth_and_times() -> None:
    fabric, _ = one_switch()
    start = 5_000_000
    for tag in range(4):
        fabric.inject("s", 1, packet(2, tag=tag), start)
    fabric.advance(start + 10 * SLOT)
    found = trips(fabric)
    assert [t.enq_depth for t in found] == [0, 0, 1, 2]  # before the packet itself joins
    assert [t.deq_depth for t in found] == [0, 2, 1, 0]  # after it has left
    assert [t.waited_us for t in found] == [0, 10, 20, 30]
    assert {t.ingress_us for t in found} == {5000}
    assert [t.egress_us for t in found] == [5000, 5010, 5020, 5030]


def test_egress_runs_when_a_packet_leaves_its_queue() -> None:
    """So a register that ingress raises and egress lowers is the depth of the queue."""
    fabric, switch = one_switch()
    for tag in range(6):
        fabric.inject("s", 1, packet(2, tag=tag), 0)
    assert switch.register_read("depth", 2) == 5  # one has left
    fabric.advance(2 * SLOT)
    assert switch.register_read("depth", 2) == 3
    fabric.advance(10 * SLOT)
    assert switch.register_read("depth", 2) == 0
    assert [t.shadow for t in trips(fabric)] == [0, 0, 1, 2, 3, 4]


def test_a_port_that_is_down_drains_its_queue_into_nothing() -> None:
    fabric, switch = one_switch()
    for tag in range(4):
        fabric.inject("s", 1, packet(2, tag=tag), 0)
    fabric.advance(SLOT)
    fabric.set_link("s", 2, False)
    fabric.advance(10 * SLOT)
    assert [t.tag for t in trips(fabric)] == [0]
    assert switch.port_stats()[2]["link_down_drops"] == 3
    assert switch.register_read("depth", 2) == 0  # egress ran for each of them
    fabric.set_link("s", 2, True)
    fabric.inject("s", 1, packet(2, tag=9), 20 * SLOT)
    fabric.advance(30 * SLOT)
    assert [t.tag for t in trips(fabric)] == [9]


def test_rate_and_buffer_can_be_changed() -> None:
    fabric, switch = one_switch()
    fabric.set_port_queue("s", 2, rate_bps=2 * RATE)
    for tag in range(3):
        fabric.inject("s", 1, packet(2, tag=tag), 0)
    fabric.advance(SLOT)
    assert [t.time for t in trips(fabric)] == [SLOT // 2, SLOT]
    fabric.advance(10 * SLOT)
    trips(fabric)
    fabric.set_port_queue("s", 2, buffer_packets=1)
    for tag in range(4):
        fabric.inject("s", 1, packet(2, tag=tag), 10 * SLOT)
    assert switch.port_stats()[2]["queue_full"] == 2


def test_loading_a_program_drops_what_is_queued() -> None:
    fabric, switch = one_switch()
    for tag in range(4):
        fabric.inject("s", 1, packet(2, tag=tag), 0)
    switch.load(programs.json_of("route"))
    fabric.advance(10 * SLOT)
    assert [t.tag for t in trips(fabric)] == [0]
    assert switch.stats()["flushed"] == 3
    fabric.inject("s", 1, packet(2, tag=8), 20 * SLOT)
    fabric.advance(30 * SLOT)
    assert [t.tag for t in trips(fabric)] == [8]


def test_arguments_are_checked() -> None:
    fabric, _ = one_switch()
    with pytest.raises(_core.InvalidArgument, match="rate_bps"):
        fabric.add_memory_port("s", 3, rate_bps=-1)
    with pytest.raises(_core.InvalidArgument, match="buffer_packets"):
        fabric.add_memory_port("s", 3, buffer_packets=0)
    with pytest.raises(_core.AlreadyExists, match="port 2"):
        fabric.add_memory_port("s", 2)
    with pytest.raises(_core.InvalidArgument, match="510"):
        fabric.add_memory_port("s", 510)
    with pytest.raises(_core.NotFound, match="no port 9"):
        fabric.inject("s", 9, b"", 0)
    with pytest.raises(_core.InvalidArgument, match="9729 bytes"):
        fabric.inject("s", 1, bytes(9729), 0)
    with pytest.raises(KeyError, match="no switch 'x'"):
        fabric.inject("x", 1, b"", 0)
    fabric.advance(100)
    with pytest.raises(_core.InvalidArgument, match="before the present"):
        fabric.inject("s", 1, b"", 99)

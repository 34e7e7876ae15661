"""Taps: what passes a port of any kind is seen with direction and time, and traffic does not change."""

from __future__ import annotations

import select

import pytest
from csaud_softswitch import _core

from tests.softswitch.test_core_fabric import DELAY, line
from tests.softswitch.test_core_queueing import SLOT, packet, trips


def readable(tap: _core.Tap) -> bool:
    return bool(select.select([tap.fd()], [], [], 0)[0])


def test_both_ends_of_a_link_and_the_edges() -> None:
    fabric = line(2)
    places = {(name, port): fabric.open_tap(name, port) for name in ("s1", "s2") for port in (1, 2)}
    sent = [packet(2, 2, tag=tag) for tag in range(3)]
    assert not any(readable(tap) for tap in places.values())
    for frame in sent:
        fabric.inject("s1", 1, frame, 1000)
    assert readable(places["s1", 1]) and not readable(places["s2", 1])
    fabric.advance(10 * SLOT)
    seen = {place: tap.take() for place, tap in places.items()}
    assert seen["s1", 1] == [(1000, "in", frame, len(frame)) for frame in sent]
    ends = [1000 + SLOT * n for n in (1, 2, 3)]
    assert [(at, way) for at, way, _, _ in seen["s1", 2]] == [(end, "out") for end in ends]
    assert [(at, way) for at, way, _, _ in seen["s2", 1]] == [(end + DELAY, "in") for end in ends]
    assert [frame for _, _, frame, _ in seen["s1", 2]] == [frame for _, _, frame, _ in seen["s2", 1]]
    left = [frame for _, _, frame, _ in fabric.poll()]
    assert [frame for _, _, frame, _ in seen["s2", 2]] == left
    assert not any(readable(tap) or tap.take() for tap in places.values())


def test_traffic_is_the_same_with_a_tap_and_without() -> None:
    outcomes = []
    for tapped in (False, True):
        fabric = line(3)
        taps = [fabric.open_tap("s2", 1), fabric.open_tap("s2", 1)] if tapped else []
        for tag in range(50):
            fabric.inject("s1", 1, packet(2, 2, 2, tag=tag), tag * 10)
        fabric.advance(100 * SLOT)
        outcomes.append([(trip.at, trip.tag, trip.time) for trip in trips(fabric)])
        assert [len(tap.take()) for tap in taps] == [50] * len(taps)
    assert outcomes[0] == outcomes[1]


def test_room_is_bounded_and_what_is_lost_is_counted() -> None:
    fabric = line(1)
    frame = packet(2)
    tap = fabric.open_tap("s1", 1, capacity=10 * (len(frame) + 64))
    for tag in range(100):
        fabric.inject("s1", 1, packet(2, tag=tag), tag)
    kept = len(tap.take())
    assert 5 <= kept <= 12
    assert (tap.seen, tap.dropped) == (100, 100 - kept)
    fabric.inject("s1", 1, frame, 200)
    assert len(tap.take()) == 1  # there is room again


def test_only_the_begin_of_frames() -> None:
    fabric = line(1)
    tap = fabric.open_tap("s1", 1, snaplen=8)
    frame = packet(2)
    fabric.inject("s1", 1, frame, 5)
    assert tap.take() == [(5, "in", frame[:8], len(frame))]


def test_a_closed_tap_sees_nothing_and_says_so() -> None:
    fabric = line(1)
    tap = fabric.open_tap("s1", 1)
    tap.close()
    tap.close()
    fabric.inject("s1", 1, packet(2), 1)
    with pytest.raises(_core.InvalidArgument, match="closed"):
        tap.take()


def test_a_tap_outlives_its_port_and_its_fabrics_name() -> None:
    fabric = line(1)
    tap = fabric.open_tap("s1", 1)
    fabric.inject("s1", 1, packet(2), 1)
    fabric.remove_port("s1", 1)
    del fabric
    assert len(tap.take()) == 1
    tap.close()


def test_no_such_place() -> None:
    fabric = line(1)
    with pytest.raises(KeyError, match="s7"):
        fabric.open_tap("s7", 1)
    with pytest.raises(_core.NotFound, match="no port 9"):
        fabric.open_tap("s1", 9)

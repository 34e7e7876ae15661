"""Clones and multicast."""

from __future__ import annotations

import struct

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs
from tests.softswitch.test_core_externs import frame

MULTICAST, CLONE_INGRESS, CLONE_EGRESS, NO_SUCH_GROUP = 14, 15, 16, 19
SESSION = 5
NORMAL, INGRESS_CLONE, EGRESS_CLONE, REPLICA = 0, 1, 2, 5


def answers(fabric: _core.Fabric, data: bytes) -> list[tuple[int, int, int, int]]:
    """(port, b, c, r) of the header of each frame that came out."""
    found = []
    for port, answer in programs.send(fabric, data):
        _, _, b, c, _, r = struct.unpack_from(programs.CMD, answer)
        found.append((port, b, c, r))
    return sorted(found)


def test_multicast_makes_a_copy_for_each_replica() -> None:
    fabric, switch = programs.loaded("externs")
    switch.multicast_group_set(1, [(1, 10), (2, 20), (2, 21)])
    assert answers(fabric, frame(MULTICAST, b=7)) == [
        (1, 7, REPLICA, 10),
        (2, 7, REPLICA, 20),
        (2, 7, REPLICA, 21),
    ]
    stats = switch.stats()
    assert (stats["rx"], stats["copies"], stats["tx"]) == (1, 2, 3)
    switch.multicast_group_delete(1)
    assert answers(fabric, frame(MULTICAST)) == []
    assert answers(fabric, frame(NO_SUCH_GROUP)) == []
    assert switch.stats()["dropped_ingress"] == 2
    with pytest.raises(_core.NotFound, match="multicast group 1"):
        switch.multicast_group_delete(1)


def test_an_ingress_clone_is_the_packet_as_it_came_with_the_preserved_metadata() -> None:
    fabric, switch = programs.loaded("externs")
    data = frame(CLONE_INGRESS, a=0xABC, b=1)
    assert answers(fabric, data) == [(1, 0xB, NORMAL, 0xABC << 32 | 0xABC)]  # no session, no clone
    switch.clone_session_set(SESSION, [(3, 0)])
    assert answers(fabric, data) == [
        (1, 0xB, NORMAL, 0xABC << 32 | 0xABC),
        (
            3,
            1,
            INGRESS_CLONE,
            0xABC << 32,
        ),  # what ingress wrote is not in it, what is not in the list is zero
    ]
    switch.clone_session_delete(SESSION)
    assert len(answers(fabric, data)) == 1
    with pytest.raises(_core.NotFound, match="clone session 5"):
        switch.clone_session_delete(SESSION)


def test_an_egress_clone_goes_through_egress_again() -> None:
    fabric, switch = programs.loaded("externs")
    switch.clone_session_set(SESSION, [(1, 0), (3, 0)])
    assert answers(fabric, frame(CLONE_EGRESS, a=0x77)) == [
        (1, 0xA0B0C0D0, NORMAL, 0x77),
        (1, 0xA0B0C0D0, EGRESS_CLONE, 0x77),
        (3, 0xA0B0C0D0, EGRESS_CLONE, 0x77),
    ]


def test_the_books_balance_with_copies() -> None:
    fabric, switch = programs.loaded("externs")
    switch.clone_session_set(SESSION, [(2, 0), (77, 0)])
    switch.multicast_group_set(1, [(1, 1), (99, 2)])
    for cmd in (MULTICAST, CLONE_INGRESS, CLONE_EGRESS, NO_SUCH_GROUP):
        answers(fabric, frame(cmd))
    stats = switch.stats()
    ended = sum(stats[key] for key in ("dropped_ingress", "dropped_egress", "no_such_port", "tx", "queued"))
    assert stats["rx"] + stats["copies"] == ended

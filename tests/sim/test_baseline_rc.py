"""Reliable connections with go-back-N: what goes again after which loss, and when."""

from itertools import pairwise

from tests.sim.baseline_wire import Wire

MTU = 4096
DELAY, SLOT = 5_000, 335
TIMEOUT, NACK_EVERY = 1_000_000, 4_000
LONG = 10_000_000


def test_without_loss_everything_goes_once() -> None:
    wire = Wire("rc")
    wire.ends[0].send(1, 10 * MTU + 1, now=0)
    wire.run(LONG)
    assert [psn for _, psn in wire.data()] == list(range(11))
    assert [what for _, what, _ in wire.events] == ["delivered", "acknowledged"]
    assert wire.events[0][0] == 11 * SLOT + DELAY
    assert wire.sent[-1][1].ack == 11 and all(end.quiet for end in wire.ends)


def test_a_hole_sends_the_sender_back_to_it_and_no_farther() -> None:
    """Packet 5 is lost: 6 tells of it, and what went meanwhile goes again."""
    wire = Wire("rc", loses=lambda packet, count: packet.is_data and count == 5)
    wire.ends[0].send(1, 100 * MTU, now=0)
    wire.run(LONG)
    told = 7 * SLOT + DELAY + SLOT + DELAY  # packet 6 arrives, its NACK does
    went = [psn for time, psn in wire.data() if time < told]
    assert [psn for _, psn in wire.data()] == [*went, *range(5, 100)]
    stats = wire.ends[0].stats()
    assert stats["rtx_gap"] == len(went) - 5 and stats["timeouts"] == 0
    assert wire.ends[1].stats()["rx_discarded"] == len(went) - 6
    assert ("delivered", 100 * MTU) in [event[1:] for event in wire.events]


def test_a_copy_sent_again_that_is_lost_too_is_told_of_by_the_next_nack() -> None:
    """NACKs of one hole are 4 us apart; the sender passes over those of packets that it sent before it went
    back, for a round trip."""
    wire = Wire("rc", loses=lambda packet, count: packet.is_data and packet.psn == 5 and count < 50)
    wire.ends[0].send(1, 100 * MTU, now=0)
    wire.run(LONG)
    nacks = [time for time, packet in wire.sent if packet.src == 1 and packet.ack == 5 and packet.psn > 5]
    assert len(nacks) > 3
    assert all(later - earlier >= NACK_EVERY for earlier, later in pairwise(nacks))
    copies = [time for time, psn in wire.data() if psn == 5]
    assert len(copies) == 3 and copies[2] - copies[1] >= 2 * (DELAY + SLOT)
    assert wire.ends[0].stats()["timeouts"] == 0


def test_a_lost_last_packet_waits_for_the_timeout() -> None:
    wire = Wire("rc", loses=lambda packet, count: packet.is_data and count == 9)
    wire.ends[0].send(1, 10 * MTU, now=0)
    wire.run(LONG)
    assert wire.data()[-1] == (10 * SLOT - SLOT + DELAY + SLOT + DELAY + TIMEOUT, 9)
    assert wire.ends[0].stats()["rtx_timeout"] == 1


def test_the_timeout_counts_from_the_latest_progress_and_comes_again() -> None:
    """All answers are lost: everything goes again every millisecond; the receiver takes none of it twice."""
    wire = Wire("rc", loses=lambda packet, count: not packet.is_data and count < 6)
    wire.ends[0].send(1, 3 * MTU, now=0)
    wire.run(LONG)
    assert [time for time, psn in wire.data() if psn == 0] == [0, TIMEOUT, 2 * TIMEOUT]
    assert wire.ends[1].stats()["rx_duplicates"] == 6
    assert [what for _, what, _ in wire.events].count("delivered") == 1


def test_a_window_bounds_what_is_under_way() -> None:
    wire = Wire("rc", {"window": 4.0 * MTU})
    wire.ends[0].send(1, 8 * MTU, now=0)
    wire.run(SLOT + DELAY)
    assert len(wire.data()) == 4
    wire.run(LONG)
    assert len(wire.data()) == 8


def test_connections_take_turns() -> None:
    wire = Wire("rc")
    wire.ends[0].send(1, 50 * MTU, 0, now=0)
    wire.ends[0].send(1, 2 * MTU, 1, now=0)
    wire.run(LONG)
    assert [packet.entropy for _, packet in wire.sent if packet.is_data][:5] == [0, 1, 0, 1, 0]
    assert [nbytes for _, what, nbytes in wire.events if what == "delivered"] == [2 * MTU, 50 * MTU]

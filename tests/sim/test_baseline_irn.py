"""IRN: what selective repeat sends again, how much is under way, and its two timeouts."""

from csaud_sim._core import PlainPacket

from tests.sim.baseline_wire import Wire

MTU = 4096
DELAY, SLOT = 5_000, 335
LOW, HIGH, N = 100_000, 320_000, 3
LONG = 10_000_000


def test_only_what_was_lost_goes_again() -> None:
    wire = Wire("irn", loses=lambda packet, count: packet.is_data and count in (5, 6, 9))
    wire.ends[0].send(1, 25 * MTU, now=0)
    wire.run(LONG)
    again = [packet.psn for _, packet in wire.sent if packet.is_data and packet.again]
    assert again == [5, 6, 9]
    assert wire.ends[0].stats()["rtx_gap"] == 3 and wire.ends[0].stats()["timeouts"] == 0
    assert wire.ends[1].stats()["rx_duplicates"] == 0
    assert wire.events[0][1:] == ("delivered", 25 * MTU)


def test_a_bdp_is_under_way_at_most() -> None:
    wire = Wire("irn", {"bdp": 8.0 * MTU})
    wire.ends[0].send(1, 20 * MTU, now=0)
    wire.run(SLOT + DELAY)
    assert len(wire.data()) == 8
    wire.run(LONG)
    assert len(wire.data()) == 20


def test_few_packets_under_way_have_the_short_timeout() -> None:
    """The only packet of a message is lost; then the last one of many."""
    for packets, timeout in ((1, LOW), (N - 1, LOW), (N, HIGH)):
        wire = Wire("irn", loses=lambda packet, count, packets=packets: packet.is_data and count < packets)
        wire.ends[0].send(1, packets * MTU, now=0)
        wire.run(LONG)
        first = next(time for time, packet in wire.sent if packet.is_data and packet.again)
        assert first == timeout
        assert wire.ends[0].stats()["rtx_timeout"] >= 1
        assert ("delivered", packets * MTU) in [event[1:] for event in wire.events]


def test_a_lost_retransmission_waits_for_the_timeout() -> None:
    wire = Wire("irn", loses=lambda packet, count: packet.is_data and packet.psn == 5 and count < 31)
    wire.ends[0].send(1, 30 * MTU, now=0)
    wire.run(LONG)
    copies = [time for time, psn in wire.data() if psn == 5]
    assert len(copies) >= 3 and copies[-1] - copies[-2] >= LOW
    assert wire.ends[0].stats()["timeouts"] >= 1
    assert wire.events[0][1:] == ("delivered", 30 * MTU)


def test_reordering_alone_sends_again_for_nothing() -> None:
    """What spraying does to it: a packet that is late, and not lost, goes again."""
    wire = Wire("irn")
    held: list[PlainPacket] = []

    def late(packet: PlainPacket, count: int) -> bool:
        if packet.is_data and count == 3:
            held.append(packet)
            return True
        return False

    wire.loses = late
    wire.ends[0].send(1, 20 * MTU, now=0)
    wire.run(8 * SLOT + DELAY)
    wire.ends[1].packet(held[0], wire.now)
    wire.run(LONG)
    assert wire.ends[0].stats()["rtx_gap"] == 1
    assert wire.ends[1].stats()["rx_duplicates"] == 1

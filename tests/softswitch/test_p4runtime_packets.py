"""Packet-in and packet-out through a controller's stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.packet_io import decode_packet_in, encode_packet_out
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.p4runtime.server import MAX_QUEUED_PACKETS, StreamSession

from tests.softswitch.inputs import LLDP, PORTS, ether, probes_to_cpu
from tests.softswitch.p4runtime_support import INDEX, NAMES, Client, Served

PUNTS = probes_to_cpu(PORTS)
PROBE = ether(b"probe".ljust(46, b"."), LLDP)


def packet_out(port: int, payload: bytes = PROBE) -> p4r.StreamMessageRequest:
    metadata = NAMES.metadata(INDEX.packet_out, {"egress_port": port})
    return p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=payload, metadata=metadata))


def test_a_punted_frame_comes_with_its_port(controller: Client, served: Served) -> None:
    controller.write(*PUNTS)
    assert served.inject(3, PROBE) == []
    packet = controller.receive().packet
    assert packet.payload == PROBE
    assert {m.metadata_id: m.value for m in packet.metadata}[1] == b"\x03"


def test_packet_ins_keep_their_order(controller: Client, served: Served) -> None:
    controller.write(*PUNTS)
    frames = [ether(bytes([i]) * 46, LLDP) for i in range(50)]
    for frame in frames:
        served.inject(1, frame)
    assert [controller.receive().packet.payload for _ in frames] == frames


@pytest.mark.parametrize("port", [1, 4])
def test_a_packet_out_leaves_by_the_port_it_names(controller: Client, served: Served, port: int) -> None:
    controller.send(packet_out(port))
    controller.arbitrate()  # its answer comes after the packet was taken
    assert served.on_loop(served.poll) == [(port, PROBE)]


def test_only_primaries_get_packets(
    controller: Client, served: Served, connect: Callable[..., Client]
) -> None:
    backup, other_role = connect(0), connect(3, role="probes")
    backup.arbitrate()
    other_role.arbitrate()
    controller.write(*PUNTS)
    served.inject(2, PROBE)
    assert controller.receive().packet.payload == PROBE
    assert other_role.receive().packet.payload == PROBE
    assert backup.inbox.empty()


def test_packets_without_a_controller_are_counted(controller: Client, served: Served) -> None:
    controller.write(*PUNTS)
    assert controller.arbitrate(election_id=0) == Code.NOT_FOUND
    served.inject(2, PROBE)
    served.on_loop(served.device.pump_packet_in)
    assert served.device.unclaimed_packets == 1


def test_a_bad_packet_out_is_answered_on_the_stream(controller: Client) -> None:
    good = packet_out(1)
    missing, unknown, wide, twice = (
        p4r.StreamMessageRequest.FromString(good.SerializeToString()) for _ in range(4)
    )
    missing.packet.ClearField("metadata")
    unknown.packet.metadata.add(metadata_id=99, value=b"\1")
    wide.packet.metadata[0].value = b"\x02\x00"
    twice.packet.metadata.append(twice.packet.metadata[0])
    codes = [Code.INVALID_ARGUMENT, Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE, Code.INVALID_ARGUMENT]
    for request, code in zip((missing, unknown, wide, twice), codes, strict=True):
        controller.send(request)
        error = controller.receive().error
        assert error.canonical_code == code
        assert error.packet_out.packet_out == request.packet


def test_other_stream_messages_are_answered(controller: Client) -> None:
    controller.send(p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=1)))
    error = controller.receive().error
    assert error.canonical_code == Code.INVALID_ARGUMENT
    assert error.digest_list_ack.digest_list_ack.digest_id == 1
    controller.send(p4r.StreamMessageRequest())
    assert controller.receive().error.canonical_code == Code.INVALID_ARGUMENT


def test_headers_are_packed_as_the_program_parses_them() -> None:
    assert encode_packet_out(INDEX.packet_out, packet_out(0x1A5, b"x").packet) == b"\xd2\x80x"
    packet = decode_packet_in(INDEX.packet_in, b"\xd2\x80y")
    assert packet is not None
    assert packet.payload == b"y"
    assert packet.metadata[0].value == b"\x01\xa5"
    assert decode_packet_in(INDEX.packet_in, b"\xd2") is None


def test_packets_beyond_what_a_slow_controller_leaves_waiting_are_dropped_and_other_messages_are_not() -> (
    None
):
    async def run() -> None:
        session = StreamSession()
        packet, other = p4r.StreamMessageResponse(), p4r.StreamMessageResponse()
        packet.packet.payload = b"x"
        other.arbitration.device_id = 1
        taken = [session.send(packet) for _ in range(MAX_QUEUED_PACKETS + 5)]
        assert taken == [True] * MAX_QUEUED_PACKETS + [False] * 5
        assert session.send(other)
        session.end(None)
        sent = [message async for message in session.messages()]
        assert len(sent) == MAX_QUEUED_PACKETS + 1
        assert sent[-1] == other

    asyncio.run(run())

"""Packets between controller and program: their P4Runtime metadata <-> the bytes of the controller headers.

Source: P4Runtime specification 1.4, sections 16.1 and 6.4.5. On the CPU port a packet starts with the
packet_in or packet_out header, its fields packed in the order of P4Info.
"""

from __future__ import annotations

from csaud_softswitch.p4runtime.bytestring import from_int, to_int
from csaud_softswitch.p4runtime.errors import invalid
from csaud_softswitch.p4runtime.p4info_specs import FieldSpec
from csaud_softswitch.p4runtime.proto import p4r


def encode_packet_out(fields: tuple[FieldSpec, ...], packet: p4r.PacketOut) -> bytes:
    """The frame to give to the CPU port. Every metadata field must be there, but for padding."""
    given: dict[int, bytes] = {}
    for metadata in packet.metadata:
        if metadata.metadata_id in given:
            raise invalid(f"packet_out: metadata {metadata.metadata_id} is given twice")
        given[metadata.metadata_id] = metadata.value
    header = 0
    for spec in fields:
        value = given.pop(spec.id, None)
        if value is None and not spec.padding:
            raise invalid(f"packet_out: metadata {spec.id} ({spec.name}) is missing")
        number = 0 if value is None else to_int(value, spec.width, f"packet_out.{spec.name}")
        header = header << spec.width | number
    if given:
        raise invalid(f"packet_out: unknown metadata {sorted(given)}")
    return header.to_bytes(sum(spec.width for spec in fields) // 8, "big") + packet.payload


def decode_packet_in(fields: tuple[FieldSpec, ...], frame: bytes) -> p4r.PacketIn | None:
    """A frame that left by the CPU port; None when it is shorter than its header."""
    bits = sum(spec.width for spec in fields)
    size = bits // 8
    if len(frame) < size:
        return None
    header = int.from_bytes(frame[:size], "big")
    packet = p4r.PacketIn(payload=frame[size:])
    for spec in fields:
        bits -= spec.width
        if not spec.padding:
            value = header >> bits & (1 << spec.width) - 1
            packet.metadata.add(metadata_id=spec.id, value=from_int(value))
    return packet

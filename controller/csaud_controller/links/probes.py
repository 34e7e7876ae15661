"""Link probes: LLDP frames that the controller sends out of one switch's port and sees come in at another's.

Real LLDP (IEEE 802.1AB), so that tcpdump shows who is wired to whom; an organizationally specific TLV
carries the controller's instance and the number of the round.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from csaud_controller.inventory import End

ETHER_TYPE = 0x88CC
_NEAREST_BRIDGE = bytes.fromhex("0180c200000e")  # never forwarded by an ordinary bridge
_SOURCE = bytes.fromhex("0200c5a00000")  # locally administered
_MIN_FRAME = 60  # without FCS

_CHASSIS_ID, _PORT_ID, _TTL, _SYSTEM_NAME, _ORGANIZATION = 1, 2, 3, 5, 127
_LOCAL_ASSIGNED = b"\x07"  # subtype of both ids
_OUI = bytes.fromhex("c5a0d0")  # locally administered; means nothing outside this project
_SUBTYPE_PROBE = 1
_KNOWN_FOR_S = 120
"""How long hosts may take an announcement to hold, as is usual for LLDP."""


class Probe(NamedTuple):
    """One probe: where it was sent from, by which run of the controller, in which round."""

    origin: End
    instance: int
    """32 bits"""
    round: int
    """32 bits"""


def encode(probe: Probe) -> bytes:
    """The Ethernet frame of a probe, without FCS."""
    payload = struct.pack("!II", probe.instance, probe.round)
    return _frame(probe.origin, 1, _tlv(_ORGANIZATION, _OUI + bytes([_SUBTYPE_PROBE]) + payload))


def announcement(origin: End) -> bytes:
    """The frame, without FCS, that tells a host which port of which switch it is wired to."""
    return _frame(origin, _KNOWN_FOR_S, _tlv(_SYSTEM_NAME, origin.node.encode()))


def _frame(origin: End, seconds: int, more: bytes) -> bytes:
    frame = _NEAREST_BRIDGE + _SOURCE + ETHER_TYPE.to_bytes(2, "big")
    frame += _tlv(_CHASSIS_ID, _LOCAL_ASSIGNED + origin.node.encode())
    frame += _tlv(_PORT_ID, _LOCAL_ASSIGNED + str(origin.port).encode())
    frame += _tlv(_TTL, seconds.to_bytes(2, "big"))
    return (frame + more + b"\0\0").ljust(_MIN_FRAME, b"\0")


def decode(frame: bytes) -> Probe | None:
    """The probe in a frame; None for any other frame, LLDP of other systems included."""
    if len(frame) < 14 or frame[12:14] != ETHER_TYPE.to_bytes(2, "big"):
        return None
    found: dict[int, bytes] = {}
    offset = 14
    while offset + 2 <= len(frame):
        head = int.from_bytes(frame[offset : offset + 2], "big")
        kind, length = head >> 9, head & 0x1FF
        value = frame[offset + 2 : offset + 2 + length]
        if kind == 0 or len(value) < length:
            break
        found.setdefault(kind, value)
        offset += 2 + length
    own = found.get(_ORGANIZATION, b"")
    port = found.get(_PORT_ID, b"")[1:]
    if len(own) != 12 or own[:4] != _OUI + bytes([_SUBTYPE_PROBE]) or not port.isdigit():
        return None
    instance, number = struct.unpack("!II", own[4:])
    try:
        return Probe(End(found[_CHASSIS_ID][1:].decode(), int(port)), instance, number)
    except (KeyError, UnicodeDecodeError):
        return None


def _tlv(kind: int, value: bytes) -> bytes:
    return (kind << 9 | len(value)).to_bytes(2, "big") + value

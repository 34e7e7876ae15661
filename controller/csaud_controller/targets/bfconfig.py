"""BfPipelineConfig, the protobuf message that Stratum takes as a Tofino's device config."""

from __future__ import annotations

_LENGTH_DELIMITED = 2
_PIPES = (0, 1, 2, 3)
"""Hardware pipes that run the program."""


def bf_pipeline_config(name: str, bfrt: bytes, *, context: bytes, binary: bytes) -> bytes:
    """The serialised message: the program's name, bfrt.json (left out where it is empty), and one profile
    with context.json and the binary for all pipes."""
    profile = _field(1, b"pipe") + _field(2, context) + _field(3, binary) + _field(4, bytes(_PIPES))
    return _field(1, name.encode()) + (_field(2, bfrt) if bfrt else b"") + _field(3, profile)


def _field(number: int, value: bytes) -> bytes:
    """One field: a string, bytes, a message, or packed numbers below 128."""
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)

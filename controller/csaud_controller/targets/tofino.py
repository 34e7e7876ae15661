"""Tofino behind a P4Runtime server that takes BfPipelineConfig, as Stratum's does.

What is written is tested by the messages that it makes; no such server has been seen yet.
"""

from __future__ import annotations

from pathlib import Path

from csaud_controller.artifacts import Artifacts, ArtifactsError
from csaud_controller.targets.base import Target

_LENGTH_DELIMITED = 2
_PIPES = (0, 1, 2, 3)
"""Hardware pipes that run the program."""


class Tofino(Target):
    """Takes what p4c's Tofino backend and its assembler made, from one folder (`--program`)."""

    def __init__(self, name: str, binary: str) -> None:
        self.name, self._binary = name, binary

    def find_program(self, directory: Path | None = None) -> Artifacts:
        """P4Info and binary in `directory`, where p4c's driver leaves them: NAME.p4info.txtpb, and in it or
        in its `pipe` the binary and context.json. ArtifactsError says what is missing."""
        if directory is None:
            raise ArtifactsError(
                f"target {self.name} needs --program DIR with {self.program}.p4info.txtpb, {self._binary} and"
                " context.json: no binary for it is part of this package"
            )
        p4info = _first(directory / f"{self.program}.p4info.txtpb", directory / "p4info.txt")
        return Artifacts(p4info, _first(directory / "pipe" / self._binary, directory / self._binary))

    def device_config(self, artifacts: Artifacts) -> bytes:
        """A serialised BfPipelineConfig: the program's name, bfrt.json where there is one, and one profile
        with context.json and the binary."""
        context = _first(artifacts.config.with_name("context.json"))
        bfrt = artifacts.p4info.with_name("bfrt.json")
        profile = (
            _field(1, b"pipe")
            + _field(2, context.read_bytes())
            + _field(3, artifacts.config.read_bytes())
            + _field(4, bytes(_PIPES))
        )
        info = _field(2, bfrt.read_bytes()) if bfrt.exists() else b""
        return _field(1, self.program.encode()) + info + _field(3, profile)


def _first(*places: Path) -> Path:
    for place in places:
        if place.is_file():
            return place
    raise ArtifactsError(f"no {' and no '.join(map(str, places))}")


def _field(number: int, value: bytes) -> bytes:
    """One field of a protobuf message: a string, bytes, a message or packed small numbers."""
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)

"""What a target must be able to do: P4Runtime, frames, and a few things that only some of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

PORTS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Departure:
    """A frame that left by a port."""

    port: int
    frame: bytes


class Switch(Protocol):
    """One switch with the program and five ports, and its primary controller's stream."""

    abilities: frozenset[str]
    """What tests may ask for beyond P4Runtime and frames:
    virtual-time  time passes when the test says so, and only then
    registers     `register_write` and `register_read`
    links         `set_link`
    rates         `set_rate`
    no-live-path  a group may lose its last live member
    """

    @property
    def index(self) -> P4InfoIndex: ...

    def reset(self) -> None:
        """Load the program anew: no entries, counts and registers zero, links up, queues without a rate."""

    def write(self, updates: list[p4r.Update]) -> list[Code]: ...

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]: ...

    def exchange(
        self, frames: Sequence[tuple[int, bytes]], gap_ns: int, expected: int | None
    ) -> list[Departure]:
        """Send (port, frame) with at least `gap_ns` in between; what left, in order of time, once the switch
        is quiet. In real time a frame is missed after a moment, sooner when `expected` came.
        """

    def packet_out(self, packet: p4r.PacketOut, expected: int) -> list[Departure]: ...

    def packet_ins(self, expected: int) -> list[p4r.PacketIn]: ...

    def digests(self, expected: int) -> list[p4r.DigestList]:
        """Digest lists that came since the last call; they are acknowledged."""

    def wait(self, nanoseconds: int) -> None: ...

    def set_link(self, port: int, up: bool) -> None:
        """Returns when the switch knows."""

    def set_rate(self, port: int, frames_per_s: int, frame_bytes: int) -> None:
        """Let the port send so many frames of this length a second, from each priority queue at least."""

    def register_write(self, name: str, index: int, value: int) -> None: ...

    def register_read(self, name: str, index: int) -> int: ...

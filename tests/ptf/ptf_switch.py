"""Whatever PTF's dataplane is connected to, as a target of the P4 program's tests."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r
from ptf.dataplane import DataPlane

from tests.p4.rig.client import Client
from tests.p4.rig.switch import PORTS, Departure

DEVICE = 0
"""PTF's number of the switch."""
PATIENCE_S = 2.0
"""For each frame that ought to come, since the last one did."""
AHEAD = 20
STALLED_S = 0.02
"""So many frames are sent ahead of those that came out, unless nothing comes out for so long."""
FORGET_S = 0.5
"""PTF's receiving thread has forgotten a removed port by then; it would end by an error of its socket."""
IPV6 = b"\x86\xdd"
"""Neighbour discovery of the machine that runs the tests; the tests send none."""


class PtfSwitch:
    """quiet_s: whatever a switch sends comes within this time. link_s: by then it knows of a dead link."""

    abilities = frozenset({"links"})

    def __init__(self, client: Client, dataplane: DataPlane, quiet_s: float, link_s: float) -> None:
        self._client = client
        self._dataplane = dataplane
        self._quiet_s = quiet_s
        self._link_s = link_s
        self._down: dict[int, str] = {}

    @property
    def index(self) -> P4InfoIndex:
        return self._client.index

    def reset(self) -> None:
        self.bring_links_up()
        self._client.load()
        self._collect(0)
        self._dataplane.flush()

    def bring_links_up(self) -> None:
        """Those that a test took down."""
        for port in sorted(self._down):
            self.set_link(port, True)

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        return self._client.write(updates)

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        return self._client.read(entity)

    def exchange(
        self, frames: Sequence[tuple[int, bytes]], gap_ns: int, expected: int | None
    ) -> list[Departure]:
        left: list[Departure] = []
        ahead = 0
        for port, frame in frames:
            self._dataplane.send(DEVICE, port, frame)
            if gap_ns:
                time.sleep(gap_ns / 1e9)
            ahead += 1
            while (found := self._next(STALLED_S if ahead >= AHEAD else 0.0)) is not None:
                left.append(found)
                ahead = max(0, ahead - 1)
            ahead = min(ahead, AHEAD - 1)
        return left + self._collect((expected or 0) - len(left))

    def packet_out(self, packet: p4r.PacketOut, expected: int) -> list[Departure]:
        self._client.packet_out(packet)
        return self._collect(expected)

    def packet_ins(self, expected: int) -> list[p4r.PacketIn]:
        return self._client.packet_ins(expected)

    def digests(self, expected: int) -> list[p4r.DigestList]:
        return self._client.digests(expected)

    def wait(self, nanoseconds: int) -> None:
        time.sleep(nanoseconds / 1e9)

    def set_link(self, port: int, up: bool) -> None:
        """The tester's end goes down or up; PTF would stop receiving at all if it still had the port."""
        if up:
            interface = self._down.pop(port)
            _set_interface(interface, "up")
            self._dataplane.port_add(interface, DEVICE, port)
        else:
            self._down[port] = self._dataplane.ports[DEVICE, port].interface_name
            self._dataplane.port_remove(DEVICE, port)
            time.sleep(FORGET_S)
            _set_interface(self._down[port], "down")
        time.sleep(self._link_s)

    def set_rate(self, port: int, frames_per_s: int, frame_bytes: int) -> None:
        raise NotImplementedError("PTF has no words for the rate of a port")

    def register_write(self, name: str, index: int, value: int) -> None:
        raise NotImplementedError("P4Runtime does not write registers here")

    def register_read(self, name: str, index: int) -> int:
        raise NotImplementedError("P4Runtime does not read registers here")

    def _collect(self, expected: int) -> list[Departure]:
        left: list[Departure] = []
        while (found := self._next(PATIENCE_S if len(left) < expected else self._quiet_s)) is not None:
            left.append(found)
        return left

    def _next(self, seconds: float) -> Departure | None:
        """The next frame from the switch, the oldest first, or None when none came in time."""
        deadline = time.monotonic() + seconds
        while True:
            result = self._dataplane.poll(DEVICE, timeout=max(0.0, deadline - time.monotonic()) or 0.0001)
            if not isinstance(result, self._dataplane.PollSuccess):
                return None
            frame = bytes(result.packet)
            if frame[12:14] != IPV6 and result.port in PORTS:
                return Departure(result.port, frame)


def _set_interface(name: str, state: str) -> None:
    subprocess.run(["ip", "link", "set", name, state], check=True)

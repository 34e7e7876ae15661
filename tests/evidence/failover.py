"""How fast simple_switch_grpc skips a dead port by its watch ports, and what its watch ports cannot do.

`python -m tests.evidence.failover [--cuts N] [--out FILE]` measures it and writes
docs/evidence/failover.json. Needs root and the program on PATH; takes about three minutes of real time.

A leaf has four uplinks in one group, each with a watch port. All traffic is directed at one of them, a frame
every 4 ms. Then the far end of its veth pair is set down, so that the switch's own interface
loses its carrier and stays administratively up, like a cable that is cut. Frames that the switch sends there
afterwards are lost; the first that comes out of another port ends the outage.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import platform
import random
import select
import shutil
import socket
import statistics
import struct
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from csaud_softswitch.bmv2 import command as bmv2
from csaud_softswitch.exchange.namespace import Namespace
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import program_digest, read_config

from tests.p4.rig.bmv2 import Bmv2Switch
from tests.p4.rig.frames import csa_frame, header_of
from tests.p4.rig.leaf import DATA, GROUP, HOST_PORT, PROFILES, UPLINKS, Leaf
from tests.p4.rig.switch import PORTS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "p4src" / "artifacts" / "csaud.json"
OUT = ROOT / "docs" / "evidence" / "failover.json"
SEED = 1
GAP_S = 0.004
BEFORE_S, AFTER_S = 0.1, 0.9
BACK_S = 20.0
"""A switch that has not taken a mended port back by then never will."""
DEAD = 2
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


@dataclass(frozen=True)
class Outage:
    """Milliseconds from the cut to the sending of the first frame that left by another port; frames lost in
    it, and others, which a busy machine's switch did not take from its input in time.
    """

    ms: float
    lost: int
    lost_otherwise: int


class Cable:
    """The far end of a port's veth pair; set down or up by one system call, so that its time is known."""

    def __init__(self, namespace: Namespace, port: int) -> None:
        self._name = f"to{port}".encode()
        self._socket = namespace.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))

    def set(self, up: bool) -> float:
        """Returns the monotonic time in the middle of the call."""
        request = struct.pack("16sh14x", self._name, 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(self._socket, _SIOCGIFFLAGS, request))
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        begin = time.monotonic()
        fcntl.ioctl(self._socket, _SIOCSIFFLAGS, struct.pack("16sh14x", self._name, flags))
        return (begin + time.monotonic()) / 2

    def close(self) -> None:
        self._socket.close()


class Traffic(threading.Thread):
    """A frame every GAP_S, numbered; when each was sent."""

    def __init__(self, link: socket.socket) -> None:
        super().__init__(daemon=True)
        self._link = link
        self._ending = threading.Event()
        self.sent: list[float] = []

    def run(self) -> None:
        due = time.monotonic()
        while not self._ending.is_set():
            frame = csa_frame(bytes(8), path_id=DEAD - 1, tx_ts=len(self.sent))
            self.sent.append(time.monotonic())
            self._link.send(frame)
            due = max(due + GAP_S, time.monotonic() - 10 * GAP_S)
            time.sleep(max(0.0, due - time.monotonic()))

    def end(self) -> None:
        self._ending.set()
        self.join()


def one_cut(switch: Bmv2Switch, cable: Cable, phase_s: float) -> Outage:
    """Cut the cable under traffic, wait for the switch to go round it, and mend it."""
    arrived: set[int] = set()
    elsewhere: dict[int, float] = {}
    with _traffic(switch) as traffic:
        give_up = time.monotonic() + BACK_S
        while max(arrived, default=-1) <= max(elsewhere, default=-1):  # it has not seen that the port is back
            assert time.monotonic() < give_up, f"the mended port is not used after {BACK_S} s"
            _receive(switch, time.monotonic() + BEFORE_S, arrived, elsewhere)
        _receive(switch, time.monotonic() + phase_s, arrived, elsewhere)
        elsewhere.clear()
        settled = min(arrived)  # what was sent before may have been lost by the cut before this one
        cut = cable.set(False)
        _receive(switch, time.monotonic() + AFTER_S, arrived, elsewhere)
    _receive(switch, time.monotonic() + 0.2, arrived, elsewhere)
    cable.set(True)
    assert elsewhere, f"no frame left by another port within {AFTER_S} s"
    first = min(i for i in elsewhere if i > settled)
    lost = [i for i in range(settled, len(traffic.sent)) if i not in arrived and i not in elsewhere]
    by_the_cut = [i for i in lost if cut - 0.05 < traffic.sent[i] and i < first]
    return Outage((traffic.sent[first] - cut) * 1000, len(by_the_cut), len(lost) - len(by_the_cut))


@contextlib.contextmanager
def _traffic(switch: Bmv2Switch) -> Iterator[Traffic]:
    traffic = Traffic(switch.wire(HOST_PORT))
    traffic.start()
    try:
        yield traffic
    finally:
        traffic.end()


def _receive(switch: Bmv2Switch, until: float, arrived: set[int], elsewhere: dict[int, float]) -> None:
    """Take what comes out: numbers by the watched port, and by others."""
    ports = {switch.wire(port): port for port in PORTS}
    while (left := until - time.monotonic()) > 0:
        for link in select.select(list(ports), [], [], left)[0]:
            with contextlib.suppress(OSError):  # told once when the link is cut
                number = header_of(link.recv(1 << 16)).tx_ts
                if ports[link] == DEAD:
                    arrived.add(number)
                else:
                    elsewhere.setdefault(number, time.monotonic())


def measure(switch: Bmv2Switch, cuts: int) -> dict[str, Any]:
    """Outages at moments that have nothing to do with the switch's polling."""
    moments = random.Random(SEED)
    leaf = Leaf(switch)
    leaf.spray("host_directed")
    cable = Cable(switch.namespace, DEAD)
    outages = []
    try:
        time.sleep(1)  # until it has looked at its ports for the first time
        for _ in range(cuts):
            outages.append(one_cut(switch, cable, moments.uniform(0, 0.4)))
    finally:
        cable.close()
    times = sorted(outage.ms for outage in outages)
    lost = sorted(outage.lost for outage in outages)
    return {
        "cuts": cuts,
        "seed": SEED,
        "frames_per_s": round(1 / GAP_S),
        "outage_ms": _summary(times),
        "frames_lost": _summary(lost),
        "frames_lost_otherwise": sum(outage.lost_otherwise for outage in outages),
        "each": [{"ms": round(outage.ms, 1), "lost": outage.lost} for outage in outages],
    }


def _summary(values: list[float]) -> dict[str, float]:
    return {
        "min": round(values[0], 1),
        "median": round(statistics.median(values), 1),
        "p95": round(values[int(len(values) * 0.95)], 1),
        "max": round(values[-1], 1),
    }


def last_watched_member(config: Any) -> str:
    """What the next packet does when every member's watched port is down."""
    with contextlib.closing(Bmv2Switch(config)) as switch:
        Leaf(switch)
        _cut_all(switch)
        switch.wire(HOST_PORT).send(csa_frame())
        time.sleep(1)
        return "goes on" if switch.returncode is None else f"ends with signal {-switch.returncode}"


def one_unwatched_member(config: Any) -> str:
    """The same where one member of the group has no watch port."""
    with contextlib.closing(Bmv2Switch(config)) as switch:
        leaf = Leaf(switch)
        for profile in PROFILES.values():
            rows = [{"member": p, "weight": 1} | ({"watch_port": p} if p > 1 else {}) for p in UPLINKS]
            leaf.write({"modify": {"profile": profile, "group": GROUP, "members": rows}})
        _cut_all(switch)
        for _ in range(10):
            switch.wire(HOST_PORT).send(csa_frame())
        time.sleep(1)
        if switch.returncode is not None:
            return f"ends with signal {-switch.returncode}"
        return f"goes on: {leaf.count('telemetry.egress_kind', 1, DATA)} of 10 packets to the unwatched one"


def _cut_all(switch: Bmv2Switch) -> None:
    for port in UPLINKS:
        switch.set_link(port, False)


def leaving_member(config: Any) -> dict[str, str]:
    """A watched member leaves its group: at once, and after it is no longer watched."""
    answers = {}
    with contextlib.closing(Bmv2Switch(config)) as switch:
        leaf = Leaf(switch)
        for unwatch in (False, True):
            leaf.reset()
            switch.unwatches = unwatch
            try:
                leaf.group(GROUP, (1, 3, 4), "modify")
                answer = "OK"
            except grpc.RpcError as error:
                answer = f"{error.code().name}: {error.details()}"
            answers["unwatched first" if unwatch else "watched"] = answer
    return answers


def read_back(config: Any) -> list[int]:
    """The watch ports of a group's members, 1 to 4, as a controller reads them."""
    with contextlib.closing(Bmv2Switch(config)) as switch:
        leaf = Leaf(switch)
        group = p4r.ActionProfileGroup(group_id=GROUP)
        group.action_profile_id = next(
            spec.id for spec in switch.index.profiles.values() if spec.name == PROFILES["spray.paths"]
        )
        assert leaf.uplinks == UPLINKS
        [entity] = switch.read(p4r.Entity(action_profile_group=group))
        members = sorted(entity.action_profile_group.members, key=lambda member: member.member_id)
        return [int.from_bytes(member.watch_port, "big") for member in members]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    if shutil.which(bmv2.PROGRAM) is None:
        print(f"{bmv2.PROGRAM} is not on PATH", file=sys.stderr)
        return 1
    config = read_config(PROGRAM, PROGRAM.with_suffix(".p4info.txtpb"))
    with contextlib.closing(Bmv2Switch(config)) as switch:
        carrier_loss = measure(switch, asked.cuts)
    record = {
        "program_sha256": program_digest(PROGRAM),
        "target": bmv2.PROGRAM,
        "version": bmv2.version(),
        "kernel": platform.release(),
        "load_average": round(os.getloadavg()[0], 1),
        "carrier_loss": carrier_loss,
        "every_watched_port_down": last_watched_member(config),
        "every_watched_port_down_one_member_unwatched": one_unwatched_member(config),
        "a_member_leaves_its_group": leaving_member(config),
        "watch_ports_1_to_4_read_back": read_back(config),
    }
    asked.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({key: value for key, value in record.items() if key != "carrier_loss"}, indent=1))
    print({key: value for key, value in carrier_loss.items() if key != "each"})
    return 0


if __name__ == "__main__":
    sys.exit(main())

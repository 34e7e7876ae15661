"""simple_switch_grpc in a network namespace of its own, as a target. Needs root."""

from __future__ import annotations

import errno
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from csaud_runs.children import end_process
from csaud_softswitch.bmv2.command import PROGRAM, command_line
from csaud_softswitch.exchange.namespace import Namespace
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

from tests.p4.rig.client import Client
from tests.p4.rig.switch import PORTS, Departure
from tests.p4.rig.thrift import Thrift

THRIFT_PORT = 9090
QUEUE_DEPTH = 2000
RECIRCULATION_PORT = 127
PATIENCE_S = 2.0
"""For each frame that ought to come, since the last one did."""
QUIET_S = 0.2
"""For frames that ought not to: whatever comes takes about a millisecond."""
PORT_POLL_S = 0.5
"""BMv2 looks at its ports every 200 ms, and takes one for never up that goes down before the first look."""
AHEAD = 16
"""Frames sent that it has not taken yet: its input holds 32 and drops what is more, unseen."""
TAKEN_LIMIT_S = 1.0
"""For a frame to be taken; those for the controller are taken, but are counted nowhere."""
KINDS = 4


class Bmv2Switch:
    """A context manager."""

    abilities = frozenset({"registers", "links", "rates"})

    def __init__(self, config: p4r.ForwardingPipelineConfig) -> None:
        assert shutil.which(PROGRAM) is not None
        self._directory = Path(tempfile.mkdtemp(prefix="csaud-p4-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None
        self._thrift: Thrift | None = None
        self.unwatches = True
        """Work around that a watched member cannot leave a group."""
        self._loaded = False
        self._sent: Counter[int] = Counter()
        self._taken: Counter[int] = Counter()
        """Frames by port since the program was loaded."""
        self._rates: set[int] = set()
        self._down: set[int] = set()
        self._ports_known = 0.0
        self.namespace = Namespace(f"csaud-p{os.getpid()}", PORTS)
        try:
            self._start(config)
        except BaseException:
            self.close()
            raise

    def _start(self, config: p4r.ForwardingPipelineConfig) -> None:
        address = f"unix:{self._directory}/p4runtime.sock"
        argv = command_line(
            device_id=1,
            address=address,
            notifications=self._directory / "notifications.ipc",
            ports={port: Namespace.interface(port) for port in PORTS},
            thrift_port=THRIFT_PORT,
        )
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(self.namespace.command(argv), stdout=log, stderr=log)
        self._client = Client(address, 1, config)
        connect = lambda: socket.create_connection(("127.0.0.1", THRIFT_PORT), timeout=10)  # noqa: E731
        self._thrift = Thrift.when_ready(lambda: self.namespace.inside(connect), PROGRAM)
        for port in (*PORTS, RECIRCULATION_PORT):
            self._thrift.set_depths(port, QUEUE_DEPTH)

    def close(self) -> None:
        """Stop the switch and remove its namespace. Idempotent."""
        if self._thrift is not None:
            self._thrift.close()
        if self._client is not None:
            self._client.close()
        if self._process is not None:
            end_process(self._process, 5)
        self.namespace.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def returncode(self) -> int | None:
        """None while the switch runs."""
        assert self._process is not None, "it did not start"
        return self._process.poll()

    def wire(self, port: int) -> socket.socket:
        """The raw socket at the far end of a port's cable."""
        return self.namespace.socket(port)

    @property
    def client(self) -> Client:
        assert self._client is not None, "it did not start"
        return self._client

    @property
    def thrift(self) -> Thrift:
        assert self._thrift is not None, "it did not start"
        return self._thrift

    @property
    def index(self) -> P4InfoIndex:
        return self.client.index

    def reset(self) -> None:
        assert self.returncode is None, f"{PROGRAM} ended: {self.returncode}"
        for port in sorted(self._down):
            self.set_link(port, True)
        for port in self._rates:
            self.thrift.set_rates(port, 0)
        self._rates.clear()
        # It keeps replicas of clone sessions that nobody deletes: with the next program there would be two.
        if self._loaded:
            self.client.write([_clone_session_away()])
        self.client.load()
        self._loaded = True
        self._sent.clear()
        self._taken.clear()
        self._ports_known = time.monotonic() + PORT_POLL_S
        self._collect(0)

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        """A member that is watched cannot leave a group (its server throws): first nobody watches it."""
        for update in updates if self.unwatches else ():
            if update.type == p4r.Update.MODIFY and update.entity.HasField("action_profile_group"):
                self._unwatch_leavers(update.entity.action_profile_group)
        return self.client.write(updates)

    def _unwatch_leavers(self, wanted: p4r.ActionProfileGroup) -> None:
        asked = p4r.ActionProfileGroup(action_profile_id=wanted.action_profile_id, group_id=wanted.group_id)
        [entity] = self.client.read(p4r.Entity(action_profile_group=asked))
        staying = {member.member_id for member in wanted.members}
        for member in entity.action_profile_group.members:
            if member.member_id not in staying:
                member.ClearField("watch_port")
        codes = self.client.write([p4r.Update(type=p4r.Update.MODIFY, entity=entity)])
        assert codes == [Code.OK], codes

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        return self.client.read(entity)

    def exchange(
        self, frames: Sequence[tuple[int, bytes]], gap_ns: int, expected: int | None
    ) -> list[Departure]:
        left: list[Departure] = []
        for port, frame in frames:
            if self._sent[port] - self._taken[port] >= AHEAD:
                self._wait_until_taken(port, AHEAD // 2, left)
            self.namespace.socket(port).send(frame)
            self._sent[port] += 1
            if gap_ns:
                time.sleep(gap_ns / 1e9)
            left += self._waiting(0)
        for port in {port for port, _ in frames}:
            self._wait_until_taken(port, 0, left)
        return left + self._collect((expected or 0) - len(left))

    def _wait_until_taken(self, port: int, ahead: int, left: list[Departure]) -> None:
        """Until it has taken all frames of a port but so many; what comes out is added to `left`."""
        deadline = time.monotonic() + TAKEN_LIMIT_S
        while True:
            taken = self._count_taken(port)
            if taken > self._taken[port]:
                deadline = time.monotonic() + TAKEN_LIMIT_S
            self._taken[port] = taken
            if self._sent[port] - taken <= ahead:
                return
            if time.monotonic() > deadline:
                self._taken[port] = self._sent[port]
                return
            left += self._waiting(0.002)

    def _count_taken(self, port: int) -> int:
        counter = "CsaudIngress.classify.ingress_kind"
        [spec] = [spec for spec in self.index.counters.values() if spec.name == counter]
        cells = []
        for kind in range(KINDS):
            cell = p4r.CounterEntry(counter_id=spec.id)
            cell.index.index = port * KINDS + kind
            cells.append(p4r.Entity(counter_entry=cell))
        return sum(found.counter_entry.data.packet_count for found in self.client.read(*cells))

    def packet_out(self, packet: p4r.PacketOut, expected: int) -> list[Departure]:
        self.client.packet_out(packet)
        return self._collect(expected)

    def packet_ins(self, expected: int) -> list[p4r.PacketIn]:
        return self.client.packet_ins(expected)

    def digests(self, expected: int) -> list[p4r.DigestList]:
        return self.client.digests(expected)

    def wait(self, nanoseconds: int) -> None:
        time.sleep(nanoseconds / 1e9)

    def set_link(self, port: int, up: bool) -> None:
        time.sleep(max(0.0, self._ports_known - time.monotonic()))
        self.namespace.set_link(port, up)
        (self._down.discard if up else self._down.add)(port)
        time.sleep(PORT_POLL_S)

    def set_rate(self, port: int, frames_per_s: int, frame_bytes: int) -> None:
        self.thrift.set_rates(port, frames_per_s)
        self._rates.add(port)

    def register_write(self, name: str, index: int, value: int) -> None:
        self.thrift.register_write(name, index, value)

    def register_read(self, name: str, index: int) -> int:
        return self.thrift.register_read(name, index)

    def _collect(self, expected: int) -> list[Departure]:
        """Frames, as long as some of the expected are missing, and a moment more."""
        left: list[Departure] = []
        while True:
            found = self._waiting(PATIENCE_S if len(left) < expected else QUIET_S)
            if not found:
                return left
            left += found

    def _waiting(self, seconds: float) -> list[Departure]:
        """Frames that are there now, or the first to come within so long."""
        sockets = {self.namespace.socket(port): port for port in PORTS}
        left = []
        for found in select.select(list(sockets), [], [], seconds)[0]:
            try:
                while True:
                    left.append(Departure(sockets[found], found.recv(1 << 16)))
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno != errno.ENETDOWN:  # told once when a link is cut
                    raise
        return left


def _clone_session_away() -> p4r.Update:
    session = p4r.CloneSessionEntry(session_id=1)
    entry = p4r.PacketReplicationEngineEntry(clone_session_entry=session)
    return p4r.Update(type=p4r.Update.DELETE, entity=p4r.Entity(packet_replication_engine_entry=entry))

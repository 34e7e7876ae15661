"""A network namespace with a switch between veth pairs: its program and tables over P4Runtime, traffic from
a native generator, and counts from the interfaces. Needs root.

The switch's process is bound to one processor and the generator to another one. Frames that the switch sends
arrive at interfaces that nobody reads: the kernel counts and drops them.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
from csaud_runs.children import end_process
from csaud_softswitch.bmv2.command import command_line
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.p4runtime.p4info_index import build_index
from csaud_softswitch.p4runtime.proto import p4r, p4r_grpc
from csaud_softswitch.program_file import read_config

from bench import native

PATHS = (1, 2, 3, 4)
HOST = 5
MTU = 9000
_START_LIMIT_S = 60.0
_BATCH = 2000
_SETTLE_S = 0.8
"""After the program is there: simple_switch_grpc polls its ports every 200 ms before it believes in them."""


class RigError(RuntimeError):
    """The switch did not start, or refused what it must accept."""


@dataclass(frozen=True)
class Peer:
    """A switch to measure: its name in results, and how its command begins."""

    name: str
    command: tuple[str, ...]


def soft() -> Peer:
    return Peer("embedded", (sys.executable, "-m", "csaud_softswitch"))


def bmv2(name: str, binary: str) -> Peer:
    return Peer(name, (binary,))


@dataclass(frozen=True)
class Traffic:
    """What came of a stretch of traffic. Rates are packets per second of real time."""

    offered: float
    forwarded: float
    seconds: float
    per_cpu_second: float
    """Packets forwarded for each second of processor time that the switch's process took."""


class Rig:
    """A context manager: a running switch with a program and a leaf's tables."""

    def __init__(
        self, peer: Peer, switch_core: int, traffic_core: int, table_size: int | None = None
    ) -> None:
        """table_size: entries that every table may have at least, whatever the program says."""
        self.peer = peer
        self._table_size = table_size
        self._cores = (switch_core, traffic_core)
        self._name = f"csaud-bench{os.getpid()}"
        self._directory = tempfile.TemporaryDirectory(prefix="csaud-bench-")
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: grpc.Channel | None = None
        self._outbox: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()

    def __enter__(self) -> Rig:
        try:
            self._make_namespace()
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the switch and remove the namespace. Idempotent."""
        self._outbox.put(None)
        if self._channel is not None:
            self._channel.close()  # type: ignore[no-untyped-call]
        if self._process is not None:
            end_process(self._process, 10)
        if Path("/run/netns", self._name).exists():
            _ip("netns", "del", self._name)
        self._directory.cleanup()

    def _make_namespace(self) -> None:
        _ip("netns", "add", self._name)
        self._run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        for port in (*PATHS, HOST):
            _ip("-n", self._name, "link", "add", f"sw{port}", "mtu", str(MTU), "type", "veth",
                "peer", "name", f"to{port}", "mtu", str(MTU))  # fmt: skip
            for end in (f"sw{port}", f"to{port}"):
                _ip("-n", self._name, "link", "set", end, "arp", "off", "up")

    def _inside(self, core: int, argv: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self._name, "taskset", "-c", str(core), *argv]

    def _run(self, *argv: str) -> str:
        done = subprocess.run(
            ["ip", "netns", "exec", self._name, *argv], capture_output=True, text=True, check=True
        )
        return done.stdout

    def _start(self) -> None:
        directory = Path(self._directory.name)
        address = f"unix:{directory}/p4runtime.sock"
        ports = {port: f"sw{port}" for port in (*PATHS, HOST)}
        if self.peer.name == "embedded":
            argv = [*self.peer.command, "--no-p4", "--device-id", "1"]
            argv += [f"--interface={port}@{name}" for port, name in ports.items()]
            argv += ["--grpc-server-addr", address]
        else:
            notifications = directory / "notifications.ipc"
            [program] = self.peer.command
            argv = command_line(
                device_id=1, address=address, notifications=notifications, ports=ports, program=program
            )
        log = directory / "log"
        with log.open("wb") as out:
            self._process = subprocess.Popen(self._inside(self._cores[0], argv), stdout=out, stderr=out)
        self._channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])  # type: ignore[no-untyped-call]
        try:
            grpc.channel_ready_future(self._channel).result(_START_LIMIT_S)  # type: ignore[no-untyped-call]
        except grpc.FutureTimeoutError:
            raise RigError(f"{self.peer.name} did not listen: {log.read_text()[-500:]}") from None
        self._program(p4r_grpc.P4RuntimeStub(self._channel))

    def _program(self, stub: p4r_grpc.P4RuntimeStub) -> None:
        self._responses = stub.StreamChannel(iter(self._outbox.get, None))  # primary as long as it lives
        hello = p4r.StreamMessageRequest()
        hello.arbitration.device_id = 1
        hello.arbitration.election_id.low = 1
        self._outbox.put(hello)
        next(iter(self._responses))
        config = read_config(native.PROGRAM, native.P4INFO)
        if self._table_size is not None:
            _enlarge(config, self._table_size)
        request = p4r.SetForwardingPipelineConfigRequest(device_id=1, config=config)
        request.election_id.low = 1
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        stub.SetForwardingPipelineConfig(request)
        self._stub, self._names = stub, Names(build_index(config.p4info))
        self.write(leaf_tables(self._names))
        time.sleep(_SETTLE_S)

    def write(self, items: Sequence[dict[str, Any]]) -> None:
        """Updates as exchanges have them, in batches."""
        for begin in range(0, len(items), _BATCH):
            updates = [self._names.update(item) for item in items[begin : begin + _BATCH]]
            request = p4r.WriteRequest(device_id=1, updates=updates)
            request.election_id.low = 1
            try:
                self._stub.Write(request)
            except grpc.RpcError as error:
                raise RigError(f"{self.peer.name} refused entries: {error}") from None

    def blast(self, *, seconds: float, size: int, rate: float = 0.0, fill: Sequence[str] = ()) -> Traffic:
        """Send frames of `size` bytes into the host's port, as many as the kernel takes (rate 0) or `rate` a
        second, and see how many leave by the others. `fill`: options of the generator that say what the
        tables hold.
        """
        argv = [str(native.path("csaud_switch_traffic")), "--interface", f"to{HOST}",
                "--seconds", str(seconds), "--bytes", str(size), "--rate", str(rate), *fill]  # fmt: skip
        counts, cpu = self._forwarded(), self._cpu_seconds()
        sent = native.run(self._inside(self._cores[1], argv))
        took = self._forwarded() - counts
        cpu = self._cpu_seconds() - cpu
        time.sleep(0.2)  # what still waits in the switch must not count in the next stretch
        return Traffic(
            sent["sent"] / sent["seconds"], took / sent["seconds"], sent["seconds"], took / max(cpu, 0.01)
        )

    def generator_alone(self, *, seconds: float, size: int) -> float:
        """Frames a second that the generator sends into an interface that nobody reads."""
        argv = [str(native.path("csaud_switch_traffic")), "--interface", "sw1", "--seconds", str(seconds),
                "--bytes", str(size)]  # fmt: skip
        found = native.run(self._inside(self._cores[1], argv))
        return float(found["sent"] / found["seconds"])

    def ping(self, *, count: int, size: int, wire: bool = False) -> dict[str, float]:
        """Time of single frames from the first path's port to the host's, one a millisecond: {"median_us",
        "p99_us"}. With `wire` along a veth pair without a switch.
        """
        ends = ("to1", "sw1") if wire else ("to1", f"to{HOST}")
        argv = [str(native.path("csaud_switch_traffic")), "--interface", ends[0], "--ping", ends[1],
                "--first", "10.0.1.1", "--count", str(count), "--bytes", str(size)]  # fmt: skip
        return native.run(self._inside(self._cores[1], argv))

    def _forwarded(self) -> int:
        links = json.loads(self._run("ip", "-j", "-s", "link"))
        wanted = {f"to{port}" for port in PATHS}
        return sum(link["stats64"]["rx"]["packets"] for link in links if link["ifname"] in wanted)

    def _cpu_seconds(self) -> float:
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _enlarge(config: p4r.ForwardingPipelineConfig, size: int) -> None:
    document = json.loads(config.p4_device_config)
    for pipeline in document["pipelines"]:
        for table in pipeline["tables"]:
            table["max_size"] = max(table.get("max_size", 0), size)
    config.p4_device_config = json.dumps(document).encode()
    for table in config.p4info.tables:
        table.size = max(table.size, size)


def leaf_tables(names: Names) -> list[dict[str, Any]]:
    """A leaf's tables: 10.0.2.0/24 sprayed over four uplinks by hash, 10.0.1.1 at the host's port."""

    def insert(**body: Any) -> dict[str, Any]:
        return {"insert": body}

    profiles = [spec.name for spec in names.index.profiles.values()]
    forward, set_group = "CsaudIngress.spray.forward", "CsaudIngress.route.set_group"
    tables: list[dict[str, Any]] = []
    for profile in profiles:
        tables += [
            insert(profile=profile, member=port, action=forward, params={"port": port})
            for port in (*PATHS, HOST)
        ]
        members = [{"member": port, "weight": 1, "watch_port": port} for port in PATHS]
        tables.append(insert(profile=profile, group=7, members=members))
    tables += [
        insert(table="CsaudIngress.spray.paths", match={"group": 7}, group=7),
        insert(table="CsaudIngress.spray.paths", match={"group": 1}, member=HOST),
        insert(table="CsaudIngress.route.ipv4_lpm", match={"dst": "10.0.2.0/24"}, action=set_group,
               params={"group": 7}),
        insert(table="CsaudIngress.route.ipv4_lpm", match={"dst": "10.0.1.1/32"}, action=set_group,
               params={"group": 1}),
        insert(table="CsaudIngress.spray.policy", match={}, priority=10, action="CsaudIngress.spray.ecmp",
               params={"seed": 7}),
    ]  # fmt: skip
    return tables


@contextlib.contextmanager
def rig(peer: Peer, cores: tuple[int, int], table_size: int | None = None) -> Iterator[Rig]:
    with Rig(peer, *cores, table_size) as running:
        yield running


def _ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True, capture_output=True)

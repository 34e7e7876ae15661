"""simple_switch_grpc as a target of exchanges: the real one, in a network namespace of its own. Needs
root.
"""

from __future__ import annotations

import errno
import os
import queue
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import grpc
from csaud_runs.children import end_process

from csaud_softswitch.bmv2.command import PROGRAM, command_line
from csaud_softswitch.exchange.namespace import Namespace
from csaud_softswitch.exchange.target import Departure
from csaud_softswitch.p4runtime.errors import Code, codes_of
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex, build_index
from csaud_softswitch.p4runtime.proto import p4r, p4r_grpc

_DEVICE_ID = 1
_START_LIMIT_S = 20.0
_QUIET_S = 0.15
"""A frame that has not come out by then was dropped; it takes about a millisecond otherwise."""
_MORE_S = 0.02
"""After a frame has come out, how long to wait for a second one."""
_PATIENCE_S = 3.0
"""How long to wait for what is expected to come out."""
_PORT_POLL_S = 0.6
"""BMv2 polls the state of its ports every 200 ms once it has a program; a port that goes down before its
first poll it takes for one that never was up, and says nothing. """


class Bmv2Error(RuntimeError):
    """simple_switch_grpc is missing, did not start, or refused what it must accept."""


class Bmv2Target:
    """A context manager: starts simple_switch_grpc with a port for each of `ports`, and stops it."""

    def __init__(
        self,
        config: p4r.ForwardingPipelineConfig,
        ports: Sequence[int],
        *,
        cpu_port: int = 510,
        queues: int = 8,
        more_s: float = _MORE_S,
    ) -> None:
        """more_s: the switch counts as quiet when nothing has come out for so long; more where several frames
        are sent at once.
        """
        self._more_s = more_s
        self._config = config
        self._index = build_index(config.p4info)
        self._ports = list(ports)
        self._cpu_port, self._queues = cpu_port, queues
        self._directory = Path(tempfile.mkdtemp(prefix="csaud-bmv2-"))
        self._namespace: Namespace | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: grpc.Channel | None = None
        self._outbox: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._inbox: queue.Queue[p4r.StreamMessageResponse] = queue.Queue()
        self._messages: queue.Queue[p4r.StreamMessageResponse] = queue.Queue()

    # --- life

    def __enter__(self) -> Bmv2Target:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        if shutil.which(PROGRAM) is None:
            raise Bmv2Error(f"{PROGRAM} is not on PATH")
        self._namespace = Namespace(f"csaud-x{os.getpid()}", self._ports)
        address = f"unix:{self._directory}/p4runtime.sock"
        argv = command_line(
            device_id=_DEVICE_ID,
            address=address,
            notifications=self._directory / "notifications.ipc",
            ports={port: Namespace.interface(port) for port in self._ports},
            cpu_port=self._cpu_port,
            priorities=self._queues,
        )
        log = (self._directory / "log").open("wb")
        self._process = subprocess.Popen(self._namespace.command(argv), stdout=log, stderr=log)
        self._channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])  # type: ignore[no-untyped-call]
        try:
            grpc.channel_ready_future(self._channel).result(_START_LIMIT_S)  # type: ignore[no-untyped-call]
        except grpc.FutureTimeoutError as error:
            raise Bmv2Error(f"{PROGRAM} did not listen within {_START_LIMIT_S:.0f} s") from error
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._become_primary()
        request = p4r.SetForwardingPipelineConfigRequest(device_id=_DEVICE_ID, config=self._config)
        request.election_id.low = 1
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        self._stub.SetForwardingPipelineConfig(request)
        self._ports_known = time.monotonic() + _PORT_POLL_S

    def _become_primary(self) -> None:
        responses = self._stub.StreamChannel(iter(self._outbox.get, None))

        def receive() -> None:
            try:
                for response in responses:
                    notice = response.WhichOneof("update") in ("digest", "idle_timeout_notification")
                    (self._messages if notice else self._inbox).put(response)
            except grpc.RpcError:
                return  # the stream ends with the process

        threading.Thread(target=receive, daemon=True).start()
        hello = p4r.StreamMessageRequest()
        hello.arbitration.device_id = _DEVICE_ID
        hello.arbitration.election_id.low = 1
        self._outbox.put(hello)
        answer = self._inbox.get(timeout=_START_LIMIT_S)
        if answer.arbitration.status.code != Code.OK:
            raise Bmv2Error(f"{PROGRAM} did not make us its primary controller: {answer}")

    def close(self) -> None:
        """Stop the switch and remove its namespace. Idempotent."""
        self._outbox.put(None)
        if self._channel is not None:
            self._channel.close()  # type: ignore[no-untyped-call]
        if self._process is not None:
            end_process(self._process, 5)
        if self._namespace is not None:
            self._namespace.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    # --- what a target does

    @property
    def identity(self) -> dict[str, str]:
        printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        return {
            "target": PROGRAM,
            "version": printed.strip(),
            "options": f"--cpu-port {self._cpu_port} --priority-queues {self._queues}",
        }

    def connect(self, port: int) -> socket.socket:
        """A TCP connection to a port of the switch's own 127.0.0.1, such as that of its Thrift service."""
        return self._ns.inside(lambda: socket.create_connection(("127.0.0.1", port), _START_LIMIT_S))

    @property
    def index(self) -> P4InfoIndex:
        return self._index

    def write(self, updates: list[p4r.Update]) -> list[Code]:
        request = p4r.WriteRequest(device_id=_DEVICE_ID, updates=updates)
        request.election_id.low = 1
        try:
            self._stub.Write(request)
        except grpc.RpcError as error:
            return codes_of(error, len(updates))
        return [Code.OK] * len(updates)

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=_DEVICE_ID, entities=[entity])
        return [found for response in self._stub.Read(request) for found in response.entities]

    def send(self, port: int, frame: bytes) -> None:
        self._ns.socket(port).send(frame)

    def send_packet_out(self, packet: p4r.PacketOut) -> None:
        self._outbox.put(p4r.StreamMessageRequest(packet=packet))

    def set_link(self, port: int, up: bool) -> None:
        time.sleep(max(0.0, self._ports_known - time.monotonic()))
        self._ns.set_link(port, up)
        time.sleep(_PORT_POLL_S)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def messages(self) -> list[p4r.StreamMessageResponse]:
        return [self._messages.get() for _ in range(self._messages.qsize())]

    def acknowledge(self, ack: p4r.DigestListAck) -> None:
        self._outbox.put(p4r.StreamMessageRequest(digest_ack=ack))

    def departures(self, expected: int = 0) -> list[Departure]:
        """Frames that left, waiting until none comes any more, and longer while fewer than expected have
        come.
        """
        found = list(self._receive(expected))
        if self._process is None or self._process.poll() is not None:
            raise Bmv2Error(f"{PROGRAM} has ended; a packet may do that, such as by an index beyond an array")
        return found

    def packet_ins(self) -> list[p4r.PacketIn]:
        found = []
        while not self._inbox.empty():
            message = self._inbox.get()
            if message.HasField("packet"):
                found.append(message.packet)
            elif message.HasField("error"):
                raise Bmv2Error(f"{PROGRAM}: {message.error}")
        return found

    def _receive(self, expected: int) -> Iterator[Departure]:
        sockets = {self._ns.socket(port): port for port in self._ports}
        came = 0
        deadline = time.monotonic() + _QUIET_S
        patience = time.monotonic() + _PATIENCE_S
        while True:
            missing = came + self._inbox.qsize() < expected
            left = (patience if missing else deadline) - time.monotonic()
            if left <= 0:
                return
            ready, _, _ = select.select(list(sockets), [], [], min(left, self._more_s))
            for found in ready:
                try:
                    frame = found.recv(1 << 16)
                except OSError as error:
                    if error.errno != errno.ENETDOWN:  # told once when a link is cut
                        raise
                    continue
                came += 1
                yield Departure(sockets[found], frame)
                deadline = time.monotonic() + self._more_s
            if not self._inbox.empty():
                deadline = min(deadline, time.monotonic() + self._more_s)

    @property
    def _ns(self) -> Namespace:
        if self._namespace is None:
            raise Bmv2Error(f"{PROGRAM} is not running")
        return self._namespace

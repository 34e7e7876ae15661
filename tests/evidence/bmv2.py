"""A simple_switch_grpc whose packets come and go by gRPC. Needs root: its Thrift server listens on all
addresses, so the switch gets a network namespace of its own.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from csaud_runs.children import end_process
from csaud_softswitch.bmv2.command import PROGRAM, command_line
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

from tests.p4.rig.client import Client
from tests.p4.rig.thrift import Thrift
from tests.softswitch.p4runtime_support import CONFIG
from tests.support.netns import NetworkNamespace

DEVICE_ID = 1
THRIFT_PORT = 9090
RECIRCULATION_PORT = 127
UNBOUNDED = 1_000_000
"""Packets: more than ever wait."""
START_LIMIT_S = 20.0


class Bench:
    """A running switch with a program, this project's unless another is given."""

    def __init__(
        self, folder: Path, namespace: NetworkNamespace, config: p4r.ForwardingPipelineConfig = CONFIG
    ) -> None:
        address, self.dataplane = f"unix:{folder}/p4runtime.sock", f"unix:{folder}/dataplane.sock"
        argv = command_line(
            device_id=DEVICE_ID,
            address=address,
            notifications=folder / "notifications.ipc",
            thrift_port=THRIFT_PORT,
            more=["--dp-grpc-server-addr", self.dataplane],
        )
        with namespace.entered(), (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log)
        try:
            self.client = Client(address, DEVICE_ID, config)
            self.client.load()
            self.thrift = Thrift.when_ready(lambda: _connect(namespace), PROGRAM)
        except BaseException:
            self.process.kill()
            raise
        self.read = self.client.read

    @property
    def index(self) -> P4InfoIndex:
        return self.client.index

    def set_depths(self, ports: Sequence[int], packets: int = UNBOUNDED) -> None:
        """Of each queue of these ports; clones on their way round have room in any case."""
        for port in ports:
            self.thrift.set_depths(port, packets)
        self.thrift.set_depths(RECIRCULATION_PORT, UNBOUNDED)

    def close(self) -> None:
        self.client.close()
        end_process(self.process, 10)


def _connect(namespace: NetworkNamespace) -> socket.socket:
    with namespace.entered():
        return socket.create_connection(("127.0.0.1", THRIFT_PORT), START_LIMIT_S)


@contextmanager
def running(config: p4r.ForwardingPipelineConfig = CONFIG) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="csaud-incast-") as folder, NetworkNamespace() as namespace:
        bench = Bench(Path(folder), namespace, config)
        try:
            yield bench
        finally:
            bench.close()

"""BMv2's simple_switch_grpc, the reference: one process a switch, each in its switch's namespace."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from importlib.metadata import version
from typing import Any

from csaud_controller import targets as controller_targets
from csaud_controller.inventory import CPU_PORT, Fabric, interface

from csaud_topologies.base.netns import inside_netns
from csaud_topologies.fabric.cables import Cable
from csaud_topologies.fabric.network import Bmv2Switch
from csaud_topologies.fabric.services import Service
from csaud_topologies.fabric.targets.base import Place
from csaud_topologies.fabric.targets.check import BMV2_PROGRAM
from csaud_topologies.fabric.targets.thrift import SimpleSwitchThrift

PRIORITIES = 8
_THRIFT_PORT = 9090  # the same in every switch's own namespace
_START_LIMIT_S = 20.0


class Bmv2Target:
    """simple_switch_grpc on each switch's interfaces."""

    name = "bmv2"
    switch_class = Bmv2Switch
    link_class = Cable

    def versions(self) -> dict[str, str]:
        """Of BMv2, and of p4c where it is here to ask."""
        found = {"bmv2": _version_of([BMV2_PROGRAM, "--version"])}
        if shutil.which("p4c-bm2-ss"):
            found["p4c"] = _version_of(["p4c-bm2-ss", "--version"])
        return {**found, "csaud": version("csaud")}

    def start(self, fabric: Fabric, net: Any, place: Place) -> None:
        """One process a switch, then queue depths and rates, which only Thrift can set."""
        for name, spec in fabric.switches.items():
            command = [BMV2_PROGRAM, "--no-p4", "--device-id", str(spec.device_id)]
            for port in fabric.peers[name]:
                command += ["-i", f"{port}@{interface(name, port)}"]
            command += ["--thrift-port", str(_THRIFT_PORT), "--log-console", "--log-level", "error"]
            # By default in /tmp and named by the device id alone: two runs at once would share it.
            command += ["--notifications-addr", f"ipc://{place.run.path}/{name}-notifications.ipc"]
            command += ["--", "--priority-queues", str(PRIORITIES), "--cpu-port", str(CPU_PORT)]
            command += ["--grpc-server-addr", str(spec.p4runtime)]
            place.services.add(Service.start(name, command, place.logs, net[name]))
        for name in fabric.switches:
            self._set_queues(fabric, name, net[name].pid, place)

    def _set_queues(self, fabric: Fabric, name: str, pid: int, place: Place) -> None:
        with SimpleSwitchThrift.when_ready(
            lambda: _connect(pid), name, limit_s=_START_LIMIT_S, check=place.services.check
        ) as thrift:
            for limit in controller_targets.Bmv2().queue_limits(fabric, name):
                for priority in range(PRIORITIES):
                    thrift.set_queue_depth(limit.port, priority, limit.depth)
                    thrift.set_queue_rate(limit.port, priority, limit.packets_per_second)

    def hidden_drops(self, place: Place) -> dict[str, int]:
        """BMv2 does not count what it drops before or behind the program."""
        return {}


def _connect(pid: int) -> socket.socket:
    """A connection to the Thrift server inside the namespace of process `pid`."""
    with inside_netns(pid):
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.connect(("127.0.0.1", _THRIFT_PORT))
    except BaseException:
        connection.close()
        raise
    return connection


def _version_of(command: list[str]) -> str:
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+\S*(?: \(SHA: \w+[^)]*\))?", output.stdout + output.stderr)
    return found[0] if found else "unknown"

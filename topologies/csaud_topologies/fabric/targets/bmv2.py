"""BMv2's simple_switch_grpc, the reference: one process a switch, each in its switch's namespace."""

from __future__ import annotations

import shutil
import socket
from importlib.metadata import version
from typing import Any

from csaud_controller import targets as controller_targets
from csaud_controller.inventory import CPU_PORT, Fabric, interface
from csaud_runs.netns import inside_netns
from csaud_softswitch.bmv2.command import PRIORITIES, PROGRAM, command_line
from csaud_softswitch.bmv2.command import version as version_of
from csaud_softswitch.bmv2.thrift import SimpleSwitchThrift

from csaud_topologies.fabric.cables import Cable
from csaud_topologies.fabric.network import Bmv2Switch
from csaud_topologies.fabric.services import Service
from csaud_topologies.fabric.targets.base import Place

_THRIFT_PORT = 9090  # the same in every switch's own namespace
_START_LIMIT_S = 20.0


class Bmv2Target:
    """simple_switch_grpc on each switch's interfaces."""

    name = "bmv2"
    switch_class = Bmv2Switch
    link_class = Cable

    def versions(self) -> dict[str, str]:
        """Of BMv2, and of p4c where it is here to ask."""
        found = {"bmv2": version_of(PROGRAM)}
        if shutil.which("p4c-bm2-ss"):
            found["p4c"] = version_of("p4c-bm2-ss")
        return {**found, "csaud": version("csaud")}

    def start(self, fabric: Fabric, net: Any, place: Place) -> None:
        """One process a switch, then queue depths and rates, which only Thrift can set."""
        for name, spec in fabric.switches.items():
            command = command_line(
                device_id=spec.device_id,
                address=str(spec.p4runtime),
                notifications=place.run.path / f"{name}-notifications.ipc",
                ports={port: interface(name, port) for port in fabric.peers[name]},
                thrift_port=_THRIFT_PORT,
                log_level="error",
                cpu_port=CPU_PORT,
            )
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

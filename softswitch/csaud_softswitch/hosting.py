"""Switches of one process: their ports, their devices, and one P4Runtime server each."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csaud_runs.names import interface, socket_name
from csaud_runs.whole import write_json

from csaud_softswitch import _core
from csaud_softswitch import links as link_control
from csaud_softswitch.fabric_file import EdgeEntry, FabricFile, FabricFileError, LinkSpec
from csaud_softswitch.p4runtime.device import Device
from csaud_softswitch.p4runtime.personality import Personality
from csaud_softswitch.p4runtime.server import P4RuntimeServer
from csaud_softswitch.p4runtime.tls import ServerTls
from csaud_softswitch.taps import SOCKET, TapServer

_log = logging.getLogger(__name__)


class HostingError(Exception):
    """The switches cannot be set up; the message says which port or program and why."""


@dataclass(frozen=True)
class SwitchOptions:
    """What simple_switch_grpc takes on its command line."""

    cpu_port: int = 510
    drop_port: int = 511
    priority_queues: int = 8
    seed: int = 0
    personality: Personality | None = None
    """Another P4Runtime server, whose refusals the switches adopt."""


@dataclass
class SwitchHost:
    """The native fabric and the devices on it; `addresses` says where each device listens."""

    fabric: _core.Fabric
    devices: dict[str, Device] = field(default_factory=dict)
    addresses: dict[str, list[str]] = field(default_factory=dict)
    tls: dict[str, ServerTls] = field(default_factory=dict)
    """Of the switches that are served over TLS."""
    taps: TapServer | None = None
    links: link_control.LinkServer | None = None
    _servers: list[P4RuntimeServer] = field(default_factory=list)

    def add_switch(self, name: str, device_id: int, options: SwitchOptions, addresses: list[str]) -> Device:
        switch = self.fabric.add_switch(
            name,
            device_id,
            cpu_port=options.cpu_port,
            drop_port=options.drop_port,
            priority_queues=options.priority_queues,
        )
        device = Device(switch, options.personality)
        self.devices[name] = device
        self.addresses[name] = addresses
        return device

    def add_interface(self, switch: str, port: int, ifname: str, link: LinkSpec) -> None:
        """A network interface as a port; HostingError when there is none of that name, or no permission."""
        try:
            self.fabric.add_veth_port(
                switch, port, ifname, rate_bps=link.rate_bps, buffer_packets=link.buffer_packets
            )
        except OSError as error:
            raise HostingError(
                f"{switch}: port {port}: interface {ifname}: {error.strerror or error}"
            ) from error
        except LookupError as error:
            raise HostingError(f"{switch}: port {port}: {_reason(error)}") from error

    async def start(self) -> None:
        """Forward packets and listen. AddressError when an address cannot be had, TlsError for a certificate
        that cannot be used; nothing is left behind then.
        """
        self._servers = [
            P4RuntimeServer(self.devices[name], where, self.tls.get(name))
            for name, where in self.addresses.items()
        ]
        started: list[P4RuntimeServer] = []
        try:
            for server in self._servers:
                await server.start()
                started.append(server)
            if self.taps is not None:
                await self.taps.start()
        except Exception:
            for server in started:
                await server.stop()
            raise
        if self.links is not None:
            await self.links.start()
        self.fabric.start()

    async def stop(self) -> None:
        """End all streams, stop listening and forwarding. Idempotent."""
        if self.taps is not None:
            await self.taps.stop()
        if self.links is not None:
            await self.links.stop()
        for server in self._servers:
            await server.stop()
        self.fabric.stop()

    def figures(self) -> dict[str, Any]:
        """For each switch: its packet counts and those of its ports, as the native core has them."""
        return {
            name: {
                "switch": dict(device.switch.stats()),
                "ports": {str(port): dict(stats) for port, stats in device.switch.port_stats().items()},
                "unclaimed_packet_in": device.unclaimed_packets,
                "dropped_packet_in": device.dropped_packets,
            }
            for name, device in self.devices.items()
        }

    def write_figures(self, path: Path) -> None:
        """Write the figures as JSON; a reader sees either no file or a whole one."""
        write_json(path, self.figures())


def host_fabric(
    file: FabricFile, run_dir: Path, options: SwitchOptions, *, host_ports: str = "veth"
) -> SwitchHost:
    """All switches of a fabric, each listening on unix:<run_dir>/<switch>.sock (csaud_runs.names).

    Ports to hosts are network interfaces (`<switch>-eth<port>`), or with host_ports="memory" edges inside the
    process, as a test wants them. HostingError or FabricFileError when something does not fit.
    """
    fabric = _core.Fabric(seed=options.seed)
    host = SwitchHost(
        fabric,
        taps=TapServer(fabric, run_dir / SOCKET),
        links=link_control.LinkServer(fabric, run_dir / link_control.SOCKET),
    )
    for name, entry in file.switches.items():
        host.add_switch(name, entry.device_id, options, [f"unix:{run_dir}/{socket_name(name)}"])
        if entry.tls is not None:
            host.tls[name] = entry.tls
    for edge in file.edges:
        try:
            _add_edge(host, file, edge, host_ports)
        except LookupError as error:
            raise HostingError(f"{file.path}: {edge.where}: {_reason(error)}") from error
    return host


def _add_edge(host: SwitchHost, file: FabricFile, edge: EdgeEntry, host_ports: str) -> None:
    link = edge.link
    is_inner = edge.a in file.switches and edge.b in file.switches
    if is_inner and file.links_via == "memory":
        host.fabric.add_link(edge.a, edge.a_port, edge.b, edge.b_port, **dataclasses.asdict(link))
        return
    if link.delay_ns and not (host_ports == "memory" and not is_inner):
        raise FabricFileError(
            f"{file.path}: {edge.where}.delay: only links inside one process (links_via: memory) have a delay"
        )
    for name, port in ((edge.a, edge.a_port), (edge.b, edge.b_port)):
        if name not in file.switches:
            continue
        if is_inner or host_ports == "veth":
            host.add_interface(name, port, interface(name, port), link)
        else:
            host.fabric.add_memory_port(
                name, port, rate_bps=link.rate_bps, buffer_packets=link.buffer_packets
            )


def _reason(error: LookupError) -> str:
    return str(error.args[0] if error.args else error)

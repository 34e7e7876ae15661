"""From SWITCH:PORT to something that can be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.inventory import End, Fabric, interface, load_fabric
from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError
from csaud_runs.process import start_ticks
from csaud_softswitch.taps import SOCKET

from csaud_topologies.base.usage import UsageError
from csaud_topologies.capture.frames import Source
from csaud_topologies.capture.interface import InterfaceSource
from csaud_topologies.capture.pcapng import Interface
from csaud_topologies.capture.tap import TapSource


@dataclass(frozen=True)
class Place:
    """One port of a running fabric."""

    run: RunDir
    fabric: Fabric
    end: End

    @property
    def interface(self) -> Interface:
        """As a capture file describes it."""
        peer = self.fabric.peers[self.end.node][self.end.port]
        return Interface(
            interface(*self.end),
            description=f"{self.end} of {self.fabric.name}, to {peer}",
            speed_bps=self.fabric.link_of(self.fabric.edge_at[self.end]).rate,
        )

    def open(self, snaplen: int = 0) -> Source:
        """RunError when it cannot be looked at. The embedded switch shows its ports itself, whether they are
        interfaces or memory; those of another target are interfaces.
        """
        tap = self.run.path / SOCKET
        if tap.exists():
            return TapSource(tap, self.end.node, self.end.port, snaplen)
        return InterfaceSource(_namespace(self.run, self.end.node), interface(*self.end), snaplen)


def find_place(run: RunDir, text: str) -> Place:
    """UsageError names what is wrong with `text` and what there is instead; RunError: there is no fabric."""
    node, colon, port = text.rpartition(":")
    if not colon or not node or not port.isdecimal():
        raise UsageError(f"{text}: expected SWITCH:PORT, such as l1:3")
    try:
        fabric = load_fabric(run.fabric_file)
    except (ConfigError, OSError) as error:
        raise RunError(f"{run.path}: the fabric is not up yet: {error}") from None
    if node not in fabric.switches:
        raise UsageError(f"{node}: no such switch; there are {', '.join(fabric.switches)}")
    end = End(node, int(port))
    if end.port not in fabric.peers[node]:
        ports = ", ".join(f"{number} (to {peer.node})" for number, peer in fabric.peers[node].items())
        raise UsageError(f"{text}: {node} has no port {port}; its ports: {ports}")
    return Place(run, fabric, end)


def _namespace(run: RunDir, node: str) -> Path:
    """The network namespace of a switch, from inside the run and from outside."""
    init = run.processes().get("init")
    pids = run.node_pids()
    if init is None or node not in pids:
        raise RunError(f"{run.path}: the fabric is not up yet")
    if start_ticks(1) == init.started:  # we are inside: the run's init is ours
        return Path(f"/proc/{pids[node]}/ns/net")
    if not init.is_alive():
        raise RunError(f"{run.path}: this run has ended")
    return Path(f"/proc/{init.pid}/root/proc/{pids[node]}/ns/net")

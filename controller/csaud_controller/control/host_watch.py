"""Links to hosts, watched: events, damped where a link flaps. No table depends on them: there is no other way
to a host, and its switch's group notices by itself that the port is down."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from csaud_controller.control.announcing import announcements, is_due
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.host_ports import HostPorts
from csaud_controller.links.monitor import Change
from csaud_controller.paths.live import LiveView
from csaud_controller.switches.task import SwitchTask


class HostWatch:
    """Of one controller, which it tells of what has changed."""

    def __init__(self, fabric: Fabric, tell: Callable[[list[Change]], None]) -> None:
        self._fabric, self._tell = fabric, tell
        self._ports, self._health = HostPorts(fabric), LinkHealth(fabric)
        self._to_hosts = announcements(fabric, fabric.switches)

    def follow(self, fabric: Fabric, damped: DampingSettings | None) -> None:
        """What the fabric is from now on, and how links are damped."""
        self._health.damping.settings = damped
        if fabric is not self._fabric:
            self._fabric, self._ports = fabric, self._ports.rewired(fabric)
            self._health.follow(fabric)
            self._to_hosts = announcements(fabric, fabric.switches)

    def round(
        self, round_: int, interval_s: float, tasks: Mapping[str, SwitchTask], closed: Collection[End]
    ) -> None:
        """A round of link probes, which are `interval_s` apart; once a second hosts are looked after, but for
        those behind `closed` ports."""
        if not is_due(round_, interval_s):
            return
        self._say(self._health.settle(LiveView(self._ports.down), time.monotonic_ns()))
        for name, shots in self._to_hosts.items():
            tasks[name].send_shots(shots)
        ready = {name for name, task in tasks.items() if task.status.primary}
        for name, ports in self._ports.round(ready, closed).items():
            tasks[name].count_packets(ports)

    def counted(self, at: End, packets: int, task: SwitchTask) -> None:
        """So many packets have come in at a port of this task's switch."""
        if at in self._ports:
            found = self._ports.counted(at, packets)
            if found.request is not None:
                task.send_shots([found.request])
            self.found(found.changes)

    def found(self, changes: list[Change]) -> None:
        """Links to hosts have gone or come back."""
        self._say(self._health.take(changes, time.monotonic_ns()))

    def lost(self, name: str) -> None:
        """The session with a switch has ended."""
        self._ports.switch_lost(name)

    def links(self) -> list[dict[str, Any]]:
        """All of them, as JSON values; `up` is None where it is not known whether the host is there;
        `answered`: so many requests, whose answers switches discard and count as `answer`."""
        now = time.monotonic_ns()
        return [
            {
                "host": self._fabric.peers[at.node][at.port].node,
                "at": str(at),
                **state,
                **self._health.describe(self._fabric.edge_at[at], now, at),
            }
            for at, state in self._ports.state().items()
        ]

    def _say(self, changes: list[Change]) -> None:
        if changes:
            self._tell(changes)

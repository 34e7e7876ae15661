"""Links, watched: probes go round between switches, and what they say of links is judged, damped and told;
those to hosts are looked after in the same rounds."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from csaud_controller.control.host_watch import HostWatch
from csaud_controller.control.probe_times import ProbeTimes
from csaud_controller.control.sessions import Tasks
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.damping import DampingSettings
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.monitor import Change, LinkMonitor
from csaud_controller.links.probes import Probe
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.drains import Drains


class LinkWatch:
    """Of one controller: `tell` is called with what has changed, `tasks` are those of its switches by now.

    `interval_s` is from one round of probes to the next. 0: none is sent, and all links are taken to be up;
    else those in `dead_links`, by their `a` ends, are down until probes pass.
    """

    def __init__(
        self,
        fabric: Fabric,
        tasks: Callable[[], Tasks],
        tell: Callable[[list[Change]], None],
        *,
        interval_s: float,
        damped: DampingSettings | None,
        dead_links: Iterable[End],
    ) -> None:
        self._fabric, self._tasks, self._tell = fabric, tasks, tell
        self.interval_s = interval_s
        self.round = self._rewired_in = 0
        self._instance = secrets.randbits(32)
        self._monitor = LinkMonitor(fabric, stall_ns=round(3.5e9 * interval_s))
        self._monitor.start(time.monotonic_ns(), dead_links if interval_s else ())
        self.health = LinkHealth(fabric)
        self.hosts = HostWatch(fabric, tell)
        self.probe_times = ProbeTimes()
        self.examined: frozenset[End] = frozenset()
        """Links whose addresses switches shall know."""
        self.damp(damped)

    def damp(self, settings: DampingSettings | None) -> None:
        """How links are damped from now on."""
        self.health.damping.settings = settings
        self.hosts.follow(self._fabric, settings)

    def follow(self, fabric: Fabric, damped: DampingSettings | None) -> None:
        """What the fabric is from now on."""
        self._fabric, self._monitor = fabric, self._monitor_of(fabric)
        self.health.follow(fabric)
        self.hosts.follow(fabric, damped)
        self._rewired_in = self.round

    def seen(self, fabric: Fabric, drains: Drains) -> LiveView:
        """What can carry packets, were it in this fabric and with these drains."""
        live = drains.seen_in(fabric, self.health.seen_in(fabric, self._monitor_of(fabric).live()))
        examined = frozenset(link for link in self.examined if link in fabric.edge_at)
        return replace(live, examined=examined) if examined else live

    def _monitor_of(self, fabric: Fabric) -> LinkMonitor:
        if fabric is self._fabric:
            return self._monitor
        return self._monitor.rewired(fabric, time.monotonic_ns(), bool(self.interval_s))

    @property
    def dead_links(self) -> tuple[End, ...]:
        """By their `a` ends: what the next controller has to know."""
        live = self._monitor.live()
        return tuple(sorted(live.dead_links | live.doubted))

    @property
    def miswired(self) -> dict[str, str]:
        """Ports, and those that their probes really come from."""
        return {str(at): str(origin) for at, origin in self._monitor.miswired.items()}

    def links(self, live: LiveView, drains: Drains) -> list[dict[str, Any]]:
        """Those between switches, in the fabric's order, as JSON values: whether they are up, and why they
        are not used where they are not. `live`: what tables are made of."""
        seen, now = self._monitor.live(), time.monotonic_ns()
        drained = drains.why_out(self._fabric)
        return [
            {
                "a": str(edge.ends[0]),
                "b": str(edge.ends[1]),
                "up": seen.carries(edge),
                "drained": edge.ends[0] in live.drained,
                "doubted": edge.ends[0] in live.doubted,
                "closed": edge.ends[0] in live.closed,
                "out": [
                    *self.health.why_out(edge, seen, now),
                    *drained.get(edge.ends[0], ()),
                ],
                **self.health.describe(edge, now),
            }
            for edge in self._fabric.switch_edges()
        ]

    async def probe(self, live: Callable[[], LiveView]) -> None:
        """Rounds of probes, for ever; hosts behind ports that are closed in `live` are left alone."""
        probed = None
        while True:
            await asyncio.sleep(self.interval_s)
            tasks = self._tasks()
            if probed is not self._fabric:
                probed = self._fabric
                ends = {name: [End(name, port) for port in probed.uplinks(name)] for name in tasks}
            self._found(self._monitor.judge(time.monotonic_ns()))
            self._say(self.health.settle(self._monitor.live(), time.monotonic_ns()))
            self.round += 1
            self._monitor.round_begins(self.round)
            trials = self._monitor.trials(time.monotonic_ns())
            for name in filter(ends.get, tasks):
                probes = [Probe(end, self._instance, self.round) for end in ends[name]]
                tasks[name].send_probes(probes, trials.shots.get(name, ()))
            self.hosts.round(self.round, self.interval_s, tasks, live().closed)
            for name, ports in trials.readings.items():
                tasks[name].count_packets(ports)

    def received(self, at: End, probe: Probe) -> None:
        """A probe came in at a port."""
        if probe.instance == self._instance and probe.round > self._rewired_in:
            self.probe_times.came(probe, time.monotonic_ns())
            self._found(self._monitor.received(at, probe.origin, probe.round))

    def sent(self, name: str, round_: int) -> None:
        """A switch has sent its probes of a round."""
        if name in self._tasks():
            self._monitor.sent(name, round_)
            self.probe_times.sent(name, round_, time.monotonic_ns())

    def counted(self, at: End, packets: int) -> None:
        """So many packets have come in at a port by now."""
        if at.port in self._fabric.peers.get(at.node, ()):  # else it has left the fabric
            self._found(self._monitor.counted(at, packets))
            self.hosts.counted(at, packets, self._tasks()[at.node])

    def ready(self, name: str) -> None:
        """A switch's tables are in place after a session was opened."""
        self._found(self._monitor.switch_ready(name, self.round))

    def lost(self, name: str) -> None:
        """The session with a switch has ended."""
        if name in self._tasks():  # else it has left the fabric
            self._monitor.switch_lost(name, time.monotonic_ns())
            self.hosts.lost(name)

    def unheard(self, name: str) -> None:
        """Another controller is primary at a switch."""
        self._monitor.switch_unheard(name)

    def _found(self, changes: list[Change]) -> None:
        """The link monitor has found something: all is looked at anew, be it that nothing is to be told."""
        if changes:
            self._tell(self.health.take(changes, time.monotonic_ns()))

    def _say(self, changes: list[Change]) -> None:
        if changes:
            self._tell(changes)

"""Examines links with packets of its own, when hosts complain, when links are grey, and when a user asks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from csaud_controller.control.slow_links import SlowLinks
from csaud_controller.inventory import End, Fabric
from csaud_controller.links.examination import Counts, Measured, address, frames, measured, worse
from csaud_controller.links.grey import (
    Complaints,
    GreySettings,
    fitting,
    suspicious,
    to_restore,
    to_take,
)
from csaud_controller.links.health import LinkHealth
from csaud_controller.links.holds import Holds
from csaud_controller.links.monitor import Change, link_name
from csaud_controller.links.trials import Shot
from csaud_controller.paths.host_reports import PathReport
from csaud_controller.paths.live import LiveView
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.switches.errors import CountersError, TlsError
from csaud_controller.switches.route_counts import read_route_counts
from csaud_controller.switches.task import SwitchTask
from csaud_controller.targets import Target
from csaud_controller.targets.assigned import Assigned, programs

LOG = logging.getLogger("csaud.controller")

_BURST, _PAUSE_S = 20, 0.02
"""Packets over a link at a time, and between two bursts."""
_FIRST_LOOK = 60
"""Packets over every link, before those that lose some get a longer look."""
_QUIET_S, _PATIENCE_S = 0.2, 5.0
"""All has come when nothing has for so long; it is not waited for longer."""
_TICK_S = 0.5
_REMEMBERED_NS = 5_000_000_000
"""So long, and between two examinations, a complaint holds."""

Directions = dict[End, Measured]
"""By the end that a direction of a link begins at."""


class Examined(Protocol):
    """What is asked of the controller of a fabric."""

    fabric: Fabric
    artifacts: Artifacts
    target: Target
    tasks: dict[str, SwitchTask]

    @property
    def live(self) -> LiveView:
        """What can carry packets at present."""

    def set_examined(self, links: frozenset[End]) -> int:
        """Have switches know the addresses of these links; returns the generation to wait for."""

    async def wait_until(self, reached: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until `reached()`; False if it never is."""

    def tell(self, changes: list[Change]) -> None:
        """Links that are used no more, or again."""


class Examiner:
    """Of one controller. `settings` tells how grey links are found; None: they are not looked for."""

    def __init__(
        self, controller: Examined, health: LinkHealth, settings: Callable[[], GreySettings | None]
    ) -> None:
        self._controller, self._health, self._settings = controller, health, settings
        self._complaints = Complaints()
        self._slow = SlowLinks(controller)
        self._holds: Holds[End] = Holds()
        self._one_at_a_time = asyncio.Lock()
        self._number = 0

    def heard(self, report: PathReport) -> None:
        """A rank has told of its paths."""
        settings, name = self._settings(), self._controller.fabric.host_at.get(report.host)
        if settings is not None and name is not None:
            self._complaints.take(settings, name, report.rank, report.tx, report.lost, time.monotonic_ns())

    async def watch(self) -> None:
        """Look for grey links, for ever."""
        last = time.monotonic()
        while True:
            settings = self._settings()
            every_s = (settings or GreySettings()).every / 1e9
            if (left := last + every_s - time.monotonic()) > 0:
                await asyncio.sleep(min(left, _TICK_S))  # settings may change meanwhile
                continue
            last = time.monotonic()
            try:
                if settings is None:
                    self._restore([*self._health.grey], "grey links are not looked for any more")
                    self._holds.forget()
                else:
                    await self._look(settings)
            except (CountersError, TlsError, ValueError, KeyError) as error:  # KeyError: the fabric changed
                LOG.warning("links could not be examined: %s", error)

    async def _look(self, settings: GreySettings) -> None:
        now = time.monotonic_ns()
        if grey := [link for link in self._health.grey if not self._holds.waits(link, now)]:
            found = _of_links(self._controller.fabric, await self.examine(grey, settings.packets))
            self._restore(to_restore(settings, found), "packets pass again")
        now = time.monotonic_ns()
        hosts = self._complaints.hosts(now, settings.every + _REMEMBERED_NS)
        if len(hosts) >= settings.hosts:
            self._complaints.forget()
            await self._find(settings, sorted(hosts))

    async def _find(self, settings: GreySettings, hosts: list[str]) -> None:
        fabric, live = self._controller.fabric, self._controller.live
        links = [
            e.ends[0] for e in fabric.switch_edges() if live.carries(e) and e.ends[0] not in live.doubted
        ]
        found = _of_links(fabric, await self.examine(links, min(_FIRST_LOOK, settings.packets)))
        if longer := suspicious(settings, found):
            again = _of_links(fabric, await self.examine(longer, settings.packets))
            found |= again
        slow = await self._slow.find(settings, links, time.monotonic_ns())
        if self._controller.fabric is not fabric:
            return  # links that were examined may be no more
        room = (
            {link: (fabric.edge_at[link].a, fabric.edge_at[link].b) for link in fabric.edge_at},
            {name: len(fabric.uplinks(name)) for name in fabric.switches},
            len(fabric.switch_edges()),
        )
        lossy = to_take(settings, found, [*self._health.grey], *room)
        reasons = {
            link: f"loses {each.loss:.1%} of packets ({each.lost} of {each.came})"
            for link, each in found.items()
            if link in lossy
        }
        others = [link for link in slow if link not in lossy]
        for link in fitting(settings, others, [*self._health.grey, *lossy], *room):
            reasons[link] = slow[link]
        self._take_out(settings, reasons, hosts)

    def _take_out(self, settings: GreySettings, reasons: Mapping[End, str], hosts: list[str]) -> None:
        fabric, told = self._controller.fabric, []
        said = f"as {', '.join(hosts[:4])}{f' and {len(hosts) - 4} more' if len(hosts) > 4 else ''} complain"
        for link, reason in reasons.items():
            pause = self._holds.take(link, time.monotonic_ns(), settings.every)
            again = f"; used again in {pause / 1e9:.1f} s at the earliest" if pause > settings.every else ""
            self._health.grey[link] = why = f"{reason}, {said}{again}"
            told.append(Change(link_name(fabric.edge_at[link]), False, f"grey: it {why}"))
        self._controller.tell(told)

    def _restore(self, links: list[End], why: str) -> None:
        fabric, told = self._controller.fabric, []
        for link in links:
            self._health.grey.pop(link, None)
            self._holds.use(link, time.monotonic_ns())
            if link not in fabric.edge_at:  # it has left the fabric meanwhile
                continue
            told.append(Change(link_name(fabric.edge_at[link]), True, f"no longer grey: {why}"))
        self._controller.tell(told)

    async def examine(self, links: Collection[End], packets: int) -> Directions:
        """Send so many packets over each direction of these links; what was found, where both switches of a
        link could be asked. CountersError: a switch does not answer."""
        async with self._one_at_a_time:
            controller = self._controller
            edges = [controller.fabric.edge_at[link] for link in links if link in controller.fabric.edge_at]
            ends = [
                end
                for edge in edges
                for end in edge.ends
                if all(controller.tasks[e.node].status.primary for e in edge.ends)
            ]
            if not ends:
                return {}
            names = {end.node for end in ends}
            generation = controller.set_examined(frozenset(edge.ends[0] for edge in edges))
            try:
                ready = await controller.wait_until(
                    lambda: all(controller.tasks[name].status.applied >= generation for name in names),
                    _PATIENCE_S,
                )
                return await self._send(ends, packets) if ready else {}
            finally:
                controller.set_examined(frozenset())

    async def _send(self, ends: list[End], packets: int) -> Directions:
        fabric = self._controller.fabric
        before = await self._count(ends)
        for done in range(0, packets, _BURST):
            count = min(_BURST, packets - done)
            for end in ends:
                behind = fabric.peers[end.node][end.port]
                shots = [Shot(behind, frame) for frame in frames(fabric, end, self._number, count)]
                self._controller.tasks[behind.node].send_shots(shots)
            self._number += count
            await asyncio.sleep(_PAUSE_S)
        deadline = time.monotonic() + _PATIENCE_S
        after = await self._count(ends)
        while time.monotonic() < deadline:
            await asyncio.sleep(_QUIET_S)
            last, after = after, await self._count(ends)
            if after == last and self._all_came(ends, packets, before, after):
                break
        return {end: measured(fabric, end, before, after) for end in ends}

    def _all_came(self, ends: list[End], packets: int, before: Counts, after: Counts) -> bool:
        return all(measured(self._controller.fabric, end, before, after).came >= packets / 2 for end in ends)

    async def _count(self, ends: list[End]) -> Counts:
        controller, wanted = self._controller, dict[str, set[int]]()
        for end in ends:
            for node in (end.node, controller.fabric.peers[end.node][end.port].node):
                wanted.setdefault(node, set()).add(address(controller.fabric, end))
        of = programs(controller.fabric, Assigned(controller.target, controller.artifacts))
        return await asyncio.to_thread(read_route_counts, controller.fabric, of, wanted)


def _of_links(fabric: Fabric, found: Mapping[End, Measured]) -> dict[End, Measured]:
    """The worse direction of each link, by its `a` end."""
    links: dict[End, Measured] = {}
    for end, each in found.items():
        link = fabric.edge_at[end].ends[0]
        links[link] = worse(links[link], each) if link in links else each
    return links

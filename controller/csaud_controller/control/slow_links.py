"""Finds slow links by what their switches count."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from csaud_controller.inventory import End, Fabric
from csaud_controller.links.grey import GreySettings
from csaud_controller.links.slow import Carried, alike, slow
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.switches.counters import SwitchCounters, Unit, read_counters
from csaud_controller.switches.errors import CountersError
from csaud_controller.targets import Target
from csaud_controller.targets.assigned import Assigned, programs

LOG = logging.getLogger("csaud.controller")

_SENT, _PRESSED = "egress_kind", ("trimmed", "bounced", "congestion_dropped", "marked")
_WINDOW = 3
"""Two looks one after the other are no further apart than so many times what is between two."""


class Counting(Protocol):
    """What is asked of the controller of a fabric."""

    fabric: Fabric
    artifacts: Artifacts
    target: Target


class SlowLinks:
    """Of one controller; links are known by their `a` ends."""

    def __init__(self, controller: Counting) -> None:
        self._controller = controller
        self._last: tuple[int, dict[End, Carried]] = (0, {})
        """When ports were read for the last time, and what they had carried."""

    async def find(self, settings: GreySettings, links: Collection[End], now: int) -> dict[End, str]:
        """Of these links those that are slow by what their ports have carried since the look before, the
        worst first, and what was seen of each. A first look, or one that comes late, finds nothing."""
        if not settings.pressure:
            return {}
        (then, before), after = self._last, await self._read(links)
        self._last = now, after
        if now - then > _WINDOW * settings.every:
            return {}
        fabric = self._controller.fabric
        between = {end: each.since(before[end]) for end, each in after.items() if end in before}
        rates = {end: fabric.capacity_at[end.node][end.port] for end in between}
        seen: dict[End, str] = {}
        directions = slow(settings.pressure, alike(fabric, links), between, rates)
        for end, (mine, usual) in sorted(directions.items(), key=lambda each: -each[1][0]):
            what = f"is slow: {end} has no room for {mine:.1%} of DATA or marks it, its like {usual:.1%}"
            seen.setdefault(fabric.edge_at[end].ends[0], what)
        return seen

    async def _read(self, links: Collection[End]) -> dict[End, Carried]:
        """What both ports of each link have carried so far; nothing where a switch does not tell."""
        fabric = self._controller.fabric
        ends = [end for link in links for end in fabric.edge_at[link].ends]
        if not ends:
            return {}
        of = programs(fabric, Assigned(self._controller.target, self._controller.artifacts))
        names = sorted({end.node for end in ends})

        def count(unit: Unit, *counters: str) -> dict[str, SwitchCounters]:
            return read_counters(fabric, of, switches=names, counters=counters, unit=unit)

        try:
            read, in_bytes = await asyncio.to_thread(
                lambda: (count("packets", _SENT, *_PRESSED), count("bytes", _SENT))
            )
        except CountersError as error:
            LOG.warning("slow links cannot be looked for: %s", error)
            return {}
        return {
            end: Carried(
                sum(in_bytes[end.node][_SENT][end.port].values()),
                read[end.node][_SENT][end.port]["data"],
                sum(_data(read[end.node][name][end.port]) for name in _PRESSED if name in read[end.node]),
            )
            for end in ends
        }


def _data(cells: Mapping[str, int] | Sequence[int]) -> int:
    """Of a port, by kind of packet, or of DATA alone by path."""
    return cells["data"] if isinstance(cells, Mapping) else sum(cells)

"""Slow links: those whose ports find no room for DATA, or mark it, while others of their kind carry as much
without. No I/O: counts are passed in.

Links are alike that join one switch to the next tier: spraying shares traffic out among them. What a port
carries tells a slow link from one that is given more than others, and their median tells one slow link from
congestion, which all have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from csaud_controller.inventory import End, Fabric

_LEAST_PRESSED = 16
"""Packets in a window that say something."""
_OUTLIER = 3
"""A slow link presses so many times as much as the middle one of the others."""
_NO_MORE = 1.1
"""It carries at most so many times what the middle one of the others does, for its rate."""


@dataclass(frozen=True)
class Carried:
    """By a port, in a window."""

    bytes_: int
    """Of whole frames of all kinds."""
    data: int
    """DATA packets that left it."""
    pressed: int
    """DATA for which its queue had no room (trimmed, bounced, dropped), or that left with a mark of its."""

    @property
    def pressure(self) -> float:
        """Of all DATA that was to leave, the share that was pressed; at most 1."""
        return min(1.0, self.pressed / max(1, self.data))

    def since(self, before: Carried) -> Carried:
        """What was carried between two readings."""
        return Carried(self.bytes_ - before.bytes_, self.data - before.data, self.pressed - before.pressed)


def alike(fabric: Fabric, used: Collection[End]) -> list[list[End]]:
    """Directions of links that traffic is shared out among: those out of each switch to the next tier, and
    those back into it; of links whose `a` end is in `used`."""
    groups, tier = [], _tiers(fabric)
    for switch in fabric.switches:
        ports = {End(switch, port): fabric.peers[switch][port] for port in fabric.uplinks(switch)}
        out = [
            end
            for end, peer in ports.items()
            if tier.get(peer.node, 0) > tier.get(switch, 0) and fabric.edge_at[end].ends[0] in used
        ]
        groups += [out, [ports[end] for end in out]]
    return [group for group in groups if len(group) > 1]


def _tiers(fabric: Fabric) -> dict[str, int]:
    """How many switches each is away from one with hosts."""
    tiers: dict[str, int] = {}
    reached = {name for name in fabric.switches if fabric.host_ports(name)}
    while reached:
        tiers |= dict.fromkeys(reached, max(tiers.values(), default=-1) + 1)
        next_ = {fabric.peers[name][port].node for name in reached for port in fabric.uplinks(name)}
        reached = next_ - tiers.keys()
    return tiers


def slow(
    pressure: float, groups: Sequence[Sequence[End]], carried: Mapping[End, Carried], rates: Mapping[End, int]
) -> dict[End, tuple[float, float]]:
    """Directions that are slow: their pressure, and the median of the others'. Those that are not in
    `carried` say nothing. `pressure`: the least that is too much; `rates`: what links should carry, bit/s."""
    found = {}
    for group in groups:
        counted = [end for end in group if end in carried]
        for end in counted:
            others = [other for other in counted if other != end]
            mine = carried[end]
            if not others or mine.pressed < _LEAST_PRESSED or mine.pressure < pressure:
                continue
            usual = median(carried[other].pressure for other in others)
            load = median(carried[other].bytes_ / rates[other] for other in others)
            if mine.pressure >= _OUTLIER * usual and mine.bytes_ / rates[end] <= _NO_MORE * load:
                found[end] = mine.pressure, usual
    return found

"""Grey failures: links that live, but lose packets. Hosts complain, links are examined, and those that lose
are left out until they lose no more. (Those that are slow: `slow`.) No clock and no I/O: `now` is passed in,
in nanoseconds.

What hosts say only has links examined, and only where several agree: a host that lies takes nothing out. A
link is judged by its own packets (`examination`), beside those of all others: where all lose alike, it is not
the links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.units import Duration, between
from csaud_controller.links.examination import Measured

Link = TypeVar("Link")

_COMPLAINT = 4
"""A host complains of this part of the loss that takes a link out: packets of one path take several links."""
_LEAST_SENT, _LEAST_LOST = 50, 3
"""DATA copies of a path in a window that say something, and losses among them."""
_OUTLIER = 3
"""A grey link loses so many times as much as the middle one."""
_BETTER = 4
"""A link is used again when it loses this part of what took it out."""


class GreySettings(BaseModel):
    """When a link is examined, left out and used again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: float = Field(default=0.02, gt=0, lt=1, description="share of packets lost that takes a link out")
    hosts: int = Field(default=3, ge=1, le=65536, description="that complain before links are examined")
    share: float = Field(default=0.25, gt=0, le=0.5, description="of the links, taken out at most")
    pressure: float = Field(
        default=0.005,
        ge=0,
        lt=1,
        description="share of DATA without room, or marked, that makes a link slow; 0: nothing does",
    )
    packets: int = Field(default=200, ge=20, le=10_000, description="sent over a link to examine it")
    every: Annotated[Duration, between(100_000_000, 86_400_000_000_000)] = Field(
        default=10_000_000_000, description="between two examinations"
    )


@dataclass
class _Host:
    tx: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    complained: int | None = None
    """When it last had reason to."""


class Complaints:
    """Which hosts lose DATA on some path, by what each rank says it has sent and sent again by now."""

    def __init__(self) -> None:
        self._ranks: dict[tuple[str, int], _Host] = {}

    def take(
        self, settings: GreySettings, host: str, rank: int, tx: Sequence[int], lost: Sequence[int], now: int
    ) -> None:
        """A report; counts by path. What went before is not counted again."""
        known = self._ranks.setdefault((host, rank), _Host())
        if len(tx) < len(known.tx):  # nothing is kept of what it does not tell of any more
            known.tx, known.lost = (), ()
        paths = list(zip(tx, lost, strict=False))
        before = list(zip(known.tx, known.lost, strict=False))
        before += [(0, 0)] * (len(paths) - len(before))
        if any(now_ < then for (now_, _), (then, _) in zip(paths, before, strict=False)):
            before = [(0, 0)] * len(paths)  # another job
        fresh = [(t - bt, lo - bl) for (t, lo), (bt, bl) in zip(paths, before, strict=False)]
        if sum(sent for sent, _ in fresh) < _LEAST_SENT:
            return
        known.tx, known.lost = tuple(tx), tuple(lost)
        shares = [gone / sent for sent, gone in fresh if sent >= _LEAST_SENT and gone >= _LEAST_LOST]
        sent, gone = sum(t for t, _ in fresh), sum(g for _, g in fresh)
        if gone >= _LEAST_LOST:
            shares.append(gone / sent)
        if max(shares, default=0.0) >= settings.loss / _COMPLAINT:
            known.complained = now

    def hosts(self, now: int, within: int) -> set[str]:
        """Those that had reason to complain within so many nanoseconds; each once, whatever its ranks."""
        return {
            host
            for (host, _), known in self._ranks.items()
            if known.complained is not None and now - known.complained <= within
        }

    def forget(self) -> None:
        """What was complained of has been dealt with."""
        for known in self._ranks.values():
            known.complained = None


def suspicious(settings: GreySettings, found: Mapping[Link, Measured]) -> list[Link]:
    """Links that are worth a longer look."""
    return [link for link, each in found.items() if each.loss >= settings.loss / 2 and each.lost > 1]


def to_take(
    settings: GreySettings,
    found: Mapping[Link, Measured],
    grey: Sequence[Link],
    ends: Mapping[Link, Sequence[str]],
    links_of: Mapping[str, int],
    total: int,
) -> list[Link]:
    """Links that lose so much that they are to be left out, the worst first; other arguments as of
    `fitting`."""
    middle = median([each.loss for each in found.values()] or [0.0])
    bad = [
        link
        for link, each in found.items()
        if each.loss >= settings.loss and each.loss >= _OUTLIER * middle and each.lost >= _LEAST_LOST
    ]
    worst_first = sorted(bad, key=lambda each: -found[each].loss)
    return fitting(settings, worst_first, grey, ends, links_of, total)


def fitting(
    settings: GreySettings,
    worst_first: Sequence[Link],
    grey: Sequence[Link],
    ends: Mapping[Link, Sequence[str]],
    links_of: Mapping[str, int],
    total: int,
) -> list[Link]:
    """Those of these links that may be left out. `grey`: what is already; `ends`: the switches of each link;
    `links_of`: how many links a switch has; `total`: of the fabric. Never more than `settings.share` of all,
    nor, but for one, of those of a switch."""
    taken = list(grey)
    for link in worst_first:
        of_switch = {
            switch: sum(switch in ends[other] for other in taken if other in ends) for switch in ends[link]
        }
        room = all(
            count + 1 <= max(1, int(links_of[switch] * settings.share)) and count + 1 < links_of[switch]
            for switch, count in of_switch.items()
        )
        if link not in taken and room and len(taken) + 1 <= max(1, int(total * settings.share)):
            taken.append(link)
    return taken[len(grey) :]


def to_restore(settings: GreySettings, found: Mapping[Link, Measured]) -> list[Link]:
    """Of grey links that were examined: those that lose no more than is usual."""
    return [
        link
        for link, each in found.items()
        if each.came >= settings.packets // 2 and each.loss <= settings.loss / _BETTER
    ]

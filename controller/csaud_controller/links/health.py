"""What becomes of links that were found up, down or lossy: which of them are used, why the others are not,
and what of it is told. No clock and no I/O: `now` is passed in, in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from csaud_controller.inventory import Edge, End, Fabric
from csaud_controller.links.damping import Damping
from csaud_controller.links.monitor import Change, link_name
from csaud_controller.paths.live import LiveView


class LinkHealth:
    """Stands between the link monitor and the tables: a link that flaps does not move them."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.damping: Damping[End] = Damping()
        self.grey: dict[End, str] = {}
        """Links that lose packets, by their `a` end, and what was seen of it."""

    def follow(self, fabric: Fabric) -> None:
        """Another fabric: what is known of links that both have stays."""
        self._fabric = fabric
        self.damping.keep(lambda link: link in fabric.edge_at)
        self.grey = {link: why for link, why in self.grey.items() if link in fabric.edge_at}

    def take(self, changes: Iterable[Change], now: int) -> list[Change]:
        """What the monitor found; returns what is to be told. A link that is suppressed is told of when that
        begins and when it ends, whatever it does meanwhile."""
        told: list[Change] = []
        for change in changes:
            link = change.link
            if link is None:
                told.append(change)
            elif change.up:
                if not self.damping.is_suppressed(link):
                    told.append(change)
            elif self.damping.failed(link, now):
                told.append(replace(change, why=f"{change.why}; {self._why_damped(link, now)}"))
            elif not self.damping.is_suppressed(link):
                told.append(change)
        return told

    def settle(self, seen: LiveView, now: int) -> list[Change]:
        """Links that have been quiet for long enough, told of as the monitor sees them; to be asked for now
        and then."""
        told = []
        for link, penalty in self.damping.settle(now):
            waited = (now - (penalty.suppressed_since or now)) / 1e9
            why = f"after {waited:.0f} s of damping; it failed {_times(penalty.failures)}"
            up = link not in seen.dead_links
            why = f"used again {why}" if up else f"still down {why}"
            told.append(Change(link_name(self._fabric.edge_at[link]), up, why, link))
        return told

    def seen_in(self, fabric: Fabric, seen: LiveView) -> LiveView:
        """What can carry packets, where the monitor sees this. A suppressed link is the same to everybody,
        whether it is up or not."""
        suppressed = frozenset(link for link in self.damping.suppressed if link in fabric.edge_at)
        doubted = suppressed | {link for link in self.grey if link in fabric.edge_at}
        if not doubted:
            return seen
        return replace(seen, dead_links=seen.dead_links - suppressed, doubted=doubted | seen.doubted)

    def why_out(self, edge: Edge, seen: LiveView, now: int) -> list[str]:
        """Why a link is not used, as far as it is known here; none: nothing speaks against it."""
        link, found = edge.ends[0], []
        dead = [name for name in (edge.a, edge.b) if name in seen.dead_switches]
        if dead:
            found.append(f"failed: {' and '.join(dead)} forwards nothing")
        elif link in seen.dead_links:
            found.append("failed: no probe passes")
        elif link in seen.doubted:
            found.append("new: no probe has passed yet")
        if self.damping.is_suppressed(link):
            penalty, wait = self.damping.penalty(link, now), self.damping.reused_in(link, now) / 1e9
            found.append(f"damped: penalty {penalty:,.0f}, used again in {wait:.0f} s")
        if link in self.grey:
            found.append(f"grey: {self.grey[link]}")
        return found

    def _why_damped(self, link: End, now: int) -> str:
        wait = self.damping.reused_in(link, now) / 1e9
        times = _times(self.damping.failures(link))
        return f"damped: it failed {times}, and is used again when it was quiet for {wait:.0f} s"

    def describe(self, edge: Edge, now: int, link: End | None = None) -> dict[str, float | int | bool]:
        """Of one link, for people; `link`: by which of its ends it is known, if not by `a`."""
        link, damping = link or edge.ends[0], self.damping
        return {
            "penalty": round(damping.penalty(link, now), 1),
            "failures": damping.failures(link),
            "damped": damping.is_suppressed(link),
            "reused_in_s": round(damping.reused_in(link, now) / 1e9, 1),
        }


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"

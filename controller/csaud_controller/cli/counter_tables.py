"""A reading of the switches' counters as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from csaud_controller.cli.fitting import Fitted
from csaud_controller.inventory import Fabric
from csaud_controller.program.packets import KINDS
from csaud_controller.switches.counters import BY_PORT, DISCARDED, HELD_BACK, PATH_BUCKETS, REFUSED, SAI_NAMES

_TAKEN = {
    "injected": "lost by\nfault#",
    "trimmed": "\ntrimmed#",
    "bounced": "\nbounced#",
    "congestion_dropped": "\ndropped#",
}
"""What a port does to packets, by counter, and how it is called here."""
_BUCKETS_TOGETHER = 4
_BY_PATH = {
    "path_tx": "sent",
    "marked": "ECN",
    "path_trimmed": "trimmed",
    "path_bounced": "bounced",
    "path_injected": "lost by fault",
    "overflow": "overflow",
    "overflow_egress": "overflow (queue)",
}
"""Counters by path bucket, and how they are called here."""
_LACKING = "-"
"""In place of what the program of a switch does not count."""
_NOTHING = ("0", _LACKING)
_SAI = "\n".join(f"{name.replace('_', ' ')}: {sai}" for name, sai in SAI_NAMES.items() if name in BY_PORT)
"""What the Switch Abstraction Interface calls them."""


@dataclass(frozen=True)
class Shown:
    """What the user asked to see.

    Attributes:
        paths: also what happened to DATA by uplink and path bucket.
        nonzero: leave out rows in which nothing was counted.
    """

    paths: bool
    nonzero: bool


class CounterTables:
    """One reading, as a renderable; with the reading before it, rates over `interval` seconds.

    With `height` rows of terminal it shows the totals first and of the rest what still fits, and says what it
    left out.
    """

    def __init__(
        self,
        fabric: Fabric,
        reading: Mapping[str, Any],
        shown: Shown,
        *,
        before: Mapping[str, Any] | None = None,
        interval: float = 0.0,
        height: int | None = None,
    ) -> None:
        self._fabric, self._reading, self._shown = fabric, reading, shown
        self._before, self._interval, self._height = before, interval, height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._height is None:
            yield from self._parts()
            return
        room = self._height - 1  # the last row says what is left out
        for number, part in enumerate(self._parts()):
            lines = console.render_lines(part, options.update(height=None), pad=False)
            if len(lines) > room:
                if number == 0:
                    yield _Lines(lines[:room])
                yield Text("no room for all: name switches, --nonzero, or a taller terminal", "dim")
                return
            room -= len(lines)
            yield part

    def _parts(self) -> Iterator[RenderableType]:
        yield self._by_switch()
        yield self._by_port()
        if (signals := self._signals()) is not None:
            yield signals
            yield Text(_SAI, "dim")
        if (stopped := self._stopped()) is not None:
            yield stopped
        if self._shown.paths:
            yield self._by_path()

    def _by_switch(self) -> RenderableType:
        groups = [
            ["packets\nin#", "\nout#"] + (["in\n/s#", "out\n/s#"] if self._before else []),
            list(_TAKEN.values()),
            ["no\npath#", "dis-\ncarded#", "LOSS\nmade#"],
        ]
        rows = [[name, *self._totals(name)] for name in self._reading]
        sums = [_together(column) for column in zip(*(row[1:] for row in rows), strict=True)]
        total = ["all", *sums] if len(rows) > 1 else None
        return Fitted("By switch", ["\nswitch"], groups, self._kept(rows, 1), total)

    def _totals(self, name: str) -> list[str]:
        counts = self._reading[name]
        moved = [_sum(counts[way]) for way in ("ingress_kind", "egress_kind")]
        rates = []
        if self._before:
            was = [_sum(self._before[name][way]) for way in ("ingress_kind", "egress_kind")]
            rates = [round((now - then) / self._interval) for now, then in zip(moved, was, strict=True)]
        made = _sum(counts["trim_sent"]) + _sum(counts["bounce_sent"])
        return [
            *map(str, [*moved, *rates]),
            *(_cell(counts, counter) for counter in (*_TAKEN, "no_path", "discarded")),
            str(made),
        ]

    def _by_port(self) -> RenderableType:
        groups = [[f"{way}\n{kind}#" for kind in KINDS] for way in ("in", "out")]
        groups.append([*_TAKEN.values(), *(["out\n/s#"] if self._before else [])])
        rows = []
        for name, counts in self._reading.items():
            for port, peer in self._fabric.peers[name].items():
                cells = [
                    _cell(counts, way, port, kind)
                    for way in ("ingress_kind", "egress_kind")
                    for kind in KINDS
                ]
                cells += [_cell(counts, taken, port) for taken in _TAKEN]
                if self._before:
                    sent = _sum(counts["egress_kind"][port])
                    was = _sum(self._before[name]["egress_kind"][port])
                    cells.append(str(round((sent - was) / self._interval)))
                rows.append([f"{name}:{port}", peer.node, *cells])
        return Fitted("\nPackets by port", ["\nport", "\nto"], groups, self._kept(rows, 2))

    def _signals(self) -> RenderableType | None:
        """LOSS that the switches made: by port, those that made any."""
        rows = []
        for name, counts in self._reading.items():
            for port in self._fabric.peers[name]:
                cells = [_cell(counts, column, port) for column in BY_PORT]
                if _any(cells):
                    rows.append([f"{name}:{port}", *cells])
        columns = [name.replace("_", "\n") + "#" for name in BY_PORT]
        title = "\nLOSS made here, by the port whose queue took it or had no room"
        return Fitted(title, ["\nport"], [columns], rows) if rows else None

    def _stopped(self) -> RenderableType | None:
        """Packets that went no further, by switch, those where there are any."""
        rows = []
        for name, counts in self._reading.items():
            cells = [
                *(_cell(counts, "no_path", kind) for kind in KINDS),
                *(_cell(counts, "discarded", why) for why in DISCARDED),
                *(str(sum(by[why] for by in counts["refused"].values())) for why in REFUSED),
                _cell(counts, HELD_BACK),
            ]
            if _any(cells):
                rows.append([name, *cells])
        groups = [
            [f"no path\n{kind}#" for kind in KINDS],
            [_heading(why) for why in DISCARDED],
            [*(f"refused\n{why}#" for why in REFUSED), _heading(HELD_BACK)],
        ]
        return Fitted("\nPackets that went no further", ["\nswitch"], groups, rows) if rows else None

    def _by_path(self) -> RenderableType:
        """A row for each uplink and counter that is not zero; that of DATA sent always."""
        rows = []
        for name, counts in self._reading.items():
            for port in self._fabric.uplinks(name):
                for counter, word in _BY_PATH.items():
                    if counter not in counts:
                        continue
                    cells = counts[counter][port]
                    if any(cells) or (counter == "path_tx" and not self._shown.nonzero):
                        rows.append([f"{name}:{port}", word, *map(str, cells)])
        groups = [
            [f"{bucket}#" for bucket in range(first, first + _BUCKETS_TOGETHER)]
            for first in range(0, PATH_BUCKETS, _BUCKETS_TOGETHER)
        ]
        return Fitted("\nBy uplink and path bucket", ["port", "what"], groups, rows)

    def _kept(self, rows: list[list[str]], keys: int) -> list[list[str]]:
        return [row for row in rows if not self._shown.nonzero or _any(row[keys:])]


class _Lines:
    """Lines that are rendered already."""

    def __init__(self, lines: Sequence[Sequence[Any]]) -> None:
        self._lines = lines

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        for line in self._lines:
            yield from line
            yield Segment.line()


def _sum(counted: Any) -> int:
    """Of a counter, or of a part of it."""
    if isinstance(counted, int):
        return counted
    return sum(map(_sum, counted.values() if isinstance(counted, Mapping) else counted))


def _cell(counts: Mapping[str, Any], counter: str, *part: Any) -> str:
    counted: Any = counts.get(counter)
    if counted is None:
        return _LACKING
    for key in part:
        counted = counted[key]
    return str(_sum(counted))


def _together(column: Sequence[str]) -> str:
    counted = [int(cell) for cell in column if cell != _LACKING]
    return str(sum(counted)) if counted else _LACKING


def _any(cells: Sequence[str]) -> bool:
    return any(cell not in _NOTHING for cell in cells)


def _heading(why: str) -> str:
    """Of two lines, the last one next to the numbers."""
    return (why.replace("_", "\n") if "_" in why else f"\n{why}") + "#"

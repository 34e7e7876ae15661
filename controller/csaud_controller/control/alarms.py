"""Alarms of switches: a port's queue came near its end, where packets would be lost unseen."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from csaud_controller.program.packets import KINDS, KindName

KEPT = 1000
"""Alarms that are remembered; older ones are only counted."""

_KINDS: dict[int, KindName] = {code: kind for kind, code in KINDS.items()}


@dataclass(frozen=True)
class Alarm:
    """One packet found the queue of its port at or above the alarm's threshold."""

    number: int
    """From 1, in the order in which the controller heard of them."""
    time: float
    """Seconds since the epoch, when the controller heard of it."""
    switch: str
    port: int
    kind: str
    depth: int
    """Packets that waited."""
    path_id: int
    at_us: int
    """The switch's own clock."""

    def __str__(self) -> str:
        return f"{self.switch}:{self.port}: {self.depth} packets waiting when a {self.kind} packet came"


class AlarmLog:
    """The alarms of a fabric since the controller started."""

    def __init__(self) -> None:
        self.total = 0
        self.by_port: Counter[str] = Counter()
        self._kept: deque[Alarm] = deque(maxlen=KEPT)

    def add(self, switch: str, digest: Mapping[str, Any]) -> Alarm:
        """Take one digest as the P4 program makes it."""
        self.total += 1
        kind = int(digest["kind"])
        alarm = Alarm(
            number=self.total,
            time=time.time(),
            switch=switch,
            port=int(digest["port"]),
            kind=_KINDS.get(kind, str(kind)),
            depth=int(digest["depth"]),
            path_id=int(digest["path_id"]),
            at_us=int(digest["at_us"]),
        )
        self.by_port[f"{switch}:{alarm.port}"] += 1
        self._kept.append(alarm)
        return alarm

    def since(self, number: int) -> list[dict[str, Any]]:
        """Those after this number, as JSON values."""
        return [asdict(alarm) for alarm in self._kept if alarm.number > number]

"""Updates that a switch refused, left out until it is time to try them again. No clock: `now` is passed
in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from csaud_controller.program.entities import Item
from csaud_controller.switches.backoff import Backoff
from csaud_controller.switches.reconcile import Step
from csaud_controller.switches.writing import Refused

_Key = tuple[type, Any]


@dataclass
class SetAside:
    """Those of one session."""

    _refused: dict[_Key, Refused] = field(default_factory=dict)
    _backoff: Backoff = field(default_factory=lambda: Backoff(1.0, 60.0))
    _again_at: float = 0.0
    _again: bool = False
    """It is time."""

    @property
    def refused(self) -> list[Refused]:
        """All of them, oldest first."""
        return [*self._refused.values()]

    def has(self, item: Item) -> bool:
        """Whether an update of this item was refused."""
        return _key(item) in self._refused

    def without(self, steps: Iterable[Step], now: float) -> list[Step]:
        """Steps less what was refused already, until it is tried again; what is not asked for any more is
        forgotten."""
        steps = list(steps)
        if not self._refused:
            return steps
        asked = {_key(item): (step.verb, item) for step in steps for item in step.items}
        self._refused = {
            key: each for key, each in self._refused.items() if asked.get(key) == (each.verb, each.item)
        }
        self._again = now >= self._again_at
        if self._again:
            return steps
        left = (
            Step(step.verb, tuple(item for item in step.items if _key(item) not in self._refused))
            for step in steps
        )
        return [step for step in left if step.items]

    def add(self, refused: Iterable[Refused], now: float) -> Iterator[Refused]:
        """Set these aside; returns those that are new."""
        found = {_key(each.item): each for each in refused}
        before = self._refused
        self._refused = found if self._again else {**before, **found}  # again: the others were taken
        if found:
            self._again_at = now + self._backoff.pause(0.0 if before else float("inf"))
        return iter([each for key, each in found.items() if key not in before])


def _key(item: Item) -> _Key:
    return type(item), item.key

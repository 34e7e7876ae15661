"""What users asked for over time: changes of policy, faults and drains, and when each was in force."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from csaud_controller.desired.history import Record
from csaud_controller.policy.intent import Intent

KEPT = 1000
"""Changes that are remembered."""


@dataclass
class Change:
    """A change of policy or faults."""

    number: int
    """The revision that it made: they grow in the order in which they were asked for."""
    time: float
    """Seconds since the epoch, when it was asked for."""
    in_force: float | None
    """The same, when every switch held it; None: not yet."""
    generation: int
    what: list[str]
    intent: Intent
    """All that is asked for from then on."""

    def as_json(self) -> dict[str, Any]:
        """JSON values, without the generation, which means nothing to others."""
        return {
            "number": self.number,
            "time": self.time,
            "in_force": self.in_force,
            "what": self.what,
            "intent": self.intent.model_dump(mode="json"),
        }


class Changes:
    """Those of a fabric after revision `begun`, and what of earlier controllers' is recalled."""

    def __init__(self, begun: int = 0) -> None:
        self.total = begun
        """Number of the newest."""
        self._kept: deque[Change] = deque(maxlen=KEPT)

    def recall(self, earlier: Iterable[Record], generation: int) -> None:
        """Begin with these, oldest first. When they were in force an earlier controller knew: for this one
        that is when every switch holds its first `generation`."""
        self._kept.extend(
            Change(each.revision, each.time, None, generation, each.what, each.intent) for each in earlier
        )

    def add(self, before: Intent, after: Intent, generation: int, number: int) -> Change | None:
        """Note a change; None where nothing differs."""
        what = differences(before, after)
        return self.note(what, after, generation, number) if what else None

    def note(self, what: list[str], intent: Intent, generation: int, number: int) -> Change:
        """Note what was changed, in words; `intent` is asked for from then on."""
        self.total = number
        change = Change(number, time.time(), None, generation, what, intent)
        self._kept.append(change)
        return change

    def settle(self, held: Callable[[int], bool]) -> None:
        """Some switch holds something else now: `held` tells of a generation whether all switches do."""
        for change in self._kept:
            if change.in_force is None and held(change.generation):
                change.in_force = time.time()

    def since(self, number: int) -> list[dict[str, Any]]:
        """Those after this number, as JSON values."""
        return [change.as_json() for change in self._kept if change.number > number]


def differences(before: Intent, after: Intent) -> list[str]:
    """In words, one for each key of the policy and each place of a fault: `policy.spray: random -> ecmp`."""
    old, new = (dict(_flat(intent)) for intent in (before, after))
    return [
        f"{key}: {old.get(key, 'none')} -> {new.get(key, 'none')}"
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]


def _flat(intent: Intent) -> Iterator[tuple[str, str]]:
    yield from _leaves("policy", intent.policy.model_dump(mode="json"))
    if intent.ending is not None:
        yield "policy until", datetime.fromtimestamp(intent.ending.at, UTC).isoformat(timespec="seconds")
    for rule in intent.faults.model_dump(mode="json")["rules"]:
        told = "signalled" if rule["signalled"] else "silent"
        kinds = "+".join(rule["kinds"])
        yield f"fault {rule['where']}", f"{rule['probability']:g} of {kinds}, {told}, seed {rule['seed']}"
    for drain in intent.drains.rules:
        yield f"drain {drain.what}", "by force" if drain.force else "yes"


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _leaves(f"{key}.{name}", part)
    else:
        yield key, value if isinstance(value, str) else json.dumps(_said(value))


def _said(value: Any) -> Any:
    """Of the items of a list what they say: an exception leaves most of its keys open."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _said(part) for name, part in value.items() if part is not None}
    return value

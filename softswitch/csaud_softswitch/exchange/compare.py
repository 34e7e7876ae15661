"""Where the answers of two targets to one exchange differ."""

from __future__ import annotations

import json

from csaud_softswitch.exchange.vector import Vector


def differences(recorded: Vector, played: Vector) -> list[str]:
    """Where two targets answered differently, the first difference of each step and counter."""
    found = []
    for number, (old, new) in enumerate(zip(recorded.steps, played.steps, strict=True)):
        for key in ("codes", "out"):
            if old.get(key) != new.get(key):
                found.append(
                    f"steps[{number}].{key}: recorded {_short(old.get(key))}, now {_short(new.get(key))}"
                )
    for key in ("counters", "direct_counters"):
        before, after = getattr(recorded, key), getattr(played, key)
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                found.append(
                    f"{key}.{name}: recorded {_short(before.get(name))}, now {_short(after.get(name))}"
                )
    return found


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) < 400 else text[:400] + "..."

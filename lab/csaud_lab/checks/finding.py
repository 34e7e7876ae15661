"""One thing that was looked at, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "due", "unknown", "problem"]
"""due: `csaud lab deploy` does it; unknown: it could not be seen, and why."""


@dataclass(frozen=True)
class Finding:
    """`where` is a host, a switch, or a port of one; `what` says what was found, and what was expected."""

    level: Level
    where: str
    what: str

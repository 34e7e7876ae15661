"""Flap damping: a link that fails again and again is left out until it has been quiet for a while. No clock
and no I/O: `now` is passed in, in nanoseconds.

The penalty of RFC 2439: each failure adds to it, and it halves with every half-life. Above one threshold the
link is suppressed, below a lower one it is used again; a ceiling bounds how long that takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from csaud_controller.base.units import Duration, between

FAILURE = 1000.0
"""What one failure adds."""
_FORGOTTEN = 1.0

Link = TypeVar("Link")


class DampingSettings(BaseModel):
    """When a link is suppressed, and for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    half_life: Annotated[Duration, between(1_000_000, 86_400_000_000_000)] = Field(
        default=15_000_000_000, description="in which a penalty halves"
    )
    suppress: int = Field(default=2500, ge=1, le=1_000_000, description="not used from this penalty on")
    reuse: int = Field(default=750, ge=1, le=1_000_000, description="used again below this penalty")
    longest: Annotated[Duration, between(1_000_000, 86_400_000_000_000)] = Field(
        default=60_000_000_000, description="that a link waits after its last failure"
    )

    @model_validator(mode="after")
    def _check(self) -> DampingSettings:
        if self.reuse >= self.suppress:
            raise ValueError(f"reuse: expected less than suppress, {self.suppress}; got {self.reuse}")
        if self.ceiling < self.suppress:
            raise ValueError(
                "longest: too short: a penalty that is suppressed takes longer to fall below `reuse`"
            )
        return self

    @property
    def ceiling(self) -> float:
        """No penalty is higher: it falls below `reuse` within `longest`."""
        return float(self.reuse * 2.0 ** min(self.longest / self.half_life, 64))


@dataclass
class Penalty:
    """Of one link."""

    value: float = 0.0
    """At `at`."""
    at: int = 0
    failures: int = 0
    """Since it was last forgotten."""
    suppressed_since: int | None = None


class Damping(Generic[Link]):
    """The penalties of all links. `settings`: None suppresses none, but goes on counting."""

    def __init__(self, settings: DampingSettings | None = None) -> None:
        self.settings = settings
        self._penalties: dict[Link, Penalty] = {}

    def keep(self, known: Callable[[Link], bool]) -> None:
        """Forget all others."""
        self._penalties = {link: found for link, found in self._penalties.items() if known(link)}

    def failed(self, link: Link, now: int) -> bool:
        """A link has failed; whether it is suppressed from now on, and was not before."""
        settings = self.settings or DampingSettings()
        found = self._penalties.setdefault(link, Penalty(at=now))
        found.value = min(self.penalty(link, now) + FAILURE, settings.ceiling)
        found.at, found.failures = now, found.failures + 1
        if self.settings is None or found.suppressed_since is not None or found.value < settings.suppress:
            return False
        found.suppressed_since = now
        return True

    def settle(self, now: int) -> list[tuple[Link, Penalty]]:
        """Links that are not suppressed any more, and what is known of them."""
        reuse = self.settings.reuse if self.settings else float("inf")
        free = []
        for link, found in [*self._penalties.items()]:
            value = self.penalty(link, now)
            if found.suppressed_since is not None and value < reuse:
                free.append((link, Penalty(value, now, found.failures, found.suppressed_since)))
                found.suppressed_since = None
            if value < _FORGOTTEN:
                del self._penalties[link]
        return free

    def is_suppressed(self, link: Link) -> bool:
        """Whether it is, as of the last `settle`."""
        found = self._penalties.get(link)
        return found is not None and found.suppressed_since is not None

    @property
    def suppressed(self) -> frozenset[Link]:
        """All that are."""
        return frozenset(link for link in self._penalties if self.is_suppressed(link))

    def penalty(self, link: Link, now: int) -> float:
        """What is left of it by now."""
        found = self._penalties.get(link)
        if found is None:
            return 0.0
        half_life = (self.settings or DampingSettings()).half_life
        return float(found.value * 2.0 ** (-(now - found.at) / half_life))

    def failures(self, link: Link) -> int:
        """Since its penalty was last forgotten."""
        found = self._penalties.get(link)
        return 0 if found is None else found.failures

    def reused_in(self, link: Link, now: int) -> int:
        """Nanoseconds until it is used again, if it does not fail meanwhile; 0: it is used."""
        if self.settings is None or not self.is_suppressed(link):
            return 0
        over = log2(max(self.penalty(link, now) / self.settings.reuse, 1.0))
        return round(over * self.settings.half_life)

"""Policies that hold for a time. No clock: `now` is passed in, seconds since the epoch."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.policy.model import Policy

DEEPEST = 8
"""Policies with an end, one within the other."""
LATEST = 253402300799.0
"""The last second of the year 9999, as late as there are dates for."""


class Ending(BaseModel):
    """When the policy in force ends, and what comes then: what was before it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: float = Field(gt=0, le=LATEST, description="seconds since the epoch")
    lasts: bool = Field(default=False, description="`at` is so long after it began, whatever sets the clock")
    before: Policy
    then: Ending | None = Field(default=None, description="the end of `before`, if it has one")

    @property
    def depth(self) -> int:
        return 1 + (self.then.depth if self.then else 0)

    @property
    def is_of_time(self) -> bool:
        """Whether it, or one that waits for it, is after so much time."""
        return self.lasts or (self.then is not None and self.then.is_of_time)


def begun(policy: Policy, ending: Ending | None, until: float, now: float, *, lasts: bool = False) -> Ending:
    """The end of a policy that replaces `policy`, itself with an end, until some time, which with `lasts` is
    that by which so much time has passed. ValueError when it is over, or too many of them wait for each
    other."""
    if until <= now:
        raise ValueError("until: that time is over")
    if not until <= LATEST:
        raise ValueError("until: expected a time before the year 10000")
    made = Ending(at=until, lasts=lasts, before=policy, then=ending)
    if made.depth > DEEPEST:
        raise ValueError(f"until: {DEEPEST} policies with an end are in force already, one within the other")
    return made


def in_force(policy: Policy, ending: Ending | None, now: float) -> tuple[Policy, Ending | None]:
    """The policy that holds now, and its end."""
    while ending is not None and ending.at <= now:
        policy, ending = ending.before, ending.then
    return policy, ending


def moved(ending: Ending, by_s: float) -> Ending:
    """The same end by a clock that has been set by so many seconds."""
    then = None if ending.then is None else moved(ending.then, by_s)
    at = max(1.0, min(ending.at + by_s, LATEST)) if ending.lasts else ending.at
    return ending.model_copy(update={"at": at, "then": then})

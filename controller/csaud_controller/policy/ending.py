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
    before: Policy
    then: Ending | None = Field(default=None, description="the end of `before`, if it has one")

    @property
    def depth(self) -> int:
        return 1 + (self.then.depth if self.then else 0)


def begun(policy: Policy, ending: Ending | None, until: float, now: float) -> Ending:
    """The end of a policy that replaces `policy`, itself with an end, until some time. ValueError when that
    is over, or too many of them wait for each other."""
    if until <= now:
        raise ValueError("until: that time is over")
    if not until <= LATEST:
        raise ValueError("until: expected a time before the year 10000")
    made = Ending(at=until, before=policy, then=ending)
    if made.depth > DEEPEST:
        raise ValueError(f"until: {DEEPEST} policies with an end are in force already, one within the other")
    return made


def in_force(policy: Policy, ending: Ending | None, now: float) -> tuple[Policy, Ending | None]:
    """The policy that holds now, and its end."""
    while ending is not None and ending.at <= now:
        policy, ending = ending.before, ending.then
    return policy, ending

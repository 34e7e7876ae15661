"""What users ask of the fabric: policy, faults and drains."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_controller.policy.drains import Drains
from csaud_controller.policy.ending import Ending, in_force, moved
from csaud_controller.policy.faults import Faults
from csaud_controller.policy.model import Policy


class Intent(BaseModel):
    """What users asked for: the part of the desired state that outlives the controller."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: Policy = Field(default_factory=Policy)
    faults: Faults = Field(default_factory=Faults)
    drains: Drains = Field(default_factory=Drains)
    ending: Ending | None = Field(default=None, description="when the policy ends, and what holds then")

    def check(self, fabric: Fabric) -> None:
        """FieldError when it names what the fabric does not have, now or when a policy has ended."""
        self.policy.check(fabric)
        self.faults.check(fabric)
        self.drains.check(fabric)
        ending = self.ending
        while ending is not None:
            try:
                ending.before.check(fabric)
            except FieldError as error:
                raise FieldError(error.loc, f"{error}: of the policy that comes back") from None
            ending = ending.then

    def at(self, now: float) -> Intent:
        """The same when policies have ended by `now`, seconds since the epoch."""
        policy, ending = in_force(self.policy, self.ending, now)
        return self if ending is self.ending else self.model_copy(update={"policy": policy, "ending": ending})

    def moved(self, by_s: float) -> Intent:
        """The same when the clock has been set by so many seconds."""
        if not by_s or self.ending is None or not self.ending.is_of_time:
            return self
        return self.model_copy(update={"ending": moved(self.ending, by_s)})

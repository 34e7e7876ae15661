"""What users ask of the fabric: policy, faults and drains."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.inventory import Fabric
from csaud_controller.policy.drains import Drains
from csaud_controller.policy.faults import Faults
from csaud_controller.policy.model import Policy


class Intent(BaseModel):
    """What users asked for: the part of the desired state that outlives the controller."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: Policy = Field(default_factory=Policy)
    faults: Faults = Field(default_factory=Faults)
    drains: Drains = Field(default_factory=Drains)

    def check(self, fabric: Fabric) -> None:
        """FieldError when it names what the fabric does not have."""
        self.policy.check(fabric)
        self.faults.check(fabric)
        self.drains.check(fabric)

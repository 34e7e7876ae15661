"""A policy as a file: the policy's own keys, what it is for, and when it ends."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import AwareDatetime, Field, model_validator

from csaud_controller.base.units import Duration, between
from csaud_controller.policy.model import Policy

_SCHEMA = "https://json-schema.org/draft/2020-12/schema"


class PolicyFile(Policy):
    """All keys of Policy; those that are not given have their defaults."""

    description: str = Field(default="", max_length=1000, description="what it is for; kept in the history")
    until: AwareDatetime | None = Field(
        default=None, description="when it ends, with a time zone; then what was before it holds again"
    )
    lasts: Annotated[Duration, between(1_000_000_000)] | None = Field(
        default=None, description="instead of `until`: how long from `csaud policy apply` on"
    )

    @model_validator(mode="after")
    def _check(self) -> PolicyFile:
        if self.until is not None and self.lasts is not None:
            raise ValueError("expected until or lasts, not both")
        return self

    @property
    def policy(self) -> Policy:
        """Without what only files have."""
        return Policy.model_validate({name: getattr(self, name) for name in Policy.model_fields})

    def ends_at(self, now: float) -> float | None:
        """Seconds since the epoch; None: never."""
        if self.lasts is not None:
            return now + self.lasts / 1e9
        return None if self.until is None else self.until.timestamp()


def policy_schema() -> str:
    """The JSON Schema of policy files."""
    return json.dumps({"$schema": _SCHEMA, **PolicyFile.model_json_schema()}, indent=2) + "\n"

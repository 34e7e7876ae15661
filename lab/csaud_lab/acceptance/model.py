"""What an acceptance found: acceptance.json."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Found(_Part):
    """As `csaud lab check` tells it."""

    level: str
    where: str
    what: str


class PartResult(_Part):
    """One job of the acceptance; its own report has everything that was counted."""

    name: str
    about: str
    passed: bool
    checks: int
    failed: list[str] = Field(description="names of checks that did not hold")
    figures: dict[str, Any]
    report: str = Field(description="its page, relative to this file; report.json is beside it")


class Acceptance(_Part):
    """A lab is accepted when every part has passed."""

    schema_version: int = SCHEMA
    passed: bool
    lab: str
    fabric: str
    started: str
    duration_s: float
    device: str
    hosts: list[str] = Field(description="by rank")
    looked_at: list[Found] = Field(description="what `csaud lab check` had found, before anything ran")
    parts: list[PartResult]

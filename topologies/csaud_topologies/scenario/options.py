"""What the user asked of `csaud net run` or `up`, for the process inside the namespaces (options.json)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from csaud_topologies.base.usage import UsageError

Target = Literal["soft", "bmv2"]


class RunOptions(BaseModel):
    """One run; None leaves the choice to the scenario or, for the topology, to scenario and target."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: Target = "soft"
    topo: str | None = None
    scenario: str = "first-light"
    overrides: dict[str, str] = Field(default_factory=dict, description="scenario key (dotted) -> YAML text")
    cli: bool = False
    waits: bool = Field(default=False, description="`csaud net up`: no job of its own; it waits for users'")
    out: str = "build/mininet"
    pps: int | None = Field(
        default=None, ge=1, description="bmv2: packets/s of one switch, instead of calibrating"
    )
    directory: str = Field(default="", description="where it was asked for: commands there mean this run")
    debug: bool = False
    command: list[str] = Field(default_factory=list, description="command line, for the report")


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """What `--set` was given: KEY=VALUE; RunError for what is not."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {text}: expected KEY=VALUE, such as workload.batch=64")
        found[key] = value
    return found

"""The desired state on disk, so that a restarted controller goes on where the last one stopped."""

from __future__ import annotations

from pathlib import Path

from csaud_runs.whole import write_whole
from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.yamlfile import load_model
from csaud_controller.inventory import End
from csaud_controller.policy.intent import Intent

FIRST_ELECTION_ID = 10


class Stored(BaseModel):
    """What is kept: the intent, how often it has changed, the links that were down (they stay unused until a
    probe passes), and the election id of the controller that kept it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    intent: Intent = Field(default_factory=Intent)
    revision: int = Field(default=0, ge=0)
    dead_links: tuple[End, ...] = ()
    election_id: int = Field(default=FIRST_ELECTION_ID, ge=0, lt=1 << 64)


def load(path: Path) -> Stored | None:
    """What was kept, or None; ConfigError when the file was damaged by hand."""
    return load_model(path, Stored) if path.exists() else None


def save(path: Path, stored: Stored) -> None:
    """Replace the file atomically: a controller killed at any moment leaves the old or the new one."""
    write_whole(path, stored.model_dump_json(indent=2, exclude_none=True) + "\n", mode=0o600, synced=True)

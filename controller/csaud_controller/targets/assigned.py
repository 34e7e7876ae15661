"""What each switch of a fabric is, and the program it runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.targets import TARGETS
from csaud_controller.targets.base import Target


@dataclass(frozen=True)
class Assigned:
    """A target and the program that was compiled for it."""

    target: Target
    artifacts: Artifacts


@lru_cache
def _own(name: str, program: Path | None) -> Assigned:
    target = TARGETS[name]
    return Assigned(target, target.find_program(program))


def assigned(fabric: Fabric, default: Assigned) -> dict[str, Assigned]:
    """For each switch what its fabric says, or `default`. ArtifactsError: a program is not where it should
    be."""
    return {
        name: default
        if spec.target in (None, default.target.name) and spec.program is None
        else _own(spec.target or default.target.name, spec.program)
        for name, spec in fabric.switches.items()
    }


def programs(fabric: Fabric, default: Assigned | None = None) -> dict[str, Artifacts]:
    """For each switch its program; `default`: see `assigned`, None: the one that comes with this package.
    ArtifactsError."""
    of = assigned(fabric, default or _own("soft", None))
    return {name: each.artifacts for name, each in of.items()}

"""What differs between the P4 targets that run the program: one small class each, registered here by name."""

from __future__ import annotations

from csaud_controller.targets.base import QueueLimit, Target
from csaud_controller.targets.bmv2 import Bmv2
from csaud_controller.targets.soft import Soft
from csaud_controller.targets.tofino import Tofino

__all__ = ["TARGETS", "Bmv2", "QueueLimit", "Soft", "Target", "Tofino", "target_named"]

_ALL = (Soft(), Bmv2(), Tofino("tofino", "tofino.bin"), Tofino("tofino2", "tofino2.bin"))
TARGETS: dict[str, Target] = {target.name: target for target in _ALL}


def target_named(name: str) -> Target:
    """The registered target; ValueError lists those that exist."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}; expected one of {', '.join(TARGETS)}")
    return TARGETS[name]

"""What differs between the P4 targets that run the program: one small class each, registered here by name."""

from __future__ import annotations

from csaud_controller.targets.base import QueueLimit, Target
from csaud_controller.targets.bmv2 import Bmv2
from csaud_controller.targets.soft import Soft
from csaud_controller.targets.tofino import Tofino, Tofino2

__all__ = ["TARGETS", "Bmv2", "QueueLimit", "Soft", "Target", "Tofino", "Tofino2", "target_named"]

TARGETS: dict[str, Target] = {target.name: target for target in (Soft(), Bmv2(), Tofino(), Tofino2())}


def target_named(name: str) -> Target:
    """The registered target; ValueError lists those that exist."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}; expected one of {', '.join(TARGETS)}")
    return TARGETS[name]

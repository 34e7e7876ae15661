"""The P4 targets that a fabric can run on, chosen by name. A new target is a module here and a line in
`make_target`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from csaud_topologies.fabric.targets.base import P4Target
    from csaud_topologies.scenario.options import Target


def make_target(name: Target) -> P4Target:
    """The target of this name."""
    if name == "bmv2":
        from csaud_topologies.fabric.targets.bmv2 import Bmv2Target

        return Bmv2Target()
    from csaud_topologies.fabric.targets.soft import SoftTarget

    return SoftTarget()

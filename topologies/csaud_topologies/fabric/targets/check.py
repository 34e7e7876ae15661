"""Whether the machine has what a target needs; imports neither Mininet nor the target."""

from __future__ import annotations

import shutil

from csaud_runs.errors import RunError
from csaud_softswitch.bmv2.command import PROGRAM

from csaud_topologies.scenario.options import Target


def check_target(name: Target) -> None:
    """RunError saying what is missing."""
    if name == "bmv2" and shutil.which(PROGRAM) is None:
        raise RunError(
            f"TARGET=bmv2: {PROGRAM} is not on PATH. It is part of BMv2 (p4lang's behavioral-model,"
            " built with its P4Runtime front end), which is in no package registry; TARGET=soft needs"
            " nothing more"
        )

"""The embedded switch: loads p4c's JSON for BMv2 as it is; rates and buffers belong to its ports."""

from __future__ import annotations

from csaud_controller.targets.base import Target


class Soft(Target):
    """All of P4Runtime that the controller uses, and watch ports that take effect at once."""

    name = "soft"

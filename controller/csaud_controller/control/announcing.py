"""Switches tell hosts by LLDP which port they are wired to, as any switch does; nothing comes back."""

from __future__ import annotations

from collections.abc import Iterable

from csaud_controller.inventory import End, Fabric
from csaud_controller.links.probes import announcement
from csaud_controller.links.trials import Shot

_EVERY_S = 1.0


def announcements(fabric: Fabric, switches: Iterable[str]) -> dict[str, list[Shot]]:
    """What each switch that has hosts sends to them."""
    ends = {name: [End(name, port) for port in fabric.host_ports(name)] for name in switches}
    return {name: [Shot(end, announcement(end)) for end in those] for name, those in ends.items() if those}


def is_due(round_: int, interval_s: float) -> bool:
    """Whether they are sent in this round of link probes, which are `interval_s` apart."""
    return round_ % max(1, round(_EVERY_S / interval_s)) == 0

"""What a P4 target has to say of itself so that a fabric can run on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from csaud_controller.inventory import Fabric
from csaud_runs.directory import RunDir

from csaud_topologies.fabric.network import FabricSwitch
from csaud_topologies.fabric.services import Services


@dataclass(frozen=True)
class Place:
    """Where a fabric is started."""

    run: RunDir
    logs: Path
    services: Services


class TellsDrops(Protocol):
    """What a job asks of the switches under it."""

    def hidden_drops(self, place: Place) -> dict[str, int]:
        """Packets that the target dropped where the P4 program cannot count them, by place; empty where
        unknown.
        """


class P4Target(TellsDrops, Protocol):
    """One kind of P4 switch."""

    name: str
    switch_class: type[FabricSwitch]
    link_class: type[Any]
    """Mininet's class of the cables."""

    def versions(self) -> dict[str, str]:
        """Versions of the programs involved, for the report."""

    def start(self, fabric: Fabric, net: Any, place: Place) -> None:
        """Start the forwarding processes of all switches; their P4Runtime servers may come up later."""


def p4runtime_addresses(fabric: Fabric, run: RunDir) -> dict[str, str]:
    """A unix socket in the run directory for every switch."""
    return {name: f"unix:{run.switch_socket(name)}" for name in fabric.switches}

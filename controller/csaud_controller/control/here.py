"""Asks the controller of a run of this machine, over its control socket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from csaud_controller.control.client import APPLY_TIMEOUT_S, Answer, ask
from csaud_controller.inventory import Fabric
from csaud_controller.run.directory import RunDir


class Here:
    """One run; the same as `elsewhere.Elsewhere`."""

    def __init__(self, run: RunDir) -> None:
        self.run = run

    @property
    def where(self) -> str:
        """Its directory."""
        return str(self.run.path)

    def ask(self, op: str, *, timeout_s: float = APPLY_TIMEOUT_S, **arguments: Any) -> Answer:
        """See `client.ask`."""
        return ask(self.run.control_socket, op, timeout_s=timeout_s, **arguments)

    def fabric(self) -> Fabric:
        """The inventory as it runs; RunError."""
        return self.run.fabric()

    def counters(
        self, fabric: Fabric, *, switches: Iterable[str] | None, counters: Iterable[str] | None, unit: Any
    ) -> dict[str, Any]:
        """Read from the switches themselves; CountersError."""
        from csaud_controller.switches.counters import read_counters  # gRPC: not for --help
        from csaud_controller.targets.assigned import programs

        return read_counters(fabric, programs(fabric), switches=switches, counters=counters, unit=unit)

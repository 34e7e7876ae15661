"""The directory of a running fabric, with its inventory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import csaud_runs.find
from csaud_runs import directory
from csaud_runs.errors import RunError

from csaud_controller.inventory import Fabric, load_fabric


@dataclass(frozen=True)
class RunDir(directory.RunDir):
    """One fabric's directory."""

    def fabric(self) -> Fabric:
        """The inventory as it runs, P4Runtime addresses included. RunError: it is not there yet."""
        if not self.fabric_file.exists():
            raise RunError(f"{self.path}: the fabric is not up yet: it has no fabric.json")
        return self.with_sockets(load_fabric(self.fabric_file))

    def with_sockets(self, fabric: Fabric) -> Fabric:
        """The inventory with addresses: a switch that has none listens on its socket in this directory."""
        names = (name for name, spec in fabric.switches.items() if spec.p4runtime is None)
        return fabric.with_addresses({name: f"unix:{self.switch_socket(name)}" for name in names})


def find_run(named: Path | None = None, root: Path | None = None) -> RunDir:
    """See `csaud_runs.find.find_run`."""
    return RunDir(csaud_runs.find.find_run(named, root).path)

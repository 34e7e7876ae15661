"""The directory of a running fabric: where it is, and what lies in it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from csaud_controller.inventory import Fabric, load_fabric

RUNS = Path("/run/csaud")
"""Run directories lie here, one a running fabric."""

ENVIRONMENT = "CSAUD_RUN"


class RunError(RuntimeError):
    """There is no running fabric, or not the one that was named."""


@dataclass(frozen=True)
class RunDir:
    """One fabric's directory."""

    path: Path

    @property
    def fabric_file(self) -> Path:
        return self.path / "fabric.json"

    @property
    def control_socket(self) -> Path:
        return self.path / "controller.sock"

    @property
    def desired_file(self) -> Path:
        return self.path / "desired.json"

    def fabric(self) -> Fabric:
        """The inventory as it runs, P4Runtime addresses included."""
        return self.with_sockets(load_fabric(self.fabric_file))

    def with_sockets(self, fabric: Fabric) -> Fabric:
        """The inventory with addresses: a switch that has none listens on its socket in this directory."""
        names = (name for name, spec in fabric.switches.items() if spec.p4runtime is None)
        return fabric.with_addresses({name: f"unix:{self.path / name}.sock" for name in names})


def is_served(path: Path) -> bool:
    """True when a controller accepts connections at `path`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def find_run(named: Path | None = None, runs: Path = RUNS) -> RunDir:
    """The run directory: the one named, else that of $CSAUD_RUN, else the newest one that has a controller,
    else the newest with a fabric at all. RunError says what is missing.
    """
    if named is None and (text := os.environ.get(ENVIRONMENT)):
        named = Path(text)
    if named is not None:
        if not (named / "fabric.json").is_file():
            raise RunError(f"{named} is not the directory of a run: it has no fabric.json")
        return RunDir(named)
    found = [RunDir(path.parent) for path in runs.glob("*/fabric.json")]
    if not found:
        raise RunError(
            f"no fabric runs: nothing in {runs} (start one with `make mininet`, or name one by --run)"
        )
    found.sort(key=lambda run: run.fabric_file.stat().st_mtime, reverse=True)
    return next((run for run in found if is_served(run.control_socket)), found[0])

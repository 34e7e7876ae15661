"""The directory of a running fabric: where it is, and what lies in it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
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
    """The run directory: the one named, else that of $CSAUD_RUN, else that of the running fabric that was
    started in this directory, or in the nearest one above it. RunError says what there is instead.
    """
    if named is None and (text := os.environ.get(ENVIRONMENT)):
        named = Path(text)
    if named is not None:
        if not (named / "fabric.json").is_file():
            raise RunError(f"{named} is not the directory of a run: it has no fabric.json")
        return RunDir(named)
    live = [
        file.parent for file in runs.glob("*/fabric.json") if any(map(is_served, file.parent.glob("*.sock")))
    ]
    return RunDir(run_here(live, f"no fabric runs: nothing live in {runs}"))


def run_here(live: Iterable[Path], nothing: str) -> Path:
    """The one of these run directories whose run was started in this directory, or in the nearest one above
    it: another one may be somebody else's.

    RunError: there are several, or none (`nothing` says that no run is live at all).
    """
    here = Path.cwd()
    origins = {run: started_in(run) for run in sorted(live)}
    above = [origin for origin in origins.values() if origin is not None and here.is_relative_to(origin)]
    nearest = max(above, key=lambda origin: len(origin.parts), default=None)
    mine = [run for run, origin in origins.items() if nearest is not None and origin == nearest]
    if len(mine) == 1:
        return mine[0]
    if mine:
        several = ", ".join(map(str, mine))
        raise RunError(f"{len(mine)} fabrics of {nearest} run: {several}; name one by --run")
    if origins:
        listed = ", ".join(f"{run} (of {origin or 'no known directory'})" for run, origin in origins.items())
        raise RunError(f"no fabric of {here} runs; there is {listed}; name one by --run")
    raise RunError(f"{nothing}; start one with `make mininet CLI=1`, or name one by --run")


def started_in(run: Path) -> Path | None:
    """The directory where a run was asked for, as `csaud net run` has written it down; None: by other
    means."""
    try:
        directory = json.loads((run / "options.json").read_text())["directory"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Path(directory) if isinstance(directory, str) and directory else None

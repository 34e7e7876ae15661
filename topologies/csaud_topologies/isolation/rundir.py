"""The folder of one run, /run/csaud/<id>: who runs, what it started, and where its sockets are."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from csaud_controller.run.directory import RunError as NoRun
from csaud_controller.run.directory import run_here

from csaud_topologies.base.errors import RunError
from csaud_topologies.base.procs import Process

ROOT = Path("/run/csaud")
ENV = "CSAUD_RUN"  # names the run directory to every process of the run


@dataclass(frozen=True)
class RunDir:
    """Paths of one run directory."""

    path: Path

    @property
    def pids(self) -> Path:
        """Supervisor and init of the run: {"supervisor": {"pid", "started"}, "init": {...}}, pids of the
        machine.
        """
        return self.path / "pids.json"

    @property
    def nodes(self) -> Path:
        """Mininet node -> pid of its shell, as seen inside the run's PID namespace."""
        return self.path / "nodes.json"

    @property
    def fabric(self) -> Path:
        """The resolved inventory (csaud_controller.inventory.Fabric)."""
        return self.path / "fabric.json"

    @property
    def hosts(self) -> Path:
        """Names of the fabric's hosts and of the machine's, as /etc/hosts inside."""
        return self.path / "hosts"

    @property
    def options(self) -> Path:
        """What the user asked for (options.RunOptions)."""
        return self.path / "options.json"

    @property
    def ended(self) -> Path:
        """Written by the init when it ends by itself, with its exit status; missing when it was killed."""
        return self.path / "ended"

    @classmethod
    def create(cls, root: Path = ROOT) -> RunDir:
        """A fresh directory, named by time and pid so that two runs never share one."""
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        path = root / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        path.mkdir(mode=0o755)
        return cls(path)

    def write_processes(self, processes: dict[str, Process]) -> None:
        """Record the processes that keep the run alive; replaced in one step, so a reader never sees half a
        file.
        """
        write_json(self.pids, {name: asdict(process) for name, process in processes.items()})

    def processes(self) -> dict[str, Process]:
        """The recorded processes; empty where the run never got that far."""
        return {name: Process(**entry) for name, entry in _read_json(self.pids).items()}

    def node_pids(self) -> dict[str, int]:
        """Mininet node -> pid inside the run's PID namespace."""
        return {name: int(pid) for name, pid in _read_json(self.nodes).items()}

    def is_live(self) -> bool:
        """Whether any recorded process still runs."""
        return any(process.is_alive() for process in self.processes().values())

    def is_one(self) -> bool:
        """Whether the directory is that of a run at all, be it one that did not get far."""
        return self.pids.exists() or self.options.exists()

    def remove(self) -> None:
        """Remove the directory; sockets and all."""
        shutil.rmtree(self.path, ignore_errors=True)


def all_runs(root: Path | None = None) -> list[RunDir]:
    """Every run directory, oldest first."""
    root = root or ROOT
    if not root.is_dir():
        return []
    return [RunDir(path) for path in sorted(root.iterdir(), key=lambda path: path.name) if path.is_dir()]


def find_run(asked: Path | None = None, root: Path | None = None) -> RunDir:
    """The run that `asked`, or $CSAUD_RUN, or else the live one of this directory; RunError where there is
    none, or more than one."""
    named = asked or (Path(os.environ[ENV]) if os.environ.get(ENV) else None)
    if named is not None:
        if not RunDir(named).pids.exists():
            raise RunError(f"{named}: not the directory of a run (no pids.json in it)")
        return RunDir(named)
    live = [run.path for run in all_runs(root) if run.is_live()]
    try:
        return RunDir(run_here(live, f"no fabric runs: nothing live in {root or ROOT}"))
    except NoRun as error:
        raise RunError(str(error)) from None


def with_own_commands(path: str) -> str:
    """A search path on which `csaud` and `python` are those of this installation."""
    return f"{Path(sys.executable).parent}{os.pathsep}{path}"


def write_json(path: Path, value: object) -> None:
    """Write JSON beside `path` and move it there, so that a reader never sees half of it."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(json.dumps(value, indent=1) + "\n")
    partial.replace(path)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}

"""The directory of one run, /run/csaud/ID: who runs, what it started, and where its sockets are.

`csaud net run` makes one for each fabric; whoever starts switches and controllers by hand makes one, too, by
naming it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from csaud_runs.names import socket_name
from csaud_runs.process import Process
from csaud_runs.whole import write_json

ROOT = Path("/run/csaud")
"""Run directories lie here."""

ENVIRONMENT = "CSAUD_RUN"
"""Names the run directory to every process of the run."""


@dataclass(frozen=True)
class RunDir:
    """Paths of one run directory."""

    path: Path

    @property
    def fabric_file(self) -> Path:
        """The inventory as it runs, P4Runtime addresses included."""
        return self.path / "fabric.json"

    @property
    def control_socket(self) -> Path:
        """Where the controller answers."""
        return self.path / "controller.sock"

    @property
    def desired_file(self) -> Path:
        """What of the desired state outlives the controller."""
        return self.path / "desired.json"

    @property
    def history_file(self) -> Path:
        """What was asked of the controller, revision by revision."""
        return self.path / "history.sqlite"

    @property
    def pids(self) -> Path:
        """Supervisor and init of the run: {"supervisor": {"pid", "started"}, "init": {...}}, pids of the
        machine. Missing where no supervisor started it.
        """
        return self.path / "pids.json"

    @property
    def nodes(self) -> Path:
        """Mininet node -> pid of its shell, as seen inside the run's PID namespace."""
        return self.path / "nodes.json"

    @property
    def hosts(self) -> Path:
        """Names of the fabric's hosts and of the machine's, as /etc/hosts inside."""
        return self.path / "hosts"

    @property
    def options(self) -> Path:
        """What the user asked for, and in which directory."""
        return self.path / "options.json"

    @property
    def jobs_socket(self) -> Path:
        """Where a fabric that waits for jobs is asked by them."""
        return self.path / "jobs.sock"

    @property
    def job_lock(self) -> Path:
        """Locked by the job that runs in such a fabric; the file says which."""
        return self.path / "job.lock"

    @property
    def scenario_file(self) -> Path:
        """The scenario of such a fabric, as it runs."""
        return self.path / "scenario.json"

    @property
    def ended(self) -> Path:
        """Written by the init when it ends by itself, with its exit status; missing when it was killed."""
        return self.path / "ended"

    def exit_status(self) -> int | None:
        """What its init ended with; None when it was killed."""
        try:
            return int(self.ended.read_text())
        except FileNotFoundError:
            return None

    def switch_socket(self, name: str) -> Path:
        """Where a switch serves P4Runtime whose inventory names no address: sockets of the file system cross
        network namespaces.
        """
        return self.path / socket_name(name)

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

    def started_in(self) -> Path | None:
        """The directory where the run was asked for, as `csaud net run` has written it down; None: by other
        means."""
        directory = _read_json(self.options).get("directory")
        return Path(directory) if isinstance(directory, str) and directory else None

    def is_live(self) -> bool:
        """Whether anything of it runs: a recorded process, or one that serves a socket in it."""
        return any(process.is_alive() for process in self.processes().values()) or any(
            map(is_served, self.path.glob("*.sock"))
        )

    def is_one(self) -> bool:
        """Whether the directory is that of a run at all, be it one that did not get far."""
        return self.fabric_file.exists() or self.was_made()

    def was_made(self) -> bool:
        """Whether it was made for a run, by `create`: all that is in it belongs to the run."""
        return self.pids.exists() or self.options.exists()

    def remove(self) -> None:
        """Remove the directory; sockets and all."""
        shutil.rmtree(self.path, ignore_errors=True)


def is_served(path: Path) -> bool:
    """Whether a process accepts connections at this unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}

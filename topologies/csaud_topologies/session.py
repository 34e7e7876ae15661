"""What the init of a run's namespaces does: the loopback interface, the search path, the run."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from rich.console import Console

from csaud_topologies.errors import RunError
from csaud_topologies.options import RunOptions
from csaud_topologies.rundir import RunDir, with_own_commands
from csaud_topologies.runner import run_scenario


def run_session(path: Path) -> int:
    """Run what options.json in the run directory asks for; the exit status."""
    run = RunDir(path)
    options = RunOptions.model_validate_json(run.options.read_text())
    # Hosts and switches inherit this: `h1 csaud ...` finds the command of this very installation.
    os.environ["PATH"] = with_own_commands(os.environ["PATH"])
    console = Console(highlight=False)
    try:
        _wait_recorded(run)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return run_scenario(options, run, console)
    except RunError as error:
        if options.debug:
            console.print_exception()
        console.print(f"csaud: {error}", style="red", markup=False, soft_wrap=True)
        return 1


def _wait_recorded(run: RunDir) -> None:
    """The supervisor writes pids.json when it has seen us; before that nothing is started."""
    for _ in range(1000):
        if run.pids.exists():
            return
        time.sleep(0.005)
    raise RunError(f"{run.pids}: not written by the supervisor")

"""The init of a run's namespaces: `python -m csaud_topologies.inside RUN_DIR`, started by
isolation.supervise only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from rich.console import Console

from csaud_topologies.errors import RunError
from csaud_topologies.options import RunOptions
from csaud_topologies.rundir import RunDir

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """The user or a signal ended the run; `status` is what the shell expects (128 + signal)."""

    def __init__(self, signum: int) -> None:
        super().__init__()
        self.status = 128 + signum


def end_on_signals() -> None:
    """First signal: unwind and clean up. Further ones are ignored: cleaning takes a second at most."""

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        raise Interrupted(signum)

    for number in _ENDING:
        signal.signal(number, on_signal)


def _wait_recorded(run: RunDir) -> None:
    """The supervisor writes pids.json when it has seen us; nothing is started before, so nothing is
    unrecorded.
    """
    for _ in range(1000):
        if run.pids.exists():
            return
        time.sleep(0.005)
    raise RunError(f"{run.pids}: not written by the supervisor")


def main() -> int:
    """Set up the namespace, run what options.json asks for, and say how it ended in the exit status."""
    if os.getpid() != 1:
        print("csaud_topologies.inside is started by `csaud net run`, not by hand", file=sys.stderr)
        return 2
    end_on_signals()
    # Hosts and switches inherit this: `h1 csaud ...` finds the command of this very installation.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = RunDir(Path(sys.argv[1]))
    options = RunOptions.model_validate_json(run.options.read_text())
    console = Console(highlight=False)
    try:
        _wait_recorded(run)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        from csaud_topologies.runner import (
            run_scenario,
        )  # imports Mininet and plots: not before signals are set

        return run_scenario(options, run, console)
    except Interrupted as interrupted:
        console.print("\n[yellow]interrupted; the fabric is gone[/yellow]")
        return interrupted.status
    except (RunError, subprocess.CalledProcessError, ValueError) as error:
        if options.debug or not isinstance(error, RunError):
            console.print_exception()
        console.print(f"csaud: {error}", style="red", markup=False, soft_wrap=True)
        return 1


def _main() -> int:
    try:
        status = main()
    except Exception:
        Console().print_exception()
        status = 1
    RunDir(Path(sys.argv[1])).ended.write_text(f"{status}\n")
    return status


if __name__ == "__main__":
    sys.exit(_main())

"""A run that lives on when the command that started it has ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from csaud_runs.directory import RunDir, is_served
from csaud_runs.errors import RunError
from csaud_runs.find import all_runs

from csaud_topologies.isolation.privileges import check_namespaces
from csaud_topologies.isolation.supervisor import check_machine, locked, supervise
from csaud_topologies.scenario.options import RunOptions

LOG = "fabric.log"
"""In the output folder: what such a run says."""
_LOOK_EVERY_S = 0.1
_END_WITHIN_S = 30.0


def supervise_detached(options: RunOptions) -> RunDir:
    """Start a run in a session of its own and wait until its fabric takes jobs. RunError with what it said
    when it ends before; nothing of it is left then, nor when a signal interrupts us."""
    check_machine()
    check_namespaces()
    log = Path(options.out) / LOG
    with locked(Path(options.out)):  # or the log is that of another run
        log.unlink(missing_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "csaud_topologies.isolation.detached", options.model_dump_json()],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return _when_ready(process, log)
    except BaseException:
        process.send_signal(signal.SIGTERM)
        process.wait(_END_WITHIN_S)
        raise


def _when_ready(process: subprocess.Popen[bytes], log: Path) -> RunDir:
    while process.poll() is None:
        for run in all_runs():
            supervisor = run.processes().get("supervisor")
            if supervisor is not None and supervisor.pid == process.pid and is_served(run.jobs_socket):
                return run
        time.sleep(_LOOK_EVERY_S)
    said = log.read_text(errors="replace").strip().removeprefix("csaud: ")
    raise RunError(said or f"the fabric ended with status {process.returncode}")


def main() -> int:
    """`python -m csaud_topologies.isolation.detached OPTIONS`: the supervisor of such a run."""
    try:
        return supervise(RunOptions.model_validate_json(sys.argv[1]))
    except RunError as error:
        print(f"csaud: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

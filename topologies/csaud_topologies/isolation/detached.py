"""A run that lives on when the command that started it has ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from csaud_runs.directory import RunDir, is_served
from csaud_runs.errors import RunError
from csaud_runs.find import all_runs

from csaud_topologies.base.interrupt import ENDING, end_on_signals
from csaud_topologies.isolation.privileges import check_namespaces
from csaud_topologies.isolation.supervisor import check_machine, locked, supervise
from csaud_topologies.scenario.options import RunOptions

LOG = "fabric.log"
"""In the output folder: what such a run says."""
_LOOK_EVERY_S = 0.1
_END_WITHIN_S = 30.0


def supervise_detached(options: RunOptions) -> RunDir:
    """Start a run in a session of its own and wait until its fabric takes jobs. RunError with what it said
    when it ends before; nothing of it is left then, nor when a signal interrupts us (Interrupted)."""
    check_machine()
    check_namespaces()
    log = Path(options.out) / LOG
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        with locked(Path(options.out)) as hold:  # which the run goes on to hold: the log is that of no other
            process = _start(options, log, hold.file.fileno(), old_mask)
        try:
            end_on_signals()
            return _when_ready(process, log)
        except BaseException:
            process.send_signal(signal.SIGTERM)
            process.wait(_END_WITHIN_S)
            raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _start(
    options: RunOptions, log: Path, lock: int, mask: set[int | signal.Signals]
) -> subprocess.Popen[bytes]:
    module = "csaud_topologies.isolation.detached"
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module, options.model_dump_json(), str(lock)],
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(signal.pthread_sigmask, signal.SIG_SETMASK, mask),
        )


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
    """`python -m csaud_topologies.isolation.detached OPTIONS LOCK`: the supervisor of such a run."""
    try:
        return supervise(RunOptions.model_validate_json(sys.argv[1]), int(sys.argv[2]))
    except RunError as error:
        print(f"csaud: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

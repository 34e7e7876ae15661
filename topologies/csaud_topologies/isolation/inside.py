"""Do something inside a running fabric and come back with its exit status."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from csaud_runs.children import PR_SET_PDEATHSIG
from csaud_runs.directory import ENVIRONMENT, RunDir
from csaud_runs.errors import RunError
from csaud_runs.netns import CLONE_NEWNET, CLONE_NEWNS, setns
from csaud_runs.process import Process

from csaud_topologies.base.interrupt import ENDING, Interrupted, end_on_signals, interruption
from csaud_topologies.base.say import say
from csaud_topologies.isolation.enter import live_init, with_own_commands

_CLONE_NEWPID = 0x20000000
_UNTIL_KNOWN_S = 2.0


def run_inside(run: RunDir, body: Callable[[], int]) -> int:
    """Call `body` in a child process within the namespaces of `run`; what it returns, or 128 + n when signal
    n ended it. Signals that ask for the end are passed on to it; with this process it ends, too.

    RunError when the run has ended. Call it from a process with one thread.
    """
    init = live_init(run)
    kinds = {"mnt": CLONE_NEWNS, "net": CLONE_NEWNET}
    try:
        pids = os.open(f"/proc/{init.pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        others = {
            os.open(f"/proc/{init.pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC): kind
            for name, kind in kinds.items()
        }
    except FileNotFoundError:
        raise RunError(f"{run.path}: this run has ended") from None
    if not init.is_alive():  # or these may be those of another process with its pid
        raise RunError(f"{run.path}: this run has ended")
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGCHLD})
    setns(pids, _CLONE_NEWPID)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _in_child(run, others, old_mask, body)
    try:
        return _wait(child, init)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _in_child(
    run: RunDir, namespaces: dict[int, int], mask: set[int | signal.Signals], body: Callable[[], int]
) -> None:
    """Does not return."""
    status = 1
    try:
        folder = Path.cwd()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        for handle, kind in namespaces.items():
            setns(handle, kind)
        os.chdir(folder)
        os.environ[ENVIRONMENT] = str(run.path)
        os.environ["PATH"] = with_own_commands(os.environ.get("PATH", os.defpath))
        signal.pthread_sigmask(signal.SIG_SETMASK, {*mask, *ENDING})
        end_on_signals()
        status = body()
    except RunError as error:
        say(str(error))
    except (Interrupted, Exception):
        if (interrupted := interruption()) is not None:
            status = interrupted.status
        else:
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def _wait(child: int, init: Process) -> int:
    while True:
        info = signal.sigwaitinfo({*ENDING, signal.SIGCHLD})
        if info.si_signo != signal.SIGCHLD:
            os.kill(child, info.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:  # as all in there when their init ends, which is gone last
        if init.wait_gone(_UNTIL_KNOWN_S):
            raise RunError(
                "the fabric has ended while the job ran; its terminal, or fabric.log in its folder, says why"
            )
        print("csaud: the job was killed", file=sys.stderr)
    return 128 - code if code < 0 else code

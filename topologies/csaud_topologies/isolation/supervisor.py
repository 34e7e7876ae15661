"""A run inside network, PID and mount namespaces of its own.

The process that the user started stays outside as the supervisor: it holds the lock on the output folder,
records who runs, passes signals on and removes the run directory. Inside, the runner is the init of a PID
namespace whose death takes every process, interface and namespace of the run with it. Whichever process is
killed, nothing is left:

- the supervisor dies: the kernel kills `unshare` (parent death signal), which kills the init (--kill-child);
- the init dies: PID namespace, network namespaces and their veth pairs are gone, and the supervisor says so;
- the controller dies: the runner starts it again;
- any other process of the run dies: the runner notices and ends the run;
- a signal asks for the end: the init takes down what it built, and is killed when that takes too long.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from csaud_runs.children import ends_with_this_process
from csaud_runs.directory import ENVIRONMENT, RunDir
from csaud_runs.errors import RunError
from csaud_runs.find import all_runs
from csaud_runs.process import Process, child_of

from csaud_topologies.base.interrupt import ENDING
from csaud_topologies.base.usage import UsageError
from csaud_topologies.isolation.privileges import NAMESPACES, check_namespaces, check_privileges
from csaud_topologies.scenario.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOOLS = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
    "ifconfig": "net-tools",
    "mnexec": "mininet",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    "sysctl": "procps",
}
_LOCK = ".lock"
_OURS = ("report.json", "report.html", "figures", "logs", "fabric.log")
"""What runs replace in their output folder."""
_START_LIMIT_S = 10.0
_AGAIN_S = 0.2
_LOOK_S = 1.0  # a SIGCHLD that comes between two waits is lost where another thread does not block it
_UNWIND_S = 20.0  # to take down 80 switches on a busy machine; what is left then goes with the namespaces
_SI_KERNEL = 0x80


def check_machine() -> None:
    """RunError unless we may do what a fabric needs, and the programs that build it are here."""
    check_privileges()
    missing = {tool: package for tool, package in _TOOLS.items() if shutil.which(tool) is None}
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise RunError(f"not on PATH: {', '.join(missing)}; on Debian: apt-get install {packages}")


@dataclass(frozen=True)
class Hold:
    """The lock on an output folder."""

    out: Path
    file: IO[bytes]

    def tell(self, run: Path | None) -> None:
        """Others who want it that we have it, and for which run."""
        self.file.seek(0)
        try:
            self.file.truncate()
            self.file.write(f"pid {os.getpid()}\n{run or ''}\n".encode())
        except OSError as error:
            raise _cannot(self.out, error) from None


def _cannot(out: Path, error: OSError) -> RunError:
    return RunError(f"--out {out}: cannot be written: {error.strerror}")


@contextmanager
def locked(out: Path, inherited: int | None = None) -> Iterator[Hold]:
    """Hold the output folder for one run; RunError naming the run that has it, or what is in it that no run
    has made.

    The lock belongs to the open file, so it is free again the moment its holder is gone, however it went; who
    has `inherited` that file has the lock with it.
    """
    try:
        # Before the lock is looked for: who makes them has it.
        foreign = [name for name in _OURS if (out / name).exists()]
        if foreign and not (out / _LOCK).exists():
            raise UsageError(
                f"--out {out}: has {', '.join(foreign)}, which no run has made; give this run a folder"
                " of its own"
            )
        out.mkdir(parents=True, exist_ok=True)
        file = open(inherited or out / _LOCK, "a+b", buffering=0)  # noqa: PTH123, SIM115
    except OSError as error:
        raise _cannot(out, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder, _, run = file.read().decode().strip().partition("\n")
            end_it = f" end it by `csaud net clean --run {run}`," if run else ""
            raise RunError(
                f"{out}: in use by a run of {holder or 'another process'}; wait for it,{end_it} or give this"
                " run a folder of its own (--out DIR; make mininet OUT=DIR)"
            ) from None

        hold = Hold(out, file)
        hold.tell(None)
        yield hold


def is_over(run: RunDir) -> bool:
    """Whether nothing of it runs any more. A directory without pids.json may belong to a run that is just
    starting: that is given a minute."""
    return not run.is_live() and (run.pids.exists() or time.time() - run.path.stat().st_mtime > 60)


def sweep() -> list[RunDir]:
    """Remove the directories of runs whose processes are all gone; those that were removed."""
    dead = [run for run in all_runs() if is_over(run)]
    for run in dead:
        run.remove()
    return dead


def end_run(run: RunDir) -> bool:
    """End a run by its recorded processes and remove its directory; whether anything had to be ended."""
    processes = run.processes()
    supervisor, init = processes.get("supervisor"), processes.get("init")
    ended = False
    if supervisor is not None and supervisor.kill(signal.SIGTERM):
        ended = True
        supervisor.wait_gone(10.0)
    for process in (supervisor, init):  # init last: killing it alone already ends everything inside
        if process is not None and process.is_alive():
            ended = process.kill(signal.SIGKILL) or ended
            process.wait_gone(5.0)
    run.remove()
    return ended


def supervise(options: RunOptions, lock: int | None = None) -> int:
    """Run in fresh namespaces until it ends; the exit status (128 + n when it died by signal n). `lock` is
    that of the output folder, where it is inherited.
    """
    check_machine()
    check_namespaces()
    with locked(Path(options.out), lock) as hold:
        sweep()
        run = RunDir.create()
        hold.tell(run.path)
        try:
            run.options.write_text(options.model_dump_json(indent=1))
            return _run_isolated(run, ctrl_c_ends=not options.cli)
        finally:
            run.remove()


def _run_isolated(run: RunDir, *, ctrl_c_ends: bool) -> int:
    watched = {*ENDING, signal.SIGCHLD}
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    end_with_us = ends_with_this_process()

    def in_child() -> None:
        end_with_us()
        # The init takes these signals when it has handlers for them.
        signal.pthread_sigmask(signal.SIG_SETMASK, {*old_mask, *ENDING})

    command = [*NAMESPACES, "--", sys.executable, "-m", "csaud_topologies.run.init", str(run.path)]
    try:
        child = subprocess.Popen(command, preexec_fn=in_child, env={**os.environ, ENVIRONMENT: str(run.path)})
        try:
            init = _record(run, child)
            asked = _forward_signals(child, init, watched, ctrl_c_ends=ctrl_c_ends)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
    if init is None:
        raise RunError("no namespaces can be made here; unshare says why above")
    # unshare's own status does not tell: it fails in passing on a SIGKILL, which may also meet an init that
    # is through with its run.
    status = run.exit_status()
    if status is None:
        if asked is not None:
            print(
                f"\ninterrupted; the fabric did not end within {_UNWIND_S:.0f} s and was killed", flush=True
            )
            return 128 + asked
        print("csaud: the run was killed; its processes and namespaces are gone", file=sys.stderr)
        return 128 + signal.SIGKILL
    return status


def _record(run: RunDir, child: subprocess.Popen[bytes]) -> Process | None:
    """Write pids.json as soon as the init exists; None when it ended before that."""
    deadline = time.monotonic() + _START_LIMIT_S
    supervisor = Process.of(os.getpid())
    assert supervisor is not None
    while child.poll() is None and time.monotonic() < deadline:
        pid = child_of(child.pid)
        init = Process.of(pid) if pid is not None else None
        if init is not None:
            run.write_processes({"supervisor": supervisor, "init": init})
            return init
        time.sleep(0.005)
    return None


def _forward_signals(
    child: subprocess.Popen[bytes],
    init: Process | None,
    watched: set[signal.Signals],
    *,
    ctrl_c_ends: bool,
) -> signal.Signals | None:
    """Pass signals on until the child has ended; the signal that asked for the end.

    A signal waits until the init has a handler for it: before, an init would ignore it. Ctrl-C from the
    terminal reaches the whole foreground group by itself, which at the prompt is not asking for the end.
    """
    asked: signal.Signals | None = None
    asked_at, told = 0.0, False
    while child.poll() is None:
        info = signal.sigtimedwait(watched, _AGAIN_S if asked else _LOOK_S)
        if info is not None and info.si_signo != signal.SIGCHLD and asked is None:
            # A terminal that is closed tells the session's leader alone.
            by_terminal = info.si_code == _SI_KERNEL and info.si_signo == signal.SIGINT
            if ctrl_c_ends or not by_terminal:
                asked, asked_at, told = signal.Signals(info.si_signo), time.monotonic(), by_terminal
        if asked is None or init is None:
            continue
        if not told and init.catches(asked):
            told = init.kill(asked)
        if time.monotonic() - asked_at > _UNWIND_S:
            init.kill(signal.SIGKILL)
    return asked

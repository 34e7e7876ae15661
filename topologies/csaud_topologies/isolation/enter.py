"""Run a command inside a running fabric, or on one of its hosts or switches."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from csaud_runs.directory import ENVIRONMENT, RunDir
from csaud_runs.errors import RunError
from csaud_runs.process import Process

from csaud_topologies.base.usage import UsageError
from csaud_topologies.isolation.supervisor import check_machine


def with_own_commands(path: str) -> str:
    """A search path on which `csaud` and `python` are those of this installation."""
    return f"{Path(sys.executable).parent}{os.pathsep}{path}"


def live_init(run: RunDir) -> Process:
    """The first process in the namespaces of `run`, as it is called here; RunError when there is none."""
    init = run.processes().get("init")
    if init is None:
        raise RunError(f"{run.path}: it has no namespaces of its own: no `csaud net run` has started it")
    if init.is_alive():
        return init
    # Inside the run it has another pid, and the same start time.
    first = Process.of(1)
    if first is None or first.started != init.started:
        raise RunError(f"{run.path}: this run has ended")
    return first


def command_line(run: RunDir, node: str | None, command: Sequence[str]) -> list[str]:
    """The command, wrapped so that it runs in the namespaces of `run`, or of its node `node`."""
    init = live_init(run)
    # As inside the run: the same working folder, CSAUD_RUN, which names the run to csaud, and the csaud and
    # python of this very installation.
    path = with_own_commands(os.environ.get("PATH", os.defpath))
    inside = ["env", "-C", str(Path.cwd()), f"{ENVIRONMENT}={run.path}", f"PATH={path}", *command]
    if node is not None:
        pids = run.node_pids()
        if node not in pids:
            known = ", ".join(pids) or "none yet, the fabric is still starting"
            raise UsageError(f"--host {node}: no such node in this fabric; expected one of {known}")
        inside = ["mnexec", "-a", str(pids[node]), *inside]
    # nsenter waits for it in a process of its own, and hands on no signal that ends itself.
    with_us = ["setpriv", "--pdeathsig", "TERM", "--"]
    return ["nsenter", f"--target={init.pid}", "--net", "--pid", "--mount", "--", *with_us, *inside]


def enter(run: RunDir, node: str | None, command: Sequence[str]) -> None:
    """Replace this process by the command inside the run; does not return."""
    check_machine()
    line = command_line(run, node, command)
    os.execvp(line[0], line)

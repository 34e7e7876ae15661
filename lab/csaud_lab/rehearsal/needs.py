"""What a rehearsal needs of this machine, and how it gets namespaces of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from csaud_runs.errors import RunError

_PROGRAMS = {
    "unshare": "util-linux",
    "ip": "iproute2",
    "ethtool": "ethtool",
    "openssl": "openssl",
    "ssh-keygen": "openssh-client",
    "/usr/sbin/sshd": "openssh-server",
}


def lacking() -> str:
    """What is missing, in words; empty: nothing."""
    if os.geteuid() != 0:
        return "a rehearsal makes network namespaces: it needs root"
    packages = {package for program, package in _PROGRAMS.items() if shutil.which(program) is None}
    return f"these Debian packages are missing: {' '.join(sorted(packages))}" if packages else ""


def in_namespaces(arguments: Sequence[str]) -> int:
    """Run `python -m csaud_lab.rehearsal` with these arguments in namespaces of its own; its exit status.
    All that it started ends with it. RunError: the machine lacks something."""
    if missing := lacking():
        raise RunError(missing)
    command = [
        *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *(sys.executable, "-m", "csaud_lab.rehearsal", *arguments),
    ]
    own = str(Path(sys.executable).parent)  # the commands of this very installation
    path = os.pathsep.join([own, os.environ.get("PATH", "")])
    return subprocess.run(command, env={**os.environ, "PATH": path}, check=False).returncode

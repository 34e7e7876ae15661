"""What a rehearsal needs of this machine, and how it gets namespaces of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from csaud_runs.children import ends_with_this_process
from csaud_runs.errors import RunError

from csaud_lab.guests.debs import fetch
from csaud_lab.guests.guest import QEMU

_PROGRAMS = {
    "unshare": "util-linux",
    "ip": "iproute2",
    "ethtool": "ethtool",
    "openssl": "openssl",
    "ssh-keygen": "openssh-client",
    "/usr/sbin/sshd": "openssh-server",
}
_OF_GUESTS = {QEMU: "qemu-system-x86", "rdma": "iproute2", "apt-get": "apt", "dpkg-deb": "dpkg"}


def lacking(device: str = "soft") -> str:
    """What is missing, in words; empty: nothing."""
    if os.geteuid() != 0:
        return "a rehearsal makes network namespaces: it needs root"
    programs = {**_PROGRAMS, **(_OF_GUESTS if device == "verbs" else {})}
    packages = {package for program, package in programs.items() if shutil.which(program) is None}
    return f"these Debian packages are missing: {' '.join(sorted(packages))}" if packages else ""


def in_namespaces(arguments: Sequence[str], device: str, guests: Path) -> int:
    """Run `python -m csaud_lab.rehearsal` with these arguments in namespaces of its own; its exit status.
    All that it started ends with it, and with this process. RunError: the machine lacks something."""
    if missing := lacking(device):
        raise RunError(missing)
    if device == "verbs":
        fetch(guests)  # here, where there is a way to a mirror
    arguments = ["--device", device, "--guests", str(guests), *arguments]
    command = [
        *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *(sys.executable, "-m", "csaud_lab.rehearsal", *arguments),
    ]
    own = str(Path(sys.executable).parent)  # the commands of this very installation
    path = os.pathsep.join([own, os.environ.get("PATH", "")])
    return subprocess.run(
        command, env={**os.environ, "PATH": path}, preexec_fn=ends_with_this_process(), check=False
    ).returncode

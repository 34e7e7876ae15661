"""What a machine, container or chroot must allow for a fabric; what is missing is said in one sentence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from csaud_runs.errors import RunError

# linux/capability.h
_CAPABILITIES = {"NET_ADMIN": 12, "NET_RAW": 13, "SYS_CHROOT": 18, "SYS_ADMIN": 21}
# `inside` makes all mounts private: unshare cannot where the root is no mount, as in a chroot.
NAMESPACES = (
    "unshare",
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "--propagation",
    "unchanged",
    "--mount-proc",
)


def check_privileges() -> None:
    """RunError naming what is missing."""
    if os.geteuid() != 0:
        raise RunError("needs root: it makes network namespaces, veth pairs and raw sockets (try sudo)")
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        raise RunError("/proc is not mounted here (mount -t proc proc /proc)") from None
    held = int(status.split("CapEff:")[1].split()[0], 16)
    missing = [name for name, bit in _CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        names = ", ".join(f"CAP_{name}" for name in missing)
        raise RunError(
            f"root lacks {names} here, as in an unprivileged container: start it with --privileged"
        )
    try:
        for end in os.openpty():
            os.close(end)
    except OSError:
        raise RunError("no terminals can be made here: mount -t devpts devpts /dev/pts") from None


def check_namespaces() -> None:
    """RunError with the kernel's reason where it is not the capabilities that keep us from namespaces."""
    tried = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        reason = tried.stderr.strip().removeprefix("unshare: ") or f"unshare ended with {tried.returncode}"
        raise RunError(f"no namespaces can be made here ({reason}); a container must be --privileged")

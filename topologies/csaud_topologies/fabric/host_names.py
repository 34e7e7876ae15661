"""Hosts of a fabric know each other by name: inside a run, a hosts file of its own lies over the machine's.

Mount namespaces of Mininet's nodes are made from the run's, so all of them see it. The machine's own file is
not touched, and with the run's namespaces the mount is gone.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from csaud_controller.inventory import Fabric
from csaud_runs.directory import RunDir
from csaud_runs.errors import RunError

_HOSTS = Path("/etc/hosts")
_MS_BIND = 4096


def hosts_file(fabric: Fabric, machines: str) -> str:
    """The fabric's hosts, then the machine's own names: of two lines for a name, the first one holds."""
    lines = [
        f"{address}\t{name}" for name, host in fabric.hosts.items() for address in host.all_nics[0].addresses
    ]
    return "\n".join([*lines, "", machines])


def name_hosts(fabric: Fabric, run: RunDir) -> None:
    """Call once, in the run's mount namespace, before its nodes are made. RunError: it cannot be mounted."""
    if not _HOSTS.exists():  # nothing to lay it over, and to make one would change the machine
        return
    run.hosts.write_text(
        hosts_file(fabric, _HOSTS.read_text(errors="surrogateescape")), errors="surrogateescape"
    )
    run.hosts.chmod(0o644)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(str(run.hosts).encode(), str(_HOSTS).encode(), None, _MS_BIND, None) != 0:
        raise RunError(
            f"{_HOSTS}: the names of hosts cannot be laid over it: {os.strerror(ctypes.get_errno())}"
        )

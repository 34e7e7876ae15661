"""Where the playbook lies, and how Ansible is to behave."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from csaud_runs.children import PR_SET_PDEATHSIG

_FOLDER = Path(__file__).resolve().parents[1] / "playbooks"
PLAYBOOK = _FOLDER / "deploy.yml"

_libc = ctypes.CDLL(None)  # loaded before any fork


def environment(sockets: str) -> dict[str, str]:
    """For ansible-playbook, without settings of the user's own. `sockets`: a folder for those of ssh; their
    names must be short, and they belong to these addresses here and now."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_CONFIG": str(_FOLDER / "ansible.cfg"),
        "ANSIBLE_HOME": f"{sockets}/home",
        "ANSIBLE_LOCAL_TEMP": f"{sockets}/local",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
    }


def ends_with_this_process() -> Callable[[], None]:
    """A `preexec_fn` for ansible-playbook: it never outlives this process. It is asked to end, not killed:
    only then do its workers, who have sessions of their own, end with it."""
    return partial(_end_with, os.getpid())


def _end_with(parent: int) -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it ended before it could be watched
        os._exit(1)

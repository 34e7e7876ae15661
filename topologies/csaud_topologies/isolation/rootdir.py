"""The root folder that we see becomes the root of our mount namespace.

In a chroot they differ, and whoever joins the namespace by its file, as mnexec and nsenter do, comes out at
the latter: in another file system, with neither our programs nor our run directory.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from csaud_runs.netns import CLONE_NEWNS, setns

_OWN = "/proc/self/ns/mnt"
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


def make_root_of_namespace() -> None:
    """In a mount namespace of our own, and with one thread; OSError where it is not allowed.

    All its mounts are private from then on: none of them reaches the machine around it.
    """
    folder = Path.cwd()
    namespace = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        setns(namespace, CLONE_NEWNS)  # now "/" is the namespace's
        _mount("none", "/", _MS_REC | _MS_PRIVATE)
        if not os.path.samestat(os.fstat(root), Path("/").stat()):
            os.fchdir(root)
            _mount(".", "/", _MS_BIND | _MS_REC)
            setns(namespace, CLONE_NEWNS)  # and now what was mounted on it
        os.chdir(folder)
    finally:
        os.close(root)
        os.close(namespace)


def _mount(source: str, target: str, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(flags), None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount: {os.strerror(error)}", target)

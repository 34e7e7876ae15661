"""Files that are there whole or as they were, whoever reads them and whenever their writer ends."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path


def write_whole(path: Path, text: str, *, mode: int = 0o666, synced: bool = False) -> None:
    """Write a file beside its place and move it there. OSError where that cannot be; nothing is left then.

    Args:
        mode: of the file, less the umask.
        synced: it is on disk when this returns.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, mode), "w", encoding="utf-8") as file:
            file.write(text)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """The same of a value as JSON."""
    write_whole(path, json.dumps(value, indent=1) + "\n")


def is_full(error: OSError) -> bool:
    """Whether it says that a disk is full, or a user's share of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)

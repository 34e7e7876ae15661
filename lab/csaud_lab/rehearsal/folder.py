"""The folder of a rehearsal: one at a time has it, and only what a rehearsal made is removed from it."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_runs.errors import RunError

_MARK = ".csaud-rehearsal"
"""Locked by the one that runs; a folder that has it is a rehearsal's."""


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Empty but for the mark, and that of one rehearsal in the body. RunError: another has it, or there are
    files that no rehearsal made."""
    mark = folder / _MARK
    try:
        if folder.exists() and any(folder.iterdir()) and not mark.exists():
            raise RunError(
                f"--out {folder}: has files that no rehearsal made, and all would be removed: name an empty"
                " folder, or one that is not there"
            )
        folder.mkdir(parents=True, exist_ok=True)
        lock = mark.open("a")
    except OSError as error:
        raise RunError(f"--out {folder}: cannot be written: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"--out {folder}: another rehearsal runs in it") from None
        _clear(folder)
        yield


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _MARK:
            path.unlink()

"""Folders that are written into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_runs.errors import RunError
from csaud_runs.whole import is_full
from csaud_topologies.base.usage import UsageError


def make_folder(path: Path) -> None:
    """Make it where it is not there; RunError where it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; expected a folder, or a place for one") from None


@contextmanager
def written_into(folder: Path) -> Iterator[None]:
    """RunError that names the folder where its disk is full, which the system's own error does not."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise RunError(f"{folder}: no space left for the report") from None
        raise

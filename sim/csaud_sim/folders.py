"""Folders that are written into."""

from __future__ import annotations

from pathlib import Path

from csaud_topologies.base.usage import UsageError


def make_folder(path: Path) -> None:
    """Make it where it is not there; RunError where it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; expected a folder, or a place for one") from None

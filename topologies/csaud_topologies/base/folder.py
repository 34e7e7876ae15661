"""Folders that commands work in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_controller.base.working_folder import GONE, is_gone

from csaud_topologies.base.usage import UsageError


@contextmanager
def needed_folder() -> Iterator[None]:
    """UsageError in place of what is raised where the working folder is gone."""
    try:
        yield
    except FileNotFoundError:
        if is_gone():
            raise UsageError(GONE) from None
        raise


def check_name(folder: Path) -> None:
    """UsageError unless it can stand in a report."""
    try:
        os.fsencode(folder).decode("utf-8")
    except UnicodeDecodeError:
        shown = os.fsencode(folder).decode("utf-8", "backslashreplace")
        raise UsageError(f"{shown}: expected a folder whose name is UTF-8") from None
